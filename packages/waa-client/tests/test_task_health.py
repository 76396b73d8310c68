"""What is known of tasks' own definitions: each rule finds its defect and leaves its neighbour alone."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from fake_evaluator import failure, verdict
from sample_tasks import make_task

from waa_client.cli import main
from waa_client.task_checks import check_files, check_idle
from waa_client.task_health import (
    FLAGGED,
    MEANINGS,
    files_of,
    health_text,
    task_flags,
    task_notes,
    task_warnings,
)
from waa_client.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fake_evaluator import FakeEvaluator

    from bench_core.records import Task

ZIP = {"func": "compare_zip_files", "result": {"type": "vm_file", "path": "C:\\d\\Backup.zip"}}
COOKIES = {"func": "is_cookie_deleted", "result": {"type": "cookie_data"}}
HISTORY = {"func": "check_history_deleted", "result": {"type": "history"}}


def shortcut(**rules: str) -> dict[str, Any]:
    return {"func": "is_shortcut_on_desktop", "expected": {"type": "rule", "rules": rules}}


def engine(name: str, getter: str = "default_search_engine") -> dict[str, Any]:
    expected = {"type": "rule", "rules": {"expected": name}}
    return {"func": "exact_match", "result": {"type": getter}, "expected": expected}


def listing(kind: str) -> dict[str, Any]:
    expected = {"type": "rule", "rules": {"type": kind, "expected": "ToDoLists"}}
    return {"func": "is_extension_installed", "result": {}, "expected": expected}


def sorting(*, wanted: bool) -> dict[str, Any]:
    result = {"type": "are_files_sorted_by_modified_time"}
    rule = {"type": "rule", "rules": {"expected": wanted}}
    return {"func": "exact_match", "result": result, "expected": rule}


def text(kind: str) -> dict[str, Any]:
    return {"func": "compare_text_file", "result": {"type": "vm_file"}, "expected": {"type": kind}}


def getter(name: str) -> dict[str, Any]:
    return {"func": "exact_match", "result": {"type": name}, "expected": {"type": "rule"}}


def download(path: str) -> list[dict[str, Any]]:
    files = [{"url": "https://files.test/a", "path": path}]
    return [{"type": "download", "parameters": {"files": files}}]


def after(kind: str, *command: str) -> dict[str, Any]:
    step = {"type": kind, "parameters": {"command": list(command)}}
    return {"func": "exact_match", "postconfig": [step]}


def kinds(task: Task) -> set[str]:
    return {note.kind for note in task_notes([task])}


@pytest.mark.parametrize(
    ("kind", "defective", "sound"),
    [
        ("never", {"evaluator": shortcut(type="url", description="x")},
         {"evaluator": shortcut(type="url", url="x")}),
        ("never", {"evaluator": engine("Bing")}, {"evaluator": engine("Google")}),
        ("never", {"evaluator": engine("Bing")},
         {"evaluator": engine("Bing", "default_search_engine_from_edge")}),
        ("idle", {"evaluator": COOKIES}, {"evaluator": engine("Google")}),
        ("idle", {"evaluator": {"func": "check_qt_video_resize"}},
         {"evaluator": {"func": "check_qt_max_volume"}}),
        ("idle", {"evaluator": {"func": ["exact_match", "is_cookie_deleted"]}},
         {"evaluator": {"func": ["exact_match", "exact_match"]}}),
        ("unprepared", {"evaluator": listing("not_contain")}, {"evaluator": listing("contain")}),
        ("unprepared", {"evaluator": sorting(wanted=True)}, {"evaluator": sorting(wanted=False)}),
        ("no-score", {"evaluator": HISTORY}, {"evaluator": COOKIES}),
        ("no-score", {"evaluator": text("vm_file")}, {"evaluator": text("rule")}),
        ("moving-date", {"evaluator": {"func": "x", "expected": {"type": "rule_relativeTime"}}},
         {"evaluator": getter("open_tabs_info")}),
        ("live-browser", {"evaluator": getter("open_tabs_info")}, {"evaluator": getter("history")}),
        ("ignored-step", {"config": download("/home/user/a.docx")},
         {"config": download("C:\\a.docx")}),
        ("ignored-step", {"evaluator": after("launch", "Stop-Process", "-Name", "vlc")},
         {"evaluator": after("launch", "powershell", "-Command", "Stop-Process")}),
        ("setup-host", {"config": download("C:\\a.docx")}, {"config": [{"type": "sleep"}]}),
        ("gold-host",
         {"evaluator": {"func": "x", "expected": {"type": "cloud_file", "path": "https://a.test/b"}}},
         {"evaluator": {"func": "x", "expected": {"type": "vm_file", "path": "C:\\b"}}}),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_each_rule_finds_its_defect_alone(
    kind: str, defective: dict[str, Any], sound: dict[str, Any]
) -> None:
    assert kind in kinds(make_task(**defective))
    assert kind not in kinds(make_task(**sound))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('Make "Backups.zip".', True),  # one letter apart
        ('Make "Backup.zip".', False),
        ('Put "letter.txt" into an archive.', False),  # another file altogether
    ],
)
def test_file_that_is_almost_the_one_asked_for_never_scores(asked: str, found: bool) -> None:
    task = make_task(instruction=asked, evaluator=ZIP)
    assert ("never" in kinds(task)) is found


def test_task_that_cannot_be_done_scores_for_giving_up() -> None:
    task = make_task().model_copy(update={"tags": ("infeasible",)})
    assert kinds(task) == {"give-up"}
    assert kinds(make_task()) == set()


def test_only_browsers_need_web_sites() -> None:
    opens = [{"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://a.test/b"]}}]
    (note,) = task_notes([make_task(domain="msedge", config=opens)])
    assert (note.kind, note.reason) == ("live-site", "opens or names a.test")
    assert kinds(make_task(config=opens)) == set()


@pytest.mark.parametrize(
    "evaluator",
    [
        {},
        {"func": None},
        {"func": ["exact_match"], "result": [1], "expected": "text"},
        {"func": "exact_match", "expected": {"rules": []}},
        {"func": "infeasible", "postconfig": None},
    ],
    ids=["empty", "no-function", "texts", "rules-are-a-list", "no-steps"],
)
def test_odd_definitions_are_no_fault(evaluator: Any) -> None:
    task_notes([make_task(evaluator=evaluator, config=None)])
    task_notes([make_task(evaluator=evaluator, config=[{"type": "download", "parameters": 1}])])


def test_flags_are_those_kinds_that_touch_the_score() -> None:
    assert task_flags(make_task(evaluator=COOKIES)) == ("task-idle",)
    assert task_flags(make_task(config=download("C:\\a"))) == ()
    assert set(MEANINGS) >= FLAGGED


def test_warnings_count_the_planned_tasks() -> None:
    planned = [make_task("01-WOS", evaluator=COOKIES), make_task("02-WOS", evaluator=HISTORY)]
    assert task_warnings(planned) == [
        "1 of 2 tasks may score 1 for doing nothing (`waa-client tasks --health`)",
        "1 of 2 tasks have no score, instead of 0, where nothing was done (`waa-client tasks --health`)",
    ]
    assert task_warnings([make_task()]) == []


def test_text_tells_rare_notes_and_counts_common_ones() -> None:
    tasks = [make_task(f"{n:02d}-WOS", config=download("C:\\a")) for n in range(25)]
    tasks += [make_task("99-WOS", evaluator=COOKIES), make_task("98-WOS")]
    shown = health_text(task_notes(tasks), tasks)
    assert "setup-host  25" in shown
    assert "notepad/99-WOS" in shown
    assert "notepad/01-WOS" not in shown
    assert "27 tasks looked at, 1 without a note" in shown


@contextmanager
def web(statuses: dict[str, int]) -> Iterator[str]:
    """A web server whose files have these statuses; `/get` refuses HEAD."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(405 if self.path == "/get" else statuses[self.path])

        def do_GET(self) -> None:
            self.answer(statuses[self.path])

        def answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def fetching(*urls: str) -> Task:
    files = [{"url": url, "path": "C:\\a"} for url in urls[:-1]]
    evaluator = {"func": "x", "expected": {"type": "cloud_file", "path": urls[-1]}}
    config = [{"type": "download", "parameters": {"files": files}}]
    return make_task(config=config, evaluator=evaluator)


