"""The client against WAA's own server code, as far as it runs without Windows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bench_core.agents import Click, Drag, ElementRef, Move, Point, PressKeys, Scroll, TypeText
from waa_client.actions import DesktopScreen, translate
from waa_client.errors import RouteMissingError, VmAnswerError
from waa_client.observations import elements_of
from waa_client.vm import ActionOutcome, ServerInfo, SyncVmClient, VmOptions, calls

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "PROCTOR_WAA_CHECKOUT"
SERVER = Path("src/win-arena-container/vm/setup/server")
SCREEN = DesktopScreen(size=(1280, 720), rects={"0": (110, 60, 150, 80)})

pytest.importorskip("lxml", reason="WAA's server needs lxml")
pytest.importorskip("flask", reason="WAA's server needs flask")
pytest.importorskip("requests", reason="WAA's server needs requests")
pytest.importorskip("numpy", reason="WAA's server needs numpy")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    checkout = os.environ.get(VARIABLE)
    if not checkout or not (Path(checkout) / SERVER / "main.py").is_file():
        pytest.skip(f"{VARIABLE} names no checkout of Windows Agent Arena")
    folder = tmp_path_factory.mktemp("waa") / "server"
    shutil.copytree(Path(checkout) / SERVER, folder)  # it writes beside itself
    command = [
        sys.executable,
        str(Path(__file__).with_name("real_waa_server.py")),
        str(folder),
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stderr is not None
        lines: list[str] = []
        url = None
        for line in process.stderr:
            lines.append(line)
            if line.startswith("listening on "):
                url = f"http://127.0.0.1:{line.split()[-1]}"
                break
        assert url, "".join(lines)
        drain = threading.Thread(target=process.stderr.read)
        drain.start()
        yield url
        process.kill()
        drain.join()


@pytest.fixture
def vm(server: str) -> Iterator[SyncVmClient]:
    with SyncVmClient(server, VmOptions(tries=1)) as client:
        yield client


@pytest.fixture
def ready(vm: SyncVmClient) -> SyncVmClient:
    """Return a VM that was sent the screen, which code blocks need."""
    picture = vm.send(calls.screenshot())
    vm.send(calls.update_computer(list(SCREEN.rects.values()), (0, 0, 1280, 720), picture.data))
    vm.send(calls.execute_windows("import pyautogui; pyautogui.FAILSAFE = False; "
                                  "pyautogui.moveTo(9, 9); pyautogui.FAILSAFE = True"))  # fmt: skip
    return vm


def events(vm: SyncVmClient) -> list[list[Any]]:
    found: list[list[Any]] = httpx.get(f"{vm.url}/-/events", timeout=60, trust_env=False).json()[
        "events"
    ]
    return found


def test_it_answers_the_probe(vm: SyncVmClient) -> None:
    assert vm.send(calls.probe()) == ServerInfo(message="Service is operational")
    assert vm.send(calls.platform()) == "Windows"


def test_its_screenshot_is_a_raw_png_of_the_screens_size(vm: SyncVmClient) -> None:
    assert vm.send(calls.screenshot()).size == vm.send(calls.screen_size()) == (1280, 720)


def test_its_tree_gives_elements(vm: SyncVmClient) -> None:
    for backend in ("win32", "uia"):
        xml = vm.send(calls.accessibility(backend))  # type: ignore[arg-type]
        found = elements_of(xml, (1280, 720))
        assert [(e.role, e.name, e.value, e.rect) for e in found] == [
            # window classes that no role is known for
            ("pane", "", "hello", (110, 90, 380, 250)),
            ("pane", "Save — as", None, (110, 60, 40, 20)),
        ]


def test_its_window_view_is_read(vm: SyncVmClient) -> None:
    seen = vm.send(calls.obs_winagent())
    assert (seen.title, seen.rect) == ("draft.txt - Notepad", (100, 50, 500, 350))
    assert seen.windows == ("draft.txt - Notepad",)


def test_an_unknown_route_is_a_500_with_404_inside(vm: SyncVmClient) -> None:
    answer = httpx.get(f"{vm.url}/evaluate", timeout=60, trust_env=False)
    assert answer.status_code == 500
    assert "404 Not Found" in answer.json()["message"]
    call: Any = calls.probe()
    with pytest.raises(RouteMissingError):
        vm.send(type(call)("POST", "/evaluate", call.read, json={}))


def test_before_it_knows_the_screen_blocks_fail_as_the_client_expects(server: str) -> None:
    """Only a server that was just started has no screen; so this runs in a namespace of its own."""
    with SyncVmClient(server) as vm:
        outcome = vm.send(calls.execute_windows("computer.search.press('a')"))
    assert outcome == ActionOutcome(ok=False, error="'NoneType' object has no attribute 'press'")


@pytest.mark.parametrize("x", [1, 83, 640, 1277, 1278])
@pytest.mark.parametrize("y", [1, 359, 718])
def test_a_click_lands_on_its_pixel(ready: SyncVmClient, x: int, y: int) -> None:
    code = translate(Move(target=Point(x=x, y=y)), SCREEN).code
    assert ready.send(calls.execute_windows(code.replace("computer", "computer"))).ok
    assert events(ready)[-1] == ["moveTo", [x, y], {}, [x, y]]


def test_actions_do_what_they_say(ready: SyncVmClient) -> None:
    before = len(events(ready))
    for action in (
        Click(target=ElementRef(element="0"), count=2),
        Click(target=Point(x=50, y=60), button="right", modifiers=("ctrl",)),
        Drag(start=Point(x=10, y=20), end=Point(x=30, y=40)),
        Scroll(dy=1000 / 3),
        TypeText(text="C:\\Users\\'x'\n"),
        TypeText(text="Grüße, error"),
        PressKeys(keys=("ctrl", "+")),
        PressKeys(keys=("Ctrl", "S")),
    ):
        outcome = ready.send(calls.execute_windows(translate(action, SCREEN).code))
        assert outcome.ok, outcome.error
    assert [[each[0], each[1]] for each in events(ready)[before:]] == [
        ["moveTo", [130, 70]], ["doubleClick", []],
        ["moveTo", [50, 60]], ["keyDown", ["ctrl"]], ["rightClick", []], ["keyUp", ["ctrl"]],
        ["moveTo", [10, 20]], ["dragTo", [30, 40]],
        ["scroll", [-400]],
        ["write", ["C:\\Users\\'x'\n"]],
        ["copy", "Grüße, error"], ["hotkey", ["ctrl", "v"]],
        ["hotkey", ["ctrl", "+"]],
        ["hotkey", ["ctrl", "s"]],
    ]  # fmt: skip


def test_the_fail_safe_is_reported_and_can_be_left(ready: SyncVmClient) -> None:
    ready.send(calls.execute_windows("computer.mouse.move_abs(x=0, y=0)"))
    outcome = ready.send(calls.execute_windows("computer.keyboard.write('a')"))
    assert outcome.error is not None
    assert "fail-safe" in outcome.error


def test_a_printed_error_fails_a_block(ready: SyncVmClient) -> None:
    assert ready.send(calls.execute_windows("print('Error')")) == ActionOutcome(
        ok=False, error="Error\n"
    )
    assert ready.send(calls.execute_windows("computer.click([1])")).error == (
        "'Computer' object has no attribute 'click'"
    )


def test_commands_run_in_processes_of_their_own(vm: SyncVmClient) -> None:
    done = vm.send(calls.execute([sys.executable, "-c", "print('a'); raise SystemExit(3)"]))
    assert (done.output, done.returncode, done.started) == ("a\n", 3, True)
    missing = vm.send(calls.execute(["no-such-program"]))
    assert not missing.started
    assert "no-such-program" in missing.error
    assert vm.send(calls.execute("echo a\\b 'c d'")).output == "ab c d\n"


def test_files_travel_both_ways(vm: SyncVmClient, tmp_path: Path) -> None:
    path = tmp_path / "a b.txt"
    assert vm.send(calls.file(str(path))) is None
    assert vm.send(calls.upload(str(path), b"\0\xffx")).ok
    assert vm.send(calls.file(str(path))) == b"\0\xffx"
    assert vm.send(calls.file_exists(str(tmp_path), "a b.txt")) is True
    assert vm.send(calls.file_exists(str(tmp_path), "c")) is False
    assert vm.send(calls.folder_exists(str(tmp_path), "c")) is False
    assert vm.send(calls.create_folder(str(tmp_path / "c"))).ok
    assert vm.send(calls.folder_exists(str(tmp_path), "c")) is True
    assert vm.send(calls.create_file(str(tmp_path / "c" / "d.txt"), "text")).ok
    listed = vm.send(calls.list_directory(str(tmp_path)))
    assert listed is not None
    assert {each.name for each in listed.children} == {"a b.txt", "c"}
    assert vm.send(calls.list_directory(str(tmp_path / "nowhere"))) is None
    assert vm.send(calls.recycle(str(path))).ok
    assert not path.exists()
    assert not vm.send(calls.upload(str(tmp_path / "no" / "x"), b"1")).ok
    with pytest.raises(VmAnswerError):
        vm.send(calls.file(str(tmp_path)))  # a folder is a 500


def test_windows_are_found_by_a_part_of_their_title(vm: SyncVmClient) -> None:
    assert vm.send(calls.activate_window("Notepad")).ok
    assert vm.send(calls.activate_window("Paint")).status == 404
    assert vm.send(calls.close_window("draft")).ok
    assert vm.send(calls.close_window("draft", strict=True)).status == 404
    assert vm.send(calls.close_all()).ok


def test_calls_that_the_server_cannot_answer_are_distinguished(vm: SyncVmClient) -> None:
    assert vm.send(calls.revert_to_snapshot()) is False
    assert not vm.send(calls.save_state("x")).ok
    for call in (
        calls.terminal(),
        calls.cursor_position(),
        calls.window_size("x"),
        calls.wallpaper(),
    ):
        with pytest.raises(VmAnswerError):
            vm.send(call)
