"""Each desktop has a process of its own, which keeps limits and is all that a program can end."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from looks import divided, end, exists, parent, pid
from werkzeug.test import create_environ

from bench_core.errors import InputError
from waa_server_ext.built_in import SimulatedDesktopWorld
from waa_server_ext.simulate import Scene, SimulatedVm, snapshot
from waa_server_ext.simulate.api.limits import ProgramLimits
from waa_server_ext.simulate.api.process import DesktopProcess, _ForkServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


WAYS = [
    pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="forks")), False,
]  # fmt: skip
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="asks the system as Linux answers")
ENDLESS = "while True:\n    pass"
WRITES = "import pyautogui\nopen('a.txt', 'w').write('x')\n"
IDLE_MB = 40


@pytest.fixture(params=WAYS, ids=["forked", "started"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., DesktopProcess]]:
    made: list[DesktopProcess] = []

    def start(scene: Scene | None = None, **limits: Any) -> DesktopProcess:
        made.append(DesktopProcess(scene, limits=ProgramLimits(**limits), forks=request.param))
        return made[-1]

    yield start
    for each in made:
        each.close()


def execute(desktop: DesktopProcess, program: str) -> dict[str, Any]:
    body = {"command": ["python", "-c", program]}
    status, _, answer = desktop.respond(create_environ("/execute", method="POST", json=body))
    assert status == "200 OK"
    found: dict[str, Any] = json.loads(answer)
    return found


def test_programs_change_the_desktop_of_their_process(make: Callable[..., DesktopProcess]) -> None:
    desktop = make()

    execute(desktop, WRITES)

    assert execute(desktop, "print(open('a.txt').read())")["output"] == "x\n"
    assert execute(make(), "print(open('a.txt').read())")["returncode"] == 1


def test_what_was_done_after_a_mark_is_undone_and_nothing_else(
    make: Callable[..., DesktopProcess],
) -> None:
    desktop = make()

    def control(act: str) -> str:
        asked = create_environ(f"/simulation/{act}", method="POST", json={})
        return desktop.respond(asked)[0]

    def files() -> list[int]:
        return [execute(desktop, f"open('{name}.txt')")["returncode"] for name in "ab"]

    execute(desktop, WRITES)
    assert control("keep") == "200 OK"
    for _ in range(2):
        execute(desktop, WRITES.replace("a.txt", "b.txt"))
        assert files() == [0, 0]
        assert control("restore") == "200 OK"
        assert files() == [0, 1]
    assert control("reset") == "200 OK"
    execute(desktop, WRITES)
    control("restore")  # the mark went with the reset
    assert files() == [1, 1]


def test_what_a_scene_lacks_is_said(make: Callable[..., DesktopProcess]) -> None:
    with pytest.raises(InputError, match="photoshop"):
        make(Scene(windows=("photoshop",)))


def test_what_is_raised_there_is_raised_here(make: Callable[..., DesktopProcess]) -> None:
    with pytest.raises(ZeroDivisionError):
        make().call(divided)


def test_a_program_over_its_budget_leaves_what_it_did(make: Callable[..., DesktopProcess]) -> None:
    desktop = make()

    done = execute(desktop, WRITES + ENDLESS)

    assert (done["returncode"], "more than 300000 steps" in done["error"]) == (1, True)
    assert execute(desktop, "print(open('a.txt').read())")["output"] == "x\n"


@pytest.mark.parametrize("limits", [{"wall_s": 0.01}, {"cpu_s": -1}])
def test_a_program_whose_process_is_ended_has_changed_nothing(
    make: Callable[..., DesktopProcess], limits: dict[str, Any]
) -> None:
    desktop = make(**limits)
    body = {"path": "C:\\b.txt", "content": "b"}
    desktop.respond(create_environ("/setup/create_file", method="POST", json=body))
    first = desktop.call(pid)

    done = execute(desktop, WRITES + ENDLESS)

    assert done["returncode"] == 1
    assert done["error"].endswith("too much time or memory and was ended\n")
    assert desktop.call(pid) != first
    assert [desktop.call(exists, path) for path in ("a.txt", "C:\\b.txt")] == [False, True]


@LINUX
def test_memory_is_limited() -> None:
    with DesktopProcess(limits=ProgramLimits(memory_mb=16)) as desktop:
        done = execute(desktop, "a = [str(i) * 1000 for i in range(20_000)]\nprint(len(a))")

        assert done["returncode"] == 1
        assert execute(desktop, "print(6 * 7)")["output"] == "42\n"


def test_a_desktop_whose_process_ended_is_as_it_was(vm_host: str) -> None:
    with SimulatedVm(host=vm_host) as vm, httpx.Client(base_url=vm.url, timeout=600) as http:
        http.post("/setup/launch", json={"command": ["calc"]})
        assert http.post("/simulation/reset", data={"a": "form"}).status_code == 500
        before = vm.call(snapshot)
        with pytest.raises(ConnectionError):
            vm.call(end)

        assert http.get("/screenshot").status_code == 200
        assert vm.call(snapshot) == before


def test_a_reset_is_what_a_desktop_is_made_again_from(vm_host: str) -> None:
    with SimulatedVm(host=vm_host) as vm, httpx.Client(base_url=vm.url, timeout=600) as http:
        before = vm.call(snapshot)
        for reset in (lambda: http.post("/simulation/reset", json={}), vm.reset):
            http.post("/setup/launch", json={"command": ["calc"]})
            reset()
            with pytest.raises(ConnectionError):
                vm.call(end)

            assert http.get("/probe").status_code == 200
            assert vm.call(snapshot) == before


@LINUX  # elsewhere a folder in use cannot be removed
async def test_a_world_starts_where_the_working_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    server = _ForkServer()
    monkeypatch.setattr("waa_server_ext.simulate.api.process._fork_server", lambda: server)
    world = SimulatedDesktopWorld()
    try:
        assert set((await world.start()).urls) == {"evaluate", "vm"}
    finally:
        await world.stop()
        server.close()


@LINUX
def test_a_process_that_others_are_forked_from_is_replaced(vm_host: str) -> None:
    with SimulatedVm(host=vm_host) as vm:
        server = vm.call(parent)
        os.kill(server, signal.SIGKILL)
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)

        with DesktopProcess() as desktop:
            assert execute(desktop, "print(6 * 7)")["output"] == "42\n"
        assert httpx.get(f"{vm.url}/probe", timeout=600, trust_env=False).status_code == 200


@LINUX
def test_an_idle_desktop_takes_little_memory() -> None:
    with DesktopProcess() as desktop:
        execute(desktop, "import pyautogui; pyautogui.hotkey('win', 'e')")
        desktop.respond(create_environ("/screenshot"))
        desktop.respond(create_environ("/accessibility", query_string="backend=uia"))

        text = Path(f"/proc/{desktop.call(pid)}/smaps_rollup").read_text(encoding="ascii")

    kilobytes = sum(int(line.split()[1]) for line in text.splitlines() if "Private" in line)
    assert kilobytes < IDLE_MB * 1024


@LINUX
def test_its_process_ends_with_a_desktop() -> None:
    with DesktopProcess() as desktop:
        process = desktop.call(pid)

    for _ in range(6000):
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.01)
    pytest.fail("it still runs")