def test_files_that_are_gone_are_named_and_others_are_not() -> None:
    with web({"/here": 200, "/gone": 404, "/get": 200}) as site:
        task = fetching(f"{site}/here", f"{site}/get", f"{site}/gone", "http://127.0.0.1:9/down")
        assert len(files_of(task)["setup-host"]) == 3
        notes = check_files([task])
    assert [note.kind for note in notes] == ["setup-host", "gold-host"]
    assert notes[0].reason == f"{site}/gone: answers 404"
    assert notes[0].check == f"curl -sIL {site}/gone"
    assert notes[1].reason.startswith("http://127.0.0.1:9/down: ")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(verdict(0.0), None), (verdict(1.0), "idle"), (verdict(0.5), "idle"), (failure(), "no-score")],
    ids=["zero", "one", "half", "raises"],
)
def test_idle_vm_shows_tasks_that_score_or_raise(
    evaluator: FakeEvaluator, answer: dict[str, Any], kind: str | None
) -> None:
    evaluator.judge = lambda _: answer
    found = check_idle([make_task()], evaluator.url)
    assert [note.kind for note in found] == ([kind] if kind else [])


def test_command_shows_asks_and_refuses(folder: Path, evaluator: FakeEvaluator) -> None:
    def invoke(*more: str) -> Any:
        return CliRunner().invoke(main, ["tasks", "--tasks-dir", str(folder), *more])

    assert "1 without a note" in invoke("--health").output
    (note,) = json.loads(invoke("--health", "--json").output)
    assert (note["kind"], note["check"]) == ("give-up", "waa-client tasks --infeasible")
    evaluator.judge = lambda _: verdict(1.0)
    asked = json.loads(invoke("--health", "--json", "--evaluate", evaluator.url).output)
    assert {note["kind"] for note in asked} == {"idle"}
    refused = invoke("--check-hosts")
    assert (refused.exit_code, "need --health" in refused.output) == (2, True)
    undecided = invoke("--health", "--evaluate", "127.0.0.1:9")
    assert undecided.exit_code == 3


def test_published_tasks_have_these_notes(data: Path) -> None:
    """Each of them is looked at by every rule; a file that changes shows in these numbers."""
    tasks = load_tasks(data)
    notes = task_notes(tasks)
    assert len(tasks) == 154
    assert Counter(kind for kind, _ in {(note.kind, note.task_id) for note in notes}) == {
        "never": 3, "idle": 3, "unprepared": 2, "no-score": 3, "give-up": 13, "moving-date": 1,
        "live-site": 16, "live-browser": 4, "default-profile": 9, "ignored-step": 3, "gold-host": 48, "setup-host": 67,
        "installed-app": 105,
    }  # fmt: skip
    noted = {note.task_id for note in notes}
    without = Counter(each.groups["domain"][0] for each in tasks if each.task_id not in noted)
    assert without == {
        "clock": 4, "file_explorer": 6, "microsoft_paint": 3, "msedge": 7, "settings": 5,
        "windows_calc": 3,
    }  # fmt: skip
    assert all(note.check for note in notes)
