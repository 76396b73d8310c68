"""Programs run in a process of their own, and the desktop of this one is as they left it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx
import pytest

from waa_server_ext.simulate.desktop.accessibility import accessibility_xml
from waa_server_ext.simulate.isolation.pool import ProgramLimits, ProgramPool
from waa_server_ext.simulate.isolation.requests import ProgramRequest
from waa_server_ext.simulate.isolation.runner import ProgramRunner
from waa_server_ext.simulate.isolation.transfer import Contents, decode, encode, parts_of
from waa_server_ext.simulate.ui.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waa_server_ext.simulate import SimulatedVm
    from waa_server_ext.simulate.desktop.composition import Desktop

APPS = (
    "notepad", "mspaint", "calc", "msedge", "chrome", "vlc", "code", "soffice", "explorer", "ms-settings:", "ms-clock:",
)  # fmt: skip
LONG = "for i in range(20_000):\n    pass\n"  # more than is done in the server's own process
ENDLESS = "while True:\n    pass"


@pytest.fixture(scope="module")
def pool() -> Iterator[ProgramPool]:
    made = ProgramPool()
    yield made
    made.close()


def run(pool: ProgramPool, desktop: Desktop, program: str, *, shown: bool = True) -> ProgramRequest:
    request = ProgramRequest("execute", {"command": ["python", "-c", program]})
    return ProgramRunner(threading.RLock(), pool).run(desktop, request, lambda: shown)


def moved(desktop: Desktop) -> Desktop:
    there, here = Contents(first=2), Contents(first=1)
    found = None
    for message in encode(parts_of(desktop), None, there):
        found = decode(message, here)
    assert found is not None
    made: Desktop = found[0][0]
    return made


def test_a_program_changes_the_desktop_that_others_hold(
    desktop: Desktop, pool: ProgramPool
) -> None:
    desktop.programs.launch(["notepad"])
    window, machine, files = desktop.windows[0], desktop.machine, desktop.machine.files

    code = (
        LONG
        + "import pyautogui; pyautogui.write('hello'); open('a.txt', 'w').write('a' * 100_000); print(7)"
    )
    done = run(pool, desktop, code)

    assert done.answer["output"] == "7\n"
    assert desktop.windows == [window]
    assert window.title == "*Untitled - Notepad"
    assert desktop.machine is machine
    assert len(files.read("a.txt")) == 100_000


def test_a_program_sees_what_was_done_in_process(desktop: Desktop, pool: ProgramPool) -> None:
    run(pool, desktop, LONG + "open('a.txt', 'w').write('a' * 100_000)")
    desktop.machine.files.write("b.txt", b"b" * 50_000)

    done = run(pool, desktop, LONG + "print(len(open('a.txt').read()), len(open('b.txt').read()))")

    assert done.answer["output"] == "100000 50000\n"


def test_a_program_that_is_ended_has_changed_nothing_and_the_next_one_runs(
    desktop: Desktop,
) -> None:
    pool = ProgramPool(ProgramLimits(wall_s=0.01))

    done = run(pool, desktop, LONG + "open('a.txt', 'w').write('x')\n" + ENDLESS)

    assert done.answer["returncode"] == 1
    assert done.answer["error"].endswith("too much time or memory and was ended\n")
    assert not desktop.machine.files.exists("a.txt")
    assert run(pool, desktop, "pass").answer["returncode"] == 0
    pool.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_memory_is_limited(desktop: Desktop) -> None:
    pool = ProgramPool(ProgramLimits(memory_mb=16))

    done = run(pool, desktop, "a = [str(i) * 1000 for i in range(20_000)]\nprint(len(a))")

    assert done.answer["returncode"] == 1
    assert run(pool, desktop, "print(6 * 7)").answer["output"] == "42\n"
    pool.close()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_a_process_that_somebody_ended_is_replaced(desktop: Desktop, pool: ProgramPool) -> None:
    run(pool, desktop, LONG)
    for pid in pool.pids():
        os.kill(pid, signal.SIGKILL)
        while pid in pool.pids() and _is_running(pid):
            pass

    assert run(pool, desktop, LONG + "print(6 * 7)").answer["output"] == "42\n"


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123  # of the system
            return file.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_a_desktop_that_was_put_back_keeps_nothing_of_a_program(
    desktop: Desktop, pool: ProgramPool
) -> None:
    done = run(pool, desktop, LONG + "open('a.txt', 'w').write('x')", shown=False)

    assert "put back" in done.answer["error"]
    assert not desktop.machine.files.exists("a.txt")


def test_windows_of_somebodys_own_are_worked_on_in_this_process(
    desktop: Desktop, pool: ProgramPool
) -> None:
    class Own(Window):
        pass

    desktop.open(Own(desktop))

    done = run(pool, desktop, LONG + "open('a.txt', 'w').write('x')")

    assert done.answer["returncode"] == 0
    assert desktop.machine.files.read("a.txt") == b"x"


@pytest.mark.parametrize("app", APPS)
def test_a_desktop_that_was_sent_looks_the_same(app: str, desktop: Desktop) -> None:
    desktop.programs.launch([app])
    desktop.keyboard.hotkey("ctrl", "s")

    there = moved(desktop)

    assert there.picture().tobytes() == desktop.picture().tobytes()
    assert accessibility_xml(there, "uia") == accessibility_xml(desktop, "uia")


@pytest.mark.parametrize("browser", ["msedge", "chrome"])
def test_an_address_opens_in_the_browser_that_was_sent(browser: str, desktop: Desktop) -> None:
    desktop.programs.launch([browser])
    there = moved(desktop)
    for each in (desktop, there):
        each.programs.launch([browser, "https://example.com/"])

    assert [len(each.windows) for each in (desktop, there)] == [1, 1]
    assert there.picture().tobytes() == desktop.picture().tobytes()


def test_a_menu_that_was_sent_can_be_used(desktop: Desktop) -> None:
    desktop.mouse.move(900, 500)
    desktop.mouse.press("right")
    desktop.mouse.release("right")
    there = moved(desktop)
    for each in (desktop, there):
        for number, item in enumerate(each.popups[0].menu.items):
            if item.usable and item.do is not None:
                each.choose(each.popups[0], number)
                break

    assert there.picture().tobytes() == desktop.picture().tobytes()


def test_what_only_looks_waits_for_no_program(vm: SimulatedVm) -> None:
    answers: list[int] = []

    def program() -> None:
        body = {"command": ["python", "-c", LONG]}
        answers.append(httpx.post(f"{vm.url}/execute", json=body, timeout=300).status_code)

    thread = threading.Thread(target=program)
    with ExitStack() as busy:
        for _ in range(vm.api.runner.pool.places):
            busy.enter_context(vm.api.runner.pool.process())
        thread.start()
        while not vm.api.is_changing:
            pass
        seen = httpx.get(f"{vm.url}/screenshot", timeout=300)
        assert (seen.status_code, answers) == (200, [])
    thread.join()

    assert answers == [200]
