"""The VM's HTTP API answers as WAA's own server does, quirks included."""

from __future__ import annotations

import base64
import io
import re
import socket
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from PIL import Image

from bench_core.agents import Click, ElementRef
from bench_core.errors import InputError
from waa_server_ext.simulate import SimulatedVm
from waa_server_ext.simulate.machine.computer import Timer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actions import Hands
    from in_process import InProcessVm


_HOME = "C:\\Users\\Docker"


@pytest.fixture
def http(vm: InProcessVm) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=vm.url, timeout=30, trust_env=False) as client:
        yield client


def _png(size: tuple[int, int] = (4, 4)) -> str:
    data = io.BytesIO()
    Image.new("RGB", size, "#ff0000").save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def _update(**changes: Any) -> dict[str, Any]:
    body = {
        "rects": [[10, 10, 30, 30]],
        "window_rect": [0, 0, 1440, 900],
        "screenshot": _png(),
        "scale": [1, 1],
    }
    return body | changes


def _run(http: httpx.Client, code: str) -> httpx.Response:
    return http.post("/execute_windows", json={"command": code})


def _child(http: httpx.Client, code: str) -> dict[str, Any]:
    answer: dict[str, Any] = http.post(
        "/execute", json={"command": ["python", "-c", code], "shell": False}
    ).json()
    return answer


@pytest.mark.parametrize("path", ["/nothing", "/evaluate"])
def test_an_unknown_route_is_500_with_404_inside(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["status"]) == (500, "error")
    assert "404 Not Found" in answer.json()["message"]


def test_a_wrong_method_and_a_wrong_content_type_are_500_too(http: httpx.Client) -> None:
    wrong = http.get("/execute")
    assert wrong.status_code == 500
    assert "405" in wrong.json()["message"]
    plain = http.post("/execute", content=b"{}")
    assert plain.status_code == 500
    assert "415" in plain.json()["message"]


def test_probe_platform_and_screen_size(http: httpx.Client) -> None:
    assert http.get("/probe").json()["status"] == "Probe successful"
    assert http.get("/platform").text == "Windows"
    assert http.post("/screen_size").json() == {"width": 1440, "height": 900}


def test_the_probe_says_that_it_is_a_simulation(http: httpx.Client) -> None:
    assert http.get("/probe").json()["world"] == "built-in"


def test_a_reset_puts_the_desktop_back_to_its_scene(http: httpx.Client, vm: InProcessVm) -> None:
    http.post("/update_computer", json=_update())
    http.post("/setup/launch", json={"command": ["notepad"]})
    vm.desktop.machine.files.write(f"{_HOME}\\Documents\\left.txt", b"by the trial before")
    before = vm.desktop.machine.clock.now()
    answer = http.post("/simulation/reset", json={})
    assert (answer.status_code, answer.json()) == (200, {"status": "success"})
    assert vm.desktop.windows == []
    assert not vm.desktop.machine.files.exists(f"{_HOME}\\Documents\\left.txt")
    assert vm.desktop.machine.clock.now() < before
    assert "NoneType" in _run(http, "computer.mouse.single_click()").json()["message"]


def test_a_page_cannot_reset_it_by_a_form(http: httpx.Client, vm: InProcessVm) -> None:
    http.post("/setup/launch", json={"command": ["notepad"]})
    assert http.post("/simulation/reset", data={"x": "y"}).status_code == 500
    assert len(vm.desktop.windows) == 1


def test_a_reset_is_a_post(http: httpx.Client) -> None:
    assert "405" in http.get("/simulation/reset").json()["message"]


def test_a_screenshot_is_a_raw_png_of_the_screen(http: httpx.Client) -> None:
    picture = Image.open(io.BytesIO(http.get("/screenshot").content))
    assert (picture.format, picture.size) == ("PNG", (1440, 900))


def test_a_program_that_fails_is_still_a_success_of_execute(http: httpx.Client) -> None:
    answer = http.post("/execute", json={"command": ["cmd", "/c", "type nothing.txt"]})
    assert (answer.status_code, answer.json()["status"], answer.json()["returncode"]) == (
        200,
        "success",
        1,
    )


