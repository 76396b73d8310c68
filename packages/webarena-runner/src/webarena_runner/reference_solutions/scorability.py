"""Tasks that cannot score 1.0, or score it without any work, according to the real evaluator.

The notes for one data set come with this package; others are derived when needed. They are
shown with official scores and never change one.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue, TypeAdapter

from bench_core.records import Record, Task
from webarena_runner.config import EnvironmentConfig, default_config
from webarena_runner.reference_solutions.traffic import traffic_for
from webarena_runner.reference_solutions.trials import answer_as_asked, answer_for, write_trial
from webarena_runner.tasks import dataset_path, load_tasks, task_type

Kind = Literal[
    "never",
    "no-browser",
    "contact-probe",
    "asked-form",
    "free",
    "visit-only",
    "answer-only",
    "reported",
]
"""`never`: no traffic and no answer satisfy the definition (13 tasks of webarena-verified 1.2.3);
`no-browser`: only traffic that no ordinary browser sends does; `contact-probe`: needs a script that
current images do not contain; `asked-form`: the right date or duration is refused in the form that the task asks
for; `free`: passes without any action; `visit-only`: a change is asked for, a
visit is enough; `answer-only`: only the declared type and status are checked; `reported`: right traffic may
fail, as a report to the project says whose source the note names."""

_SHIPPED = Path(__file__).with_name("scorability.json")
_REPORTED = Path(__file__).with_name("reported.json")
_UNRENDERED = re.compile(r"/TASK_\d+_")
_CALLED_BY_SCRIPTS = re.compile(r"/mui/index/render/|/route/v1/")
"""Addresses that pages call in the background; NAVIGATE tasks are scored by documents alone."""
_IDLE: dict[str, JsonValue] = {"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None}


class Note(Record):
    """A note on a task's score.

    Attributes:
        source: The report's place; None for a note from the evaluator alone.
        revision: The revision of the task that the report is about.
    """

    task_id: str
    kind: Kind
    reason: str
    source: str | None = None
    revision: int | None = None


class Scorability(Record):
    """All notes on one data set.

    Attributes:
        dataset: SHA-256 of its file.
        evaluator: The version of webarena-verified that scored.
    """

    schema_version: Literal[1] = 1
    dataset: str
    evaluator: str
    notes: tuple[Note, ...]

    def of(self, task_id: str) -> tuple[Note, ...]:
        """Return the notes on one task."""
        return tuple(each for each in self.notes if each.task_id == task_id)

    def count(self, task_ids: Iterable[str]) -> dict[Kind, list[str]]:
        """Return those of `task_ids` that have a note, by kind."""
        wanted = set(task_ids)
        found: dict[Kind, list[str]] = {}
        for note in self.notes:
            if note.task_id in wanted:
                found.setdefault(note.kind, []).append(note.task_id)
        return found


@cache
def installed_notes() -> Scorability:
    """Return the notes on the installed data set, derived, in some seconds, if none are shipped."""
    shipped = shipped_notes()
    return shipped if shipped.dataset == dataset_checksum() else derive_notes(load_tasks())


@cache
def shipped_notes() -> Scorability:
    """Return the notes that come with this package."""
    return Scorability.model_validate_json(_SHIPPED.read_text(encoding="utf-8"))


def dataset_checksum() -> str:
    """Return the SHA-256 of the installed data set."""
    return hashlib.sha256(dataset_path().read_bytes()).hexdigest()


def derive_notes(tasks: Iterable[Task]) -> Scorability:
    """Derive the notes from the installed evaluator's scores of each task's reference solution."""
    from importlib.metadata import version  # with the evaluator

    config, tasks = default_config(), list(tasks)
    reported = TypeAdapter(list[Note]).validate_json(_REPORTED.read_bytes())
    revisions = {task.task_id: task.config["revision"] for task in tasks}
    with tempfile.TemporaryDirectory(prefix="proctor-scorability-") as folder:
        notes = [
            note for task in tasks for note in _notes(task, config, Path(folder) / task.task_id)
        ]
    notes += [each for each in reported if revisions.get(each.task_id) == each.revision]
    return Scorability(
        dataset=dataset_checksum(), evaluator=version("webarena-verified"), notes=tuple(notes)
    )


def _notes(task: Task, config: EnvironmentConfig, folder: Path) -> list[Note]:
    probed = any("dummy_bin" in str(each["url"]) for each in _expected_requests(task))
    script: tuple[Kind, str] = "contact-probe", "needs the script that reports unsent contact forms"
    found = [
        _unreachable(task, config, folder),
        script if probed else None,
        _refused_form(task, config, folder),
        _free(task, config, folder),
        _cheap(task),
    ]
    return [
        Note(task_id=task.task_id, kind=kind, reason=reason) for kind, reason in filter(None, found)
    ]


def _unreachable(task: Task, config: EnvironmentConfig, folder: Path) -> tuple[Kind, str] | None:
    fault = _fault(write_trial(folder / "right", task, config), task)
    if fault is None:
        for expected in _expected_requests(task):
            urls = expected["url"] if isinstance(expected["url"], list) else [expected["url"]]
            is_get = expected.get("http_method", "GET") == "GET"
            if any(_UNRENDERED.search(url) for url in urls):
                return "no-browser", f"{urls[0]} is a placeholder that was never replaced"
            if is_get and expected.get("post_data"):
                return "no-browser", f"a GET of {urls[0]} with a body"
            scripted = all(_CALLED_BY_SCRIPTS.search(url) for url in urls)
            if is_get and scripted and task_type(task) == "NAVIGATE":
                return (
                    "no-browser",
                    f"{urls[0]} is called by a script; only documents are evaluated",
                )
        return None
    # some definitions expect the placeholder `__SITE__` itself in a posted text, which no browser sends
    literal = write_trial(
        folder / "literal", task, config, entries=traffic_for(task, config, rendered_bodies=False)
    )
    if _fault(literal, task) is None:
        return "no-browser", "the expected text has a site's placeholder instead of its URL"
    return "never", fault


def _fault(folder: Path, task: Task) -> str | None:
    """Return why the evaluator does not give 1.0, or None when it does."""
    from webarena_runner.evaluation import evaluate

    found = evaluate(task, folder)
    if found.score == 1.0:
        return None
    failed = next((each for each in found.checks if each.passed is not True), None)
    why = failed.reason if failed else found.problem
    return f"{failed.criterion if failed else 'evaluator'}: {why}"


def _refused_form(task: Task, config: EnvironmentConfig, folder: Path) -> tuple[Kind, str] | None:
    asked, own = answer_as_asked(task), answer_for(task)
    if (
        asked == own
        or _fault(write_trial(folder / "asked", task, config, answer=asked), task) is None
    ):
        return None
    data = [json.dumps(each["retrieved_data"]) for each in (asked, own)]
    return "asked-form", f"{data[0]}, as the task asks, is refused; {data[1]} is taken"


def _free(task: Task, config: EnvironmentConfig, folder: Path) -> tuple[Kind, str] | None:
    if task_type(task) != "NAVIGATE":
        return None
    pages = len(task.inputs["start_urls"])  # type: ignore[arg-type]  # a list, read as JSON
    opened = traffic_for(task, config)[:pages]
    idle = write_trial(folder / "idle", task, config, answer=_IDLE, entries=opened)
    return ("free", "the start page is the page asked for") if _fault(idle, task) is None else None


def _cheap(task: Task) -> tuple[Kind, str] | None:
    """Find tasks whose changes are not checked."""
    if task_type(task) != "MUTATE":
        return None
    requests = _expected_requests(task)
    if not requests:
        return "answer-only", "only the declared type and status are checked"
    if all(
        each.get("http_method", "GET") == "GET" and "post_data" not in each for each in requests
    ):
        return "visit-only", f"a visit to {requests[0]['url']} is enough"
    return None


def _expected_requests(task: Task) -> list[dict[str, Any]]:
    definitions: Any = task.config["eval"]
    return [
        each["expected"]
        for each in definitions
        if each["evaluator"] == "NetworkEventEvaluator" and not each.get("should_not_exist")
    ]
