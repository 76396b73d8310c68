"""Environments that uv makes: made once, by one process, to their end, and what uv says where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from bench_core.agent_process.uv_environments import cache_folder, environment_of
from bench_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for uv is a script")

UV = f"""#!{sys.executable}
import os, pathlib, sys, time
log = pathlib.Path(os.environ["UV_LOG"])
arguments = sys.argv[1:]
with log.open("a") as file:
    file.write(" ".join(arguments) + chr(10))
if os.environ.get("UV_SAYS") and arguments[0] == "pip":
    sys.exit(os.environ["UV_SAYS"])
if arguments[0] == "venv":
    time.sleep(0.3)
    bin = pathlib.Path(arguments[-1], "bin")
    bin.mkdir(parents=True)
    (bin / "python").symlink_to({sys.executable!r})
elif arguments[1] == "freeze":
    print("some-agent==1.0")
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put a stand-in for uv on the path; returns what it was asked, by its first two words."""
    (tmp_path / "bin").mkdir()
    uv = tmp_path / "bin" / "uv"
    uv.write_text(UV)
    uv.chmod(0o755)
    log = tmp_path / "log"
    log.write_text("")
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UV_LOG", str(log))
    monkeypatch.setenv("PROCTOR_CACHE_DIR", str(tmp_path / "cache"))
    return lambda: log.read_text().splitlines()


def test_it_is_made_once_for_the_same_requirements(asked: Callable[[], list[str]]) -> None:
    first = environment_of(("some-agent==1.0", "bench-core[openai]"))
    assert first == environment_of(("some-agent==1.0", "bench-core[openai]"))
    venv, install, freeze = asked()
    extras = "prices,openai" if find_spec("genai_prices") else "openai"
    assert venv.startswith("venv --quiet --python ")
    assert f"bench-core[{extras}] @ file:///" in install
    assert install.endswith("some-agent==1.0")
    assert freeze.startswith("pip freeze")
    folder = first.parents[2]
    assert (folder / "packages.txt").read_text() == "some-agent==1.0\n"
    assert folder.parent == cache_folder()
    assert first != environment_of(("some-agent==1.1",))
    assert first != environment_of(("some-agent==1.0", "bench-core[openai]"), "3.13")


def test_a_file_of_requirements_counts_by_what_is_in_it(
    asked: Callable[[], list[str]], tmp_path: Path
) -> None:
    file = tmp_path / "agent.txt"
    file.write_text("some-agent==1.0\n")
    first = environment_of((str(file),))
    assert f"--requirement {file}" in asked()[1]
    file.write_text("some-agent==1.1\n")
    assert first != environment_of((str(file),))
    with pytest.raises(InputError, match=r"missing\.txt"):
        environment_of((str(tmp_path / "missing.txt"),))


def test_processes_that_want_the_same_at_once_make_it_once(asked: Callable[[], list[str]]) -> None:
    code = (
        "from bench_core.agent_process.uv_environments import environment_of;"
        "print(environment_of(('some-agent',)))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    found = {each.communicate()[0] for each in started}
    assert len(found) == 1
    assert found != {""}
    assert len(asked()) == 3


def test_one_that_was_not_made_to_its_end_is_made_anew(asked: Callable[[], list[str]]) -> None:
    made = environment_of(("some-agent",))
    (made.parents[2] / "environment.json").unlink()
    (made.parents[2] / "venv" / "half").write_text("")
    assert environment_of(("some-agent",)) == made
    assert len(asked()) == 6
    assert not (made.parents[2] / "venv" / "half").exists()


def test_what_uv_says_is_the_error_and_nothing_half_made_is_used(
    asked: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_SAYS", "no solution found: some-agent needs another pydantic")
    for _ in range(2):
        with pytest.raises(InputError, match=r"`uv:some-agent`:\nno solution found: some-agent"):
            environment_of(("some-agent",))
    monkeypatch.delenv("UV_SAYS")
    assert environment_of(("some-agent",)).exists()
    assert asked()


def test_without_uv_it_is_said_what_to_do(
    asked: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("bench_core.agent_process.uv_environments.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"needs the program uv .*--agent-python"):
        environment_of(("some-agent",))
    assert asked() == []