def test_a_missing_program_is_500_without_a_return_code(http: httpx.Client) -> None:
    answer = http.post("/execute", json={"command": ["no-such-program"]})
    assert answer.status_code == 500
    assert answer.json() == {
        "status": "error", "message": "[WinError 2] The system cannot find the file specified",
    }  # fmt: skip


def test_a_string_command_without_a_shell_loses_its_backslashes(
    http: httpx.Client, vm: InProcessVm
) -> None:
    http.post("/execute", json={"command": "cmd /c mkdir C:\\made"})
    # C:made, which is a folder where the process is
    assert vm.desktop.machine.files.is_folder(f"{_HOME}\\made") is True
    assert vm.desktop.machine.files.is_folder("C:\\made") is False


def test_before_an_update_the_computer_has_no_parts(http: httpx.Client) -> None:
    answer = _run(http, "computer.mouse.single_click()")
    assert answer.status_code == 500
    assert answer.json()["message"] == "'NoneType' object has no attribute 'single_click'"


@pytest.mark.parametrize(
    "code", ["computer.click([42])", "computer.type('x')", "computer.key('a')"]
)
def test_what_plans_call_and_waa_lacks_is_500(http: httpx.Client, code: str) -> None:
    http.post("/update_computer", json=_update())
    assert _run(http, code).status_code == 500


def test_an_element_is_reached_by_its_place_in_the_last_update(
    http: httpx.Client, vm: InProcessVm
) -> None:
    http.post("/update_computer", json=_update(rects=[[0, 0, 2, 2], [100, 200, 120, 240]]))
    assert _run(http, "computer.mouse.move_id(id=1)").status_code == 200
    assert (vm.desktop.mouse.x, vm.desktop.mouse.y) == (110, 220)
    assert _run(http, "computer.mouse.move_id(id=2)").json()["message"] == "list index out of range"
    assert _run(http, "computer.mouse.move_id(id='1')").status_code == 500


def test_an_update_without_a_screenshot_changes_nothing(http: httpx.Client) -> None:
    http.post("/update_computer", json=_update())
    assert http.post("/update_computer", json=_update(screenshot="")).status_code == 500
    assert _run(http, "computer.mouse.move_id(id=0)").status_code == 200


def test_an_update_without_a_scale_breaks_ids_but_not_fractions(http: httpx.Client) -> None:
    body = _update()
    del body["scale"]
    http.post("/update_computer", json=body)
    assert _run(http, "computer.mouse.move_id(id=0)").status_code == 500
    assert _run(http, "computer.mouse.move_abs(x=0.5, y=0.5)").status_code == 200


def test_fractions_are_cut_to_pixels(http: httpx.Client, vm: InProcessVm) -> None:
    http.post("/update_computer", json=_update())
    _run(http, "computer.mouse.move_abs(x=0.9999, y=0.5005)")
    assert (vm.desktop.mouse.x, vm.desktop.mouse.y) == (1439, 450)


def test_a_corner_poisons_every_later_action_until_the_pointer_is_moved(http: httpx.Client) -> None:
    http.post("/update_computer", json=_update())
    assert _run(http, "computer.mouse.move_abs(x=700, y=400)").status_code == 200
    for code in ("computer.mouse.single_click()", "computer.keyboard.write('x')"):
        answer = _run(http, code)
        assert answer.status_code == 500
        assert "fail-safe" in answer.json()["message"]
    _child(http, "import pyautogui; pyautogui.FAILSAFE=False; pyautogui.moveTo(700, 400)")
    assert _run(http, "computer.mouse.single_click()").status_code == 200


def test_characters_that_are_no_key_are_dropped(http: httpx.Client, vm: InProcessVm) -> None:
    http.post("/update_computer", json=_update())
    vm.desktop.programs.launch(["notepad"])
    _run(http, "computer.keyboard.write('naïve — ok')")
    assert vm.desktop.active_title == "*Untitled - Notepad"
    assert vm.desktop.active.text.text == "nave  ok"


def test_any_text_reaches_the_screen_by_the_clipboard(http: httpx.Client, vm: InProcessVm) -> None:
    http.post("/update_computer", json=_update())
    vm.desktop.programs.launch(["notepad"])
    _run(http, "import pyperclip\npyperclip.copy('naïve — ok')\ncomputer.clipboard.paste()")
    assert vm.desktop.active.text.text == "naïve — ok"


