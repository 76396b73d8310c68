"""`waa-server-ext evaluate`: scoring on a folder of files, without a VM."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from waa_server_ext.cli import main
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.reasons import MetricStep
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native import NativeEvaluator
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

DRAFT = {
    "func": "compare_text_file",
    "result": {"type": "vm_file", "path": r"C:\Users\Docker\Documents\draft.txt", "dest": "draft.txt"},
    "expected": {"type": "cloud_file", "path": "https://a.example/gold%20file.txt", "dest": "gold.txt"},
}  # fmt: skip
NOTIFICATIONS = {
    "func": "exact_match",
    "result": {"type": "system_notifications"},
    "expected": {"type": "rule", "rules": {"expected": "True"}},
}


def run(folder: Path, evaluator: dict[str, Any], *more: str) -> Result:
    task = folder / "tasks" / "notepad" / "a-1.json"
    task.parent.mkdir(parents=True, exist_ok=True)
    task.write_text(json.dumps({"id": "a", "instruction": "x", "evaluator": evaluator}))
    files = folder / "files"
    files.mkdir(exist_ok=True)
    cache = str(folder / "cache")
    command = ["evaluate", str(task), "--files", str(files), "--cache", cache, "--offline", *more]
    return CliRunner().invoke(main, command)


@pytest.mark.parametrize("place", ["draft.txt", "C/Users/Docker/Documents/draft.txt"])
@pytest.mark.parametrize(("text", "code"), [("hello", 0), ("bye", 1)])
def test_a_file_is_compared_with_the_reference(
    place: str, text: str, code: int, tmp_path: Path
) -> None:
    for name, content in ((place, text), ("gold/gold file.txt", "hello")):
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    result = run(tmp_path, DRAFT)
    assert (result.exit_code, result.output.split()[:2]) == (code, ["score", str(1 - code)])


def _table() -> bytes:
    table = io.BytesIO()
    with zipfile.ZipFile(table, "w") as archive:
        archive.writestr(
            "xl/sharedStrings.xml", "<sst><si><t>Total</t></si><si><t>due</t></si></sst>"
        )
    return table.getvalue()


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        pytest.param(b"bye\nnow", ":\nbye\nnow", id="text"),
        pytest.param(_table(), ":\nTotal due", id="office"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x01", "", id="picture"),
        pytest.param(b"PK\x03\x04 torn", "", id="damaged"),
    ],
)
def test_a_verdict_shows_what_compared_files_contain(
    data: bytes, shown: str, tmp_path: Path
) -> None:
    for name, content in (("draft.txt", data), ("gold/gold file.txt", b"hello")):
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (found,) = json.loads(run(tmp_path, DRAFT, "--json").output)["metrics"]
    assert found["actual"] == f"draft.txt, {len(data)} bytes{shown}"
    assert found["expected"] == "gold.txt, 5 bytes:\nhello"
    asked = {"path": r"C:\Users\Docker\Documents\draft.txt", "dest": "draft.txt"}
    assert (found["getter"], json.loads(found["getter_arguments"])) == ("vm_file", asked)


def test_a_path_elsewhere_on_this_machine_shows_no_contents(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "key").write_text("secret")
    (tmp_path / "scratch" / "link").symlink_to(tmp_path / "key")
    shown = [
        MetricStep("m", actual=str(tmp_path / name)).detail(tmp_path / "scratch").actual
        for name in ("key", "scratch/../key", "scratch/link")
    ]
    assert not any("secret" in str(each) for each in shown)


def test_a_file_that_is_not_in_the_folder_is_not_on_the_vm(tmp_path: Path) -> None:
    gold = tmp_path / "files" / "gold" / "gold file.txt"
    gold.parent.mkdir(parents=True)
    gold.write_text("hello")
    assert run(tmp_path, DRAFT).exit_code == 1


def test_what_no_file_can_say_gives_no_score(tmp_path: Path) -> None:
    result = run(tmp_path, NOTIFICATIONS)
    assert (result.exit_code, "neither the files nor the transcript" in result.output) == (3, True)


def test_a_transcript_answers_what_no_file_can_say(tmp_path: Path) -> None:
    key = r"HKCU:Software\Microsoft\Windows\CurrentVersion\PushNotifications|ToastEnabled"
    task = {"id": "a", "instruction": "x", "evaluator": NOTIFICATIONS}
    with FixtureVm(VmState.load({"registry": {key: "0"}}), port=0) as vm:
        native = NativeEvaluator(EvaluatorSettings(cache=tmp_path / "then"))
        stored = native.evaluate(task, [], vm=vm.address)
    (tmp_path / "verdict.json").write_text(stored.model_dump_json())
    result = run(tmp_path, NOTIFICATIONS, "--transcript", str(tmp_path / "verdict.json"), "--json")
    assert (result.exit_code, json.loads(result.output)["score"]) == (0, 1.0)


def test_a_described_state_answers_for_the_rest_of_the_vm(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "vm_state.json").write_text("{}")
    assert run(tmp_path, NOTIFICATIONS).exit_code == 1


def test_giving_up_on_a_feasible_task_is_a_zero(tmp_path: Path) -> None:
    result = run(tmp_path, DRAFT, "--gave-up")
    assert (result.exit_code, "said FAIL on a feasible task" in result.output) == (1, True)


def test_a_transcript_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = run(tmp_path, DRAFT, "--transcript", str(tmp_path / "x.json"))
    assert (result.exit_code, "is not a verdict of POST /evaluate" in result.output) == (2, True)
