"""Set-up and postconfig steps: what they ask of the VM, and what ends a set-up."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native import NativeEvaluator
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from pathlib import Path

    from waa_server_ext.evaluation.verdicts import SetupReport

HISTORY = r"C:\Users\Docker\AppData\Local\Google\Chrome\User Data\Default\History"


def set_up(vm: FixtureVm, cache: Path, *steps: Any) -> SetupReport:
    task = {
        "id": "t", "instruction": "x", "config": list(steps), "evaluator": {"func": "infeasible"},
    }  # fmt: skip
    settings = EvaluatorSettings(cache=cache, skip_sleeps=True)
    return NativeEvaluator(settings).set_up(task, vm=vm.address)


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


WINDOW = {"window_name": "a", "strict": True, "by_class": False}
ASKED: list[tuple[dict[str, Any], str, Any]] = [
    (step("open", path="a"), "/setup/open_file", {"path": "a"}),
    (step("launch", command=["a", "b"]), "/setup/launch", {"command": ["a", "b"], "shell": False}),
    (step("launch", command="a b"), "/setup/launch", {"command": ["a", "b"], "shell": False}),
    (step("launch", command="a"), "/setup/launch", {"command": "a", "shell": False}),  # of the VM
    (step("launch", command="a b", shell="true"), "/setup/launch", {"command": "a b", "shell": "true"}),  # noqa: S604  # of the VM
    (step("execute", command=["a"]), "/setup/execute", {"command": ["a"], "shell": False}),  # of the VM
    (step("command", command=["a"], shell=True), "/setup/execute", {"command": ["a"], "shell": True}),  # noqa: S604  # of the VM
    (step("activate_window", window_name="a", strict=True), "/setup/activate_window", WINDOW),
    (step("close_window", window_name="a", strict=True), "/setup/close_window", WINDOW),
    (step("close_all"), "/setup/close_all", {}),
    (step("create_folder", path="a"), "/setup/create_folder", {"path": "a"}),
    (step("create_file", path="a"), "/setup/create_file", {"path": "a", "content": ""}),
    (step("recycle_file", path="a"), "/setup/recycle", {"path": "a"}),
    (step("change_wallpaper", path="a"), "/setup/change_wallpaper", {"path": "a"}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "path", "body"), ASKED)
def test_a_step_asks_the_endpoint_of_its_kind(
    given: dict[str, Any], path: str, body: Any, tmp_path: Path
) -> None:
    with FixtureVm(port=0) as vm:
        set_up(vm, tmp_path, given)
        assert [(each["path"], each["json"]) for each in vm.requests] == [(path, body)]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (step("no_such_step"), "AssertionError"),
        (step("open", path=""), "ValueError"),
        (step("open", wrong="a"), "TypeError"),
        ({"type": "open"}, "KeyError"),
        (step("launch", command=[]), "ValueError"),
        (step("download", files=[{"url": "", "path": "a"}]), "ValueError"),
    ],
)
def test_a_step_that_raises_is_the_last(given: Any, error: str, tmp_path: Path) -> None:
    with FixtureVm(port=0) as vm:
        report = set_up(vm, tmp_path, given, step("close_all"))
        assert (report.ok, len(report.steps), vm.requests) == (False, 1, [])
        assert report.abandoned
        assert str(report.steps[0].error).startswith(error)


def test_a_step_that_the_vm_refuses_does_not_end_the_set_up(tmp_path: Path) -> None:
    state = VmState.load({"endpoints": {"POST /setup/launch": {"status": 500, "json": {}}}})
    with FixtureVm(state, port=0) as vm:
        report = set_up(vm, tmp_path, step("launch", command=["a"]), step("close_all"))
    assert ([each.ok for each in report.steps], report.abandoned) == ([False, True], False)


def test_a_command_is_repeated_until_its_output_is_there(tmp_path: Path) -> None:
    refused = {"endpoints": {"POST /setup/execute": {"status": 500, "json": {}}}}
    until = step("execute", command=["a"], until={"returncode": 0})
    with FixtureVm(VmState.load(refused), port=0) as vm:
        set_up(vm, tmp_path, until)
        assert len(vm.requests) == 5
    with FixtureVm(port=0) as vm:
        set_up(vm, tmp_path, until)
        assert len(vm.requests) == 1


def test_a_downloaded_file_is_put_on_the_vm(tmp_path: Path) -> None:
    with FixtureVm(VmState.load({"cloud": {"a.txt": {"text": "hello"}}}), port=0) as vm:
        file = {"url": f"{vm.cloud_base}/a.txt", "path": r"C:\Users\Docker\Downloads\b.txt"}
        report = set_up(vm, tmp_path, step("download", files=[file]))
        written = vm.disk.read(file["path"])
    assert (report.ok, written.data if written else None) == (True, b"hello")


def test_a_download_from_another_host_is_refused(tmp_path: Path) -> None:
    with FixtureVm(port=0) as vm:
        file = {"url": "http://192.0.2.1/a.txt", "path": r"C:\a.txt"}
        report = set_up(vm, tmp_path, step("download", files=[file]))
    assert (report.ok, "--allow-host" in str(report.steps[0].error)) == (False, True)


def test_a_history_that_chromium_can_open_is_put_on_the_vm(tmp_path: Path) -> None:
    visit = {"url": "https://a.example/", "title": "A", "visit_time_from_now_in_seconds": 60}
    folder = {"dirs": [HISTORY.rpartition("\\")[0]]}
    with FixtureVm(VmState.load(folder), port=0) as vm:
        set_up(vm, tmp_path, step("update_browse_history", history=[visit, visit]))
        written = vm.disk.read(HISTORY)
    local = tmp_path / "History"
    local.write_bytes(written.data if written else b"")
    with closing(sqlite3.connect(local)) as database:
        pages = database.execute("SELECT urls.url, title FROM urls").fetchall()
        linked = database.execute(
            "SELECT count(*) FROM visits JOIN urls ON visits.url = urls.id"
        ).fetchone()
    assert (pages, linked) == ([("https://a.example/", "A")] * 2, (2,))


@pytest.mark.parametrize("dest", ["../up.txt", "/etc/up.txt", "a/../../up.txt"])
def test_a_file_name_cannot_lead_out_of_the_cache(dest: str, tmp_path: Path) -> None:
    result = {"type": "vm_file", "path": r"C:\a", "dest": dest}
    expected = {"type": "rule", "rules": {"expected": {}}}
    what = {"func": "check_json_settings", "result": result, "expected": expected}
    task = {"id": "t", "instruction": "x", "evaluator": what}
    native = NativeEvaluator(EvaluatorSettings(cache=tmp_path / "cache"))
    with FixtureVm(port=0) as vm, pytest.raises(InputError, match="dest"):
        native.evaluate(task, [], vm=vm.address)
    assert list(tmp_path.rglob("up.txt")) == []