def test_printing_error_is_500_though_the_text_was_copied(
    http: httpx.Client, vm: InProcessVm
) -> None:
    http.post("/update_computer", json=_update())
    answer = _run(http, "computer.clipboard.copy_text('No Errors here')")
    assert (answer.status_code, answer.json()["message"]) == (500, "No Errors here\n")
    assert vm.desktop.machine.clipboard.text == "No Errors here"


def test_a_program_that_is_not_installed_is_an_error(http: httpx.Client) -> None:
    http.post("/update_computer", json=_update())
    answer = _run(http, "computer.os.open_program('photoshop')")
    assert answer.json()["message"] == "error: Program photoshop is not installed\n"


def test_open_program_maximises_it(http: httpx.Client, vm: InProcessVm) -> None:
    http.post("/update_computer", json=_update())
    assert _run(http, "computer.os.open_program('notepad')").status_code == 200
    assert (vm.desktop.active_title, vm.desktop.active.maximized) == ("Untitled - Notepad", True)


def test_switching_to_no_window_is_a_success(http: httpx.Client) -> None:
    http.post("/update_computer", json=_update())
    assert _run(http, "computer.window_manager.switch_to_application('Nothing')").status_code == 200


@pytest.mark.parametrize(
    ("code", "status"),
    [("computer.mouse.scroll(dir='left')", 500), ("computer.mouse.scroll(dir='up')", 200),
     ("computer.mouse.drag(x=0.3, y=0.4)", 500), ("computer.mouse.drag(screen_x=40, screen_y=50)", 200),
     ("computer.keyboard.press('ctrl', 'c')", 500), ("computer.keyboard.press('ctrl+c')", 200),
     ("computer.keyboard.press('cmd')", 200), ("x = (", 500), ("human.ask_question('who?')", 500)],
)  # fmt: skip
def test_the_action_code_takes_what_waa_takes(http: httpx.Client, code: str, status: int) -> None:
    http.post("/update_computer", json=_update())
    assert _run(http, code).status_code == status


def test_absence_is_400(http: httpx.Client) -> None:
    for path, body in (
        ("/file_exists", {"path": _HOME, "file_name": "no.txt"}),
        ("/folder_exists", {"path": _HOME, "folder_name": "no"}),
        ("/is_details_view", {"path": _HOME}),
        ("/check_if_timer_started", {"hours": 1, "minutes": 0, "seconds": 0}),
        ("/check_if_world_clock_exists", {"city": "Oslo", "country": "Norway"}),
        ("/library_folders", {"library_name": "None"}),
        ("/is_directory_read_only_for_user", {"directory": _HOME, "user": "Guest"}),
    ):
        assert http.post(path, json=body).status_code == 400, path


def test_files_are_found_missing_or_refused(http: httpx.Client, vm: InProcessVm) -> None:
    vm.desktop.machine.files.write(f"{_HOME}\\Documents\\a.bin", b"\x00\xff")
    assert http.post("/file", data={"file_path": "~/Documents/A.BIN"}).content == b"\x00\xff"
    assert (
        http.post("/file", data={"file_path": "%USERPROFILE%\\Documents\\a.bin"}).status_code == 200
    )
    assert http.post("/file", data={"file_path": "C:\\no"}).status_code == 404
    assert http.post("/file", data={}).status_code == 400
    assert http.post("/file", data={"file_path": _HOME}).status_code == 500


def test_an_upload_needs_its_folder(http: httpx.Client) -> None:
    files = {"file_data": ("x.txt", b"hello")}
    assert (
        http.post("/setup/upload", data={"file_path": f"{_HOME}\\x.txt"}, files=files).status_code
        == 200
    )
    assert (
        http.post("/setup/upload", data={"file_path": "C:\\no\\x.txt"}, files=files).status_code
        == 500
    )


def test_activating_does_nothing_unless_strict(http: httpx.Client, vm: InProcessVm) -> None:
    vm.desktop.programs.launch(["notepad"])
    vm.desktop.programs.launch(["calc"])
    body = {"window_name": "notepad"}
    assert http.post("/setup/activate_window", json=body).status_code == 200
    assert vm.desktop.active_title == "Calculator"
    assert http.post("/setup/activate_window", json={**body, "strict": True}).status_code == 200
    assert vm.desktop.active_title == "Untitled - Notepad"
    assert http.post("/setup/activate_window", json={"window_name": "Word"}).status_code == 404
    assert http.post("/setup/close_window", json={**body, "strict": True}).status_code == 404


