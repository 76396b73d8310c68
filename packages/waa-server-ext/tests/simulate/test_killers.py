"""No program hangs or fills the process that interprets it, and the next one is answered."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from desktop_killers import KILLERS
from programs import random_program

from waa_server_ext.python_subset import budget
from waa_server_ext.simulate.code.cmd import CmdShell
from waa_server_ext.simulate.code.python import run_child
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = 60  # of each draw; the campaign runs a hundred thousand
DRAWS = range(8)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What programs may use is the same; only the last limit, of processor time, comes sooner."""
    monkeypatch.setattr(budget, "_CPU_S", 0.5)


@pytest.fixture(scope="module")
def memory() -> Iterator[None]:
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 450 * 1024  # kB, as Linux counts them


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("name", KILLERS)
def test_a_program_that_would_hang_or_fill_the_machine_ends(name: str) -> None:
    desktop = Desktop(Machine.fresh())

    code, output, _ = run_child(CmdShell(desktop), ["-c", KILLERS[name]])

    assert (isinstance(code, int), len(output) <= 1_000_000) == (True, True)
    assert run_child(CmdShell(desktop), ["-c", "print(6 * 7)"]) == (0, "42\n", "")


@pytest.mark.slow
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("seed", DRAWS)
def test_random_programs_end(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311  # repeatable on purpose
    desktop = Desktop(Machine.fresh())
    for _ in range(PROGRAMS):
        program = random_program(source)
        code, _, _ = run_child(CmdShell(desktop), ["-c", program])
        assert isinstance(code, int), program

    assert run_child(CmdShell(desktop), ["-c", "print(6 * 7)"]) == (0, "42\n", "")
