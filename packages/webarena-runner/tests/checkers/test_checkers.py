"""What the official evaluator accepts, on a few tasks of each kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.checkers import AuditedTask, audit_checkers, find_mutant
from bench_core.protocols import TrialContext
from bench_core.records import AgentEnding, Status
from bench_core.trial import Evidence
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.checkers.acts import destroys, unneeded_destruction
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


def entry(url: str, status: int = 302) -> dict[str, object]:
    return {"request": {"method": "POST", "url": url}, "response": {"status": status}}


def test_only_a_deletion_that_a_site_of_the_task_carried_out_is_marked(
    tasks: dict[str, Task],
) -> None:
    url = "http://reddit.localhost:9999/f/books/1/-/delete"
    assert list(unneeded_destruction(tasks["600"], [entry(url)], CONFIG)) == [f"POST {url}"]
    assert not list(unneeded_destruction(tasks["600"], [entry(url, 403)], CONFIG))
    elsewhere = "http://gitlab.localhost:8023/byteblaze/-/delete"
    assert not list(unneeded_destruction(tasks["600"], [entry(elsewhere), {"request": 1}], CONFIG))


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
    assert "unneeded-deletion" not in found["reference"].flags
    assert "unneeded-deletion" in found["also-deleted"].flags
    assert len(found["also-deleted"].details["unneeded_acts"]) == 1


def test_no_reference_solution_deletes_what_it_need_not(tasks: dict[str, Task]) -> None:
    from webarena_runner.reference_solutions.traffic import traffic_for

    marked = [
        task.task_id for task in tasks.values()
        if list(unneeded_destruction(task, traffic_for(task, CONFIG), CONFIG))
    ]  # fmt: skip
    assert marked == []
