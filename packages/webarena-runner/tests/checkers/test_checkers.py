"""What the official evaluator accepts, on a few tasks of each kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.checkers import AuditedTask, audit_checkers, find_mutant
from bench_core.protocols import TrialContext
from bench_core.records import AgentEnding, Status
from bench_core.seeded import seeded
from bench_core.trial import Evidence
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.checkers.acts import destroys, unneeded_acts
from webarena_runner.checkers.audit import OfficialChecker
from webarena_runner.cli import main
from webarena_runner.config import default_config
from webarena_runner.reference_solutions.trials import write_trial
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task

CONFIG = default_config()


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return {task.task_id: task for task in load_tasks()}


@pytest.fixture(scope="module")
def audited(tasks: dict[str, Task]) -> dict[str, AuditedTask]:
    ids = ("0", "217", "44", "356", "595", "600", "653", "491", "319")
    audit = audit_checkers(OfficialChecker(), [tasks[each] for each in ids])
    return {each.task_id: each for each in audit.tasks}


def accepted(task: AuditedTask) -> set[str]:
    return {each.mutant.operator for each in task.wrong_accepted}


def test_known_weaknesses_are_found(audited: dict[str, AuditedTask]) -> None:
    assert "nothing-done" in accepted(audited["356"])  # the start page counts as the route
    assert "only-visited" in accepted(audited["653"])  # a form to be filled in, only opened
    assert "reference" in {each.mutant.operator for each in audited["319"].right_refused}
    assert {"done-twice", "also-deleted"} <= accepted(audited["600"])


_FOUND_AS = {
    "never": {"reference"},
    "no-browser": {"reference", "as-browsers-send", "only-visited"},
    "contact-probe": {"as-browsers-send"},
    "asked-form": {"reference"},
    "free": {"nothing-done"},
    "visit-only": {"only-visited"},
    "answer-only": {"only-answered"},
    "reported": {"no-end-slash", "default-left-out", "other-form"},
}
"""The operators by which what `scorability` knows of a task is found without it."""


@pytest.mark.parametrize("kind", _FOUND_AS)
def test_all_that_is_known_of_tasks_is_found_unaided(kind: str, tasks: dict[str, Task]) -> None:
    """A right end state refused or not decided, a wrong or doubtful one accepted."""
    from webarena_runner.reference_solutions.scorability import shipped_notes

    known, checker = shipped_notes().count(tasks)[kind], OfficialChecker()  # type: ignore[index]
    made = [(tasks[each], m) for each in known for m in checker.mutants(tasks[each], seeded(0))]
    found = {
        task.task_id for task, mutant in made
        if mutant.operator in _FOUND_AS[kind]
        and checker.judge(task, mutant)[0] is not (mutant.verdict == "right")
    }  # fmt: skip
    assert found == set(known)


def test_near_misses_and_missing_fields_are_refused(audited: dict[str, AuditedTask]) -> None:
    made = {
        each.mutant.operator: each
        for task in ("0", "217", "600")
        for each in audited[task].outcomes
    }
    for operator in (
        "wrong-item",
        "cut-short",
        "subset",
        "superset",
        "answer-field-missing",
        "field-missing",
    ):
        assert made[operator].mutant.verdict == "wrong"
        assert made[operator].accepted is False
    for operator in ("whitespace", "field-order", "form-order", "multipart", "other-client"):
        assert made[operator].mutant.verdict == "right"
        assert made[operator].accepted is True


def test_an_error_that_may_be_guessed_is_not_counted(audited: dict[str, AuditedTask]) -> None:
    verdicts = {each.mutant.operator: each.mutant.verdict for each in audited["491"].outcomes}
    assert verdicts["only-answered"] == "unknown"
    assert verdicts["claimed-success"] == "wrong"


@pytest.mark.parametrize(
    ("task", "mutant", "sure"),
    [
        ("507", "field-wrong-1", "only-claimed-1"),  # the address still names the right product
        ("507", "part-left-out-1", "part-left-out-2"),  # it may have been in the cart
        ("565", "failed-act-1", "failed-act-2"),  # a commit to what was not made succeeds
        ("530", "extra-reads-2", "extra-reads-1"),  # a form that is to stay open
    ],
)
def test_what_cannot_be_told_is_not_counted(
    tasks: dict[str, Task], task: str, mutant: str, sure: str
) -> None:
    verdicts = {
        each: find_mutant(OfficialChecker(), tasks[task], each).verdict for each in (mutant, sure)
    }
    assert verdicts[mutant] == "unknown"
    assert verdicts[sure] != "unknown"


def test_one_end_state_is_made_again_by_one_command() -> None:
    asked = ["tasks", "--checkers", "--task", "356", "--mutant", "nothing-done-1", "--json"]
    shown = json.loads(CliRunner().invoke(main, asked).output)
    assert shown["accepted"] is True
    assert shown["mutant"]["evidence"]["after the start page"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/f/books/1/-/delete", "", True),
        ("DELETE", "/api/v4/projects/1", "", True),
        ("POST", "/a/b", "_method=delete", True),
        ("POST", "/a/b", "_method=put", False),
        ("GET", "/f/books/1/-/delete", "", False),
        ("POST", "/submit", "title=delete", False),
        ("POST", "/deleted-scenes/comment", "", False),
    ],
)
def test_what_deletes(method: str, path: str, body: str, expected: bool) -> None:
    assert destroys(method, f"http://reddit.localhost:9999{path}", body) is expected


REDDIT, GITLAB = "http://reddit.localhost:9999", "http://gitlab.localhost:8023"


def entry(url: str, status: int = 302, form: str = "") -> dict[str, object]:
    body = {"mimeType": "application/x-www-form-urlencoded", "text": form}
    request = {"method": "POST", "url": url, "postData": body}
    return {"request": request, "response": {"status": status}}


def test_only_a_deletion_that_a_site_of_the_task_carried_out_is_marked(
    tasks: dict[str, Task],
) -> None:
    url = f"{REDDIT}/f/books/1/-/delete"
    assert unneeded_acts(tasks["600"], [entry(url)], CONFIG).found == [f"deleted: POST {url}"]
    assert unneeded_acts(tasks["600"], [entry(url, 403)], CONFIG).found == []
    elsewhere = f"{GITLAB}/byteblaze/-/delete"
    assert unneeded_acts(tasks["600"], [entry(elsewhere), {"request": 1}], CONFIG).found == []
    asked = next(each for each in tasks.values() if each.goal.startswith("Delete all reviews"))
    assert "also-deleted" not in unneeded_acts(asked, [], CONFIG).watched


@pytest.mark.parametrize(
    ("task", "sent", "found"),
    [
        ("600", [("/submit/consoles", "title=A&form_key=1"), ("/submit/consoles", "title=A&form_key=2")],
         ["sent 2 times: POST {reddit}/submit/consoles"]),
        ("600", [("/submit/consoles", "title="), ("/submit/consoles", "title=A")], []),  # the first was refused
        ("600", [("/submit/consoles", "title=A"), ("/f/x/1/-/comment", "text=hm")], []),  # it may be a way to ask
        ("600", [("/sv/7.json", "choice=1")], ["a vote: POST {reddit}/sv/7.json"]),
        ("720", [("/sv/7.json", "choice=1")], []),  # asks for votes
        ("720", [("/sv/7.json", "choice=1"), ("/sv/7.json", "choice=0")], ["taken back: POST {reddit}/sv/7.json"]),
        ("720", [("/sv/7.json", "choice=0"), ("/sv/7.json", "choice=1")], []),
        ("27", [("/f/x/1/-/comment", "text=hm")], ["a comment: POST {reddit}/f/x/1/-/comment"]),  # only a question
    ],
)  # fmt: skip
def test_acts_that_no_right_solution_needs(
    task: str, sent: list[tuple[str, str]], found: list[str], tasks: dict[str, Task]
) -> None:
    entries = [entry(f"{REDDIT}{path}", form=form) for path, form in sent]
    expected = [each.format(reddit=REDDIT) for each in found]
    assert unneeded_acts(tasks[task], entries, CONFIG).found == expected


def test_a_star_set_twice_is_none(tasks: dict[str, Task]) -> None:
    star = entry(f"{GITLAB}/a/b/toggle_star.json", 200, "x=1")
    goal = next(each for each in tasks.values() if "Star the top" in each.goal)
    assert unneeded_acts(goal, [star], CONFIG).found == []
    assert unneeded_acts(goal, [star, star], CONFIG).found == [
        f"taken back: POST {GITLAB}/a/b/toggle_star.json"
    ]


@pytest.mark.parametrize("task_id", ["44", "399", "404", "512", "600"])
async def test_a_right_act_and_a_deletion_is_marked_with_its_score_unchanged(
    task_id: str, tasks: dict[str, Task], tmp_path: Path
) -> None:
    task, checker = tasks[task_id], OfficialChecker()
    states = {
        name: find_mutant(checker, task, f"{name}-1").material
        for name in ("reference", "also-deleted")
    }
    found = {}
    for name, state in states.items():
        folder = write_trial(
            tmp_path / name, task, CONFIG, answer=state.answer, entries=state.entries
        )
        ending = AgentEnding(status=Status.COMPLETED)
        context = TrialContext(run_id="test", folder=folder, agent="scripted")
        evidence = Evidence(task=task, folder=folder, ending=ending, details={}, context=context)
        found[name] = await WebArenaBenchmark().evaluate(evidence)
    assert (found["reference"].score, found["also-deleted"].score) == (1.0, 1.0)
    assert "unneeded-act" not in found["reference"].flags
    assert found["reference"].details["unneeded_acts"] == []
    assert "also-deleted" in found["reference"].details["watched_for"]
    assert "unneeded-act" in found["also-deleted"].flags
    assert len(found["also-deleted"].details["unneeded_acts"]) == 1


def test_no_reference_solution_has_an_unneeded_act(tasks: dict[str, Task]) -> None:
    from webarena_runner.reference_solutions.traffic import traffic_for

    marked = [
        task.task_id for task in tasks.values()
        if unneeded_acts(task, traffic_for(task, CONFIG), CONFIG).found
    ]  # fmt: skip
    assert marked == []


def test_the_findings_that_are_installed_are_those_of_an_audit(
    tasks: dict[str, Task], audited: dict[str, AuditedTask]
) -> None:
    for name, found in audited.items():
        accepted_now = tuple(sorted({each.mutant.operator for each in found.wrong_accepted}))
        assert tasks[name].accepts == (accepted_now if found.decided("wrong") else None)


def test_strict_takes_the_tasks_whose_checker_refused_all() -> None:
    asked = ["tasks", "--checker", "strict", "--task", "10,356,600", "--json"]
    shown = json.loads(CliRunner().invoke(main, asked).output)
    assert [each["task_id"] for each in shown] == ["10"]
