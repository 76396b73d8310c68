"""What `bench-core machines` and the calls behind it show, reap and stop."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.cli.main import main
from bench_core.errors import InputError
from bench_core.machines import (
    JournaledProvider,
    Leases,
    LostMachineError,
    MachineBusyError,
    Owner,
    list_machines,
    open_provider,
    stop_machines,
)
from bench_core.machines.labels import NONCE
from bench_core.machines.overview import reap_machines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
SLEEP = {"command": ["/bin/sleep", "3600"]}


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    with Owner(Leases(tmp_path), "somebody") as owner:
        yield owner


@pytest.fixture
def provider(owner: Owner, tmp_path: Path) -> JournaledProvider:
    return open_provider("process", owner, tmp_path)


def asked(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["machines", *words, "--folder", str(folder)])


async def test_machines_of_live_owners_are_listed_and_kept(
    provider: JournaledProvider, tmp_path: Path
) -> None:
    machine = await provider.start("slot-1", SLEEP)
    try:
        (listed,) = await list_machines(tmp_path)
        assert (listed.name, listed.owner, listed.state) == (machine.name, "somebody", "ready")
        assert await list_machines(tmp_path, owner="nobody") == []
        reaped = await reap_machines(tmp_path)
        assert (reaped["process"].removed, reaped["process"].kept) == ((), 1)
        with pytest.raises(MachineBusyError):
            await stop_machines(["slot-1"], tmp_path)
        with pytest.raises(InputError, match=machine.name):
            await stop_machines(["slot-2"], tmp_path)
        assert [
            each.name for each in await stop_machines(["slot-1"], tmp_path, even_held=True)
        ] == [machine.name]
        with pytest.raises(LostMachineError):
            await provider.reset(machine)
        assert await list_machines(tmp_path) == []
    finally:
        await provider.stop_all()


async def test_a_machine_that_no_one_wrote_down_is_stopped_by_its_name(
    provider: JournaledProvider, tmp_path: Path
) -> None:
    labels = {"proctor.namespace": provider.journal.namespace, NONCE: "n"}
    await provider.backend.create("proctor-lost-g1", labels, SLEEP)
    (lost,) = await list_machines(tmp_path)
    assert lost.state == "unknown"
    await stop_machines([lost.name], tmp_path)
    assert list(await provider.backend.find()) == []


def test_the_commands_print_text_and_records(tmp_path: Path) -> None:
    assert asked(tmp_path, "list").output == "no machines\n"
    assert json.loads(asked(tmp_path, "list", "--json").output) == []
    assert asked(tmp_path, "reap").output == "0 removed, 0 kept\n"
    reaped: Any = json.loads(asked(tmp_path, "reap", "--json").output)
    assert reaped["process"] == {"removed": [], "kept": 0, "failed": {}}
    missing = asked(tmp_path, "stop", "slot-1")
    assert (missing.exit_code, missing.output) == (
        2, "Error: no machine is called 'slot-1': there are none\n",
    )  # fmt: skip


def test_an_abandoned_machine_is_listed_and_stopped_by_command(tmp_path: Path) -> None:
    owner = Owner(Leases(tmp_path), "gone")
    machine = asyncio.run(open_provider("process", owner, tmp_path).start("slot-1", SLEEP))
    Leases(tmp_path).remove("gone")
    assert machine.name in asked(tmp_path, "list").output
    assert asked(tmp_path, "reap").output == "0 removed, 1 kept\n"  # the grace time
    assert asked(tmp_path, "stop", "slot-1").output == f"stopped {machine.name}\n"
    assert json.loads(asked(tmp_path, "list", "--json").output) == []