def test_launching_what_does_not_exist_is_a_success(http: httpx.Client) -> None:
    assert http.post("/setup/launch", json={"command": ["no-such-program"]}).status_code == 200
    assert http.post("/setup/launch", json={"command": "google-chrome --x"}).status_code == 500


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/cursor_position", 500), ("GET", "/terminal", 500), ("POST", "/window_size", 400),
     ("POST", "/revert_to_snapshot", 501), ("POST", "/end_recording", 400), ("GET", "/accessibility?backend=x", 400)],
)  # fmt: skip
def test_routes_that_never_work_on_windows(
    http: httpx.Client, method: str, path: str, status: int
) -> None:
    assert http.request(method, path, data={} if method == "POST" else None).status_code == status


def test_navis_observation_is_of_the_foreground_window(http: httpx.Client, vm: InProcessVm) -> None:
    desk = http.get("/obs_winagent").json()
    assert (desk["window_title"], desk["rect"]) == ("Desktop", [0, 0, 1440, 900])
    vm.desktop.programs.launch(["calc"])
    seen = http.get("/obs_winagent").json()
    assert seen["window_title"] == "Calculator"
    left, top, right, bottom = seen["rect"]
    picture = Image.open(io.BytesIO(base64.b64decode(seen["image"])))
    assert picture.size == (right - left, bottom - top)
    assert seen["window_names_str"] == "Calculator\nProgram Manager"


def test_a_request_that_hangs_does_not_hold_up_others(vm: InProcessVm, http: httpx.Client) -> None:
    host, port = vm.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"POST /setup/launch HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert http.get("/probe").status_code == 200


def test_only_loopback_is_listened_on() -> None:
    for host in ("0.0.0.0", "192.168.1.4", "::"):
        with pytest.raises(InputError, match="loopback only"):
            SimulatedVm(host=host)


def test_hands_reach_the_screen(hands: Hands, vm: InProcessVm) -> None:
    hands.act(Click(target=ElementRef(element="File Explorer pinned")))
    assert vm.desktop.active_title == "Home - File Explorer"


@pytest.mark.parametrize(
    ("launched", "name"),
    [("notepad", "Edit"), ("ms-settings:storagepolicies", "Run Storage Sense#2")],
)
def test_what_has_its_menu_open_is_expanded(
    vm: InProcessVm, http: httpx.Client, hands: Hands, launched: str, name: str
) -> None:
    vm.desktop.programs.launch(["start", launched])
    for expected in ("false", "true"):
        xml = http.get("/accessibility", params={"backend": "uia"}).json()["AT"]
        assert re.findall(rf'name="{name.removesuffix("#2")}" [^>]*st:expanded="(\w+)"', xml) == [
            expected
        ]
        hands.act(Click(target=ElementRef(element=name)))


def test_a_timer_that_an_act_started_is_seen_to_run(vm: InProcessVm, hands: Hands) -> None:
    vm.desktop.machine.timers[:] = [Timer(3, 0, 0, "Tea")]
    vm.desktop.programs.launch(["start", "ms-clock://timer"])
    hands.act(Click(target=ElementRef(element="Timer paused, Start")))
    names = [each.name for each in hands.elements()]
    assert "03:00:00" not in names
    assert any(each.startswith("02:59:5") for each in names)


@pytest.mark.parametrize("code", ["import sys; sys.exit()", "exit()", "quit(3)"])
def test_a_block_that_ends_its_thread_gets_no_answer_and_the_server_goes_on(
    vm_host: str, code: str
) -> None:
    with (
        SimulatedVm(host=vm_host) as simulated,
        httpx.Client(base_url=simulated.url, timeout=30, trust_env=False) as client,
    ):
        client.post("/update_computer", json=_update())
        with pytest.raises(httpx.RemoteProtocolError):
            _run(client, code)
        assert _run(client, "assert computer.mouse is not None").status_code == 200
