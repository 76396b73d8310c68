from __future__ import annotations

import asyncio
import inspect
import os
import socket
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from fake_vm import FakeVm, Reply, png

from bench_core.agents import ActionResult, PointerPosition, Zoom
from bench_core.errors import EnvironmentFaultError, InputError
from waa_client.desktop import WaaDesktop
from waa_client.errors import RouteMissingError, VmAnswerError, VmTimeoutError, VmUnreachableError
from waa_client.vm import (
    ActionOutcome,
    CommandOutcome,
    ServerInfo,
    SyncVmClient,
    VmClient,
    VmOptions,
    calls,
    vm_url,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = VmOptions(wait_s=0.01, connect_s=10)
ROUTES = 44


@pytest.fixture
def client(vm: FakeVm) -> Iterator[SyncVmClient]:
    with SyncVmClient(vm.url, QUICK) as made:
        yield made


def test_there_is_a_call_for_every_route() -> None:
    made = {name: _made(getattr(calls, name)) for name in calls.__all__}
    assert made.pop("simulation").path == "/simulation/reset"  # which WAA does not have
    assert len(made) == ROUTES
    assert len({(call.method, call.path) for call in made.values()}) == ROUTES


def _made(make: Any) -> Any:
    given = {
        "act": "reset",
        "rects": [],
        "window_rect": [0, 0, 1, 1],
        "png": b"x",
        "data": b"x",
        "command": ["x"],
    }
    wanted = inspect.signature(make).parameters.values()
    return make(*[given.get(p.name, "x") for p in wanted if p.default is inspect.Parameter.empty])


def test_a_screenshot_is_a_whole_png_with_its_size(client: SyncVmClient) -> None:
    picture = client.send(calls.screenshot())
    assert picture.size == (1280, 720)
    assert picture.data == png((1280, 720))


@pytest.mark.parametrize("cut", [0, 7, 20, 33, 60, -1, -5, -13])
def test_a_torn_screenshot_is_an_error(vm: FakeVm, client: SyncVmClient, cut: int) -> None:
    vm.always["/screenshot"] = Reply(200, png((64, 48))[:cut], "image/png")
    with pytest.raises(VmAnswerError, match="PNG"):
        client.send(calls.screenshot())


def test_a_picture_that_is_no_screen_is_refused_before_it_is_unpacked(
    vm: FakeVm, client: SyncVmClient
) -> None:
    huge = bytearray(png((64, 48)))
    huge[16:24] = struct.pack(">II", 60_000, 60_000)
    huge[29:33] = struct.pack(">I", zlib.crc32(huge[12:29]))
    vm.always["/screenshot"] = Reply(200, bytes(huge), "image/png")
    with pytest.raises(VmAnswerError, match="60000 x 60000 pixels is no screen"):
        client.send(calls.screenshot())


def test_a_damaged_screenshot_is_an_error(vm: FakeVm, client: SyncVmClient) -> None:
    damaged = bytearray(png((64, 48)))
    damaged[45] ^= 255
    vm.always["/screenshot"] = Reply(200, bytes(damaged), "image/png")
    with pytest.raises(VmAnswerError, match="damaged chunk"):
        client.send(calls.screenshot())


def test_an_unknown_route_is_reported_although_waa_answers_500(
    vm: FakeVm, client: SyncVmClient
) -> None:
    with pytest.raises(RouteMissingError, match="has no POST /documents_path"):
        client.send(calls.documents_path())


def test_a_file_that_is_absent_is_no_error(vm: FakeVm, client: SyncVmClient) -> None:
    vm.files["C:\\a\\b.txt"] = b"hello"
    assert client.send(calls.file("C:\\a\\b.txt")) == b"hello"
    assert client.send(calls.file("C:\\a\\c.txt")) is None
    assert client.send(calls.file_exists("C:\\a", "b.txt")) is True
    assert client.send(calls.file_exists("C:\\a", "c.txt")) is False


def test_a_folder_is_listed_with_what_could_not_be_read(client: SyncVmClient) -> None:
    listed = client.send(calls.list_directory("C:\\known"))
    assert listed is not None
    assert [each.name for each in listed.children] == ["a.txt", ""]
    assert listed.children[1].error == "[WinError 5] Access is denied"
    assert client.send(calls.list_directory("C:\\unknown")) is None


def test_a_command_that_fails_is_recognised_by_its_return_code(
    vm: FakeVm, client: SyncVmClient
) -> None:
    vm.run = lambda _: {"status": "success", "output": "a", "error": "b", "returncode": 3}
    outcome = client.send(calls.execute(["x"]))
    assert outcome == CommandOutcome(output="a", error="b", returncode=3)
    assert not outcome.ok


def test_a_command_that_never_ran_is_distinguished(vm: FakeVm, client: SyncVmClient) -> None:
    body = b'{"status": "error", "message": "[WinError 2] not found"}'
    vm.always["/execute"] = Reply(500, body)
    outcome = client.send(calls.execute(["x"]))
    assert (outcome.started, outcome.returncode, outcome.error) == (
        False, None, "[WinError 2] not found",
    )  # fmt: skip


def test_code_that_raises_is_the_codes_failure_and_not_the_vms(client: SyncVmClient) -> None:
    outcome = client.send(calls.execute_windows("1 / 0"))
    assert outcome == ActionOutcome(ok=False, error="division by zero")


def test_a_500_in_another_form_is_the_vms_failure(vm: FakeVm, client: SyncVmClient) -> None:
    vm.always["/execute_windows"] = Reply(500, b"<html>gateway</html>", "text/html")
    with pytest.raises(VmAnswerError):
        client.send(calls.execute_windows("pass"))


def test_update_computer_is_sent_as_waas_own_agent_sends_it(
    vm: FakeVm, client: SyncVmClient
) -> None:
    client.send(calls.update_computer([(1, 2, 3, 4)], (0, 0, 1280, 720), b"png"))
    assert vm.seen[-1].body == {
        "rects": [[1, 2, 3, 4]],
        "window_rect": [0, 0, 1280, 720],
        "screenshot": "cG5n",
        "scale": [1.0, 1.0],
        "clipboard_content": None,
        "swap_ctrl_alt": False,
    }


def test_an_upload_is_a_form_with_its_windows_path(vm: FakeVm, client: SyncVmClient) -> None:
    outcome = client.send(calls.upload("C:\\Users\\Docker\\x y.txt", b"\0\xff"))
    assert outcome.ok
    assert vm.files == {"C:\\Users\\Docker\\x y.txt": b"\0\xff"}


def test_a_set_up_route_that_refuses_is_a_fact_and_no_error(client: SyncVmClient) -> None:
    outcome = client.send(calls.activate_window("Paint"))
    assert (outcome.ok, outcome.status, outcome.message) == (
        False, 404, "Window not found (empty results)",
    )  # fmt: skip


def test_waas_missing_snapshots_are_no_error(client: SyncVmClient) -> None:
    assert client.send(calls.revert_to_snapshot()) is False


@pytest.mark.parametrize(
    ("path", "body", "call"),
    [
        ("/screen_size", b"[1, 2]", calls.screen_size()),
        ("/screen_size", b'{"width": 0, "height": 5}', calls.screen_size()),
        ("/screen_size", b"not json", calls.screen_size()),
        ("/accessibility", b'{"AT": 5}', calls.accessibility()),
        ("/obs_winagent", b'{"window_title": "x"}', calls.obs_winagent()),
        ("/obs_winagent", b'{"window_title": "x", "rect": [1, "b", 2, 3]}', calls.obs_winagent()),
        ("/execute", b'{"status": "success"}', calls.execute(["x"])),
        ("/list_directory", b'{"directory_tree": 5}', calls.list_directory("x")),
        ("/probe", b"[" * 100_000, calls.probe()),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error_that_shows_it(
    vm: FakeVm, client: SyncVmClient, path: str, body: bytes, call: Any
) -> None:
    vm.always[path] = Reply(200, body)
    with pytest.raises(VmAnswerError, match=vm.url):
        client.send(call)


def test_a_look_is_repeated_when_the_connection_drops(vm: FakeVm, client: SyncVmClient) -> None:
    vm.faults["/probe"] = [Reply(reset=True), Reply(reset=True)]
    assert client.send(calls.probe()) == ServerInfo(message="Service is operational")
    assert vm.paths() == ["/probe"] * 3


def test_an_action_is_never_repeated(vm: FakeVm, client: SyncVmClient) -> None:
    vm.faults["/execute_windows"] = [Reply(reset=True)]
    with pytest.raises(VmUnreachableError, match="got no answer"):
        client.send(calls.execute_windows("pass"))
    assert vm.paths() == ["/execute_windows"]


def test_a_vm_that_is_off_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with SyncVmClient(f"127.0.0.1:{port}", QUICK) as client, pytest.raises(VmUnreachableError) as e:
        client.send(calls.execute_windows("pass"))
    assert isinstance(e.value, EnvironmentFaultError)


def test_a_vm_that_stalls_is_given_up(vm: FakeVm) -> None:
    vm.always["/probe"] = Reply(stall=True)
    options = VmOptions(slack=0.02, tries=1)
    with SyncVmClient(vm.url, options) as client, pytest.raises(VmUnreachableError):
        client.send(calls.probe())


@pytest.mark.parametrize("part", ["header", "body"])
async def test_an_answer_that_comes_byte_by_byte_is_given_up(vm: FakeVm, part: str) -> None:
    vm.always["/probe"] = Reply(drips=part)
    options = VmOptions(slack=0.02, tries=1)
    with (
        SyncVmClient(vm.url, options) as client,
        pytest.raises(VmTimeoutError, match="the answer took longer"),
    ):
        client.send(calls.probe())
    async with VmClient(vm.url, options) as other:
        with pytest.raises(VmTimeoutError, match="the answer took longer"):
            await other.send(calls.probe())


async def test_a_call_that_gets_no_answer_is_made_as_often_as_the_options_say(vm: FakeVm) -> None:
    options = VmOptions(wait_s=0.01, connect_s=10, tries=3)
    with SyncVmClient(vm.url, options) as client:
        vm.faults["/probe"] = [Reply(reset=True)] * 2
        client.send(calls.probe())
    async with VmClient(vm.url, options) as other:
        vm.faults["/probe"] = [Reply(reset=True)] * 2
        await other.send(calls.probe())
    assert vm.paths() == ["/probe"] * 6


def test_an_answer_without_end_is_refused(vm: FakeVm) -> None:
    vm.files["x"] = b"0" * 5000
    with (
        SyncVmClient(vm.url, VmOptions(most_bytes=1000)) as client,
        pytest.raises(VmAnswerError, match="more than 1000 bytes"),
    ):
        client.send(calls.file("x"))


async def test_both_clients_give_the_same(vm: FakeVm) -> None:
    wanted = [
        calls.probe(), calls.platform(), calls.screenshot(), calls.screen_size(),
        calls.obs_winagent(), calls.accessibility(), calls.file("x"), calls.close_all(),
    ]  # fmt: skip
    async with VmClient(vm.url, QUICK) as client:
        found = [await client.send(each) for each in wanted]
    with SyncVmClient(vm.url, QUICK) as sync:
        assert [await asyncio.to_thread(sync.send, each) for each in wanted] == found


async def test_the_asynchronous_client_repeats_and_gives_up_alike(vm: FakeVm) -> None:
    vm.faults["/probe"] = [Reply(reset=True)]
    vm.faults["/execute"] = [Reply(reset=True)]
    async with VmClient(vm.url, QUICK) as client:
        assert await client.send(calls.probe()) == ServerInfo(message="Service is operational")
        with pytest.raises(VmUnreachableError):
            await client.send(calls.execute(["x"]))


def test_a_proxy_of_the_environment_is_ignored(vm: FakeVm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "HTTP_PROXY", "http://127.0.0.1:9")
    with SyncVmClient(vm.url, QUICK) as client:
        assert client.send(calls.platform()) == "Windows"


@pytest.mark.parametrize("text", ["", "http://", "ftp://vm", "vm:port", "http://[1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        vm_url(text)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        pytest.param(
            {"status": "success", "output": "640 360\n", "error": "", "returncode": 0},
            ActionResult(text="X=640,Y=360"),
            id="known",
        ),
        pytest.param(
            {"status": "success", "output": "?", "error": "", "returncode": 0},
            ActionResult(ok=False, error="the position is not known"),
            id="unreadable",
        ),
        pytest.param(
            {"status": "success", "output": "", "error": "no pyautogui", "returncode": 1},
            ActionResult(ok=False, error="no pyautogui"),
            id="failed",
        ),
    ],
)
async def test_where_the_pointer_is_can_be_asked_and_may_be_unknown(
    vm: FakeVm, answer: dict[str, Any], result: ActionResult
) -> None:
    vm.run = lambda _: answer
    async with VmClient(vm.url, QUICK) as client:
        assert await WaaDesktop(client).act(PointerPosition()) == result


async def test_a_part_of_the_screen_can_be_seen_larger(vm: FakeVm) -> None:
    async with VmClient(vm.url, QUICK) as client:
        desktop = WaaDesktop(client)
        seen = await desktop.act(Zoom(region=(0, 0, 640, 360)))
        beside = await desktop.act(Zoom(region=(0, 0, 9000, 360)))
    assert seen.ok
    assert seen.image is not None
    assert (beside.ok, beside.image) == (False, None)
    assert "is not on the screen" in str(beside.error)
