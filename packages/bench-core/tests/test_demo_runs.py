from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import click
import pytest
from click.testing import CliRunner

from bench_core.cli import common_command
from bench_core.records import AgentOutcome, Task
from bench_core.run_spec import RunSpec
from bench_core.runs import DemoRun, RunEnvironment, run_benchmark_sync
from bench_core.scheduling.machine_locks import NoLocks
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

SCORES = {"1": 1.0, "2": 0.0, "3": None}


class Scores:
    """A benchmark whose tasks are known by their scores."""

    name = "scores"

    def tasks(self) -> list[Task]:
        return [Task(benchmark=self.name, task_id=each, goal="g") for each in SCORES]

    @asynccontextmanager
    async def open(self, *_: object) -> AsyncIterator[TrialEnvironment]:
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(SCORES[evidence.task.task_id])


class Idle:
    """An agent that is done at once."""

    name = "idle"

    async def run(self, *_: object) -> AgentOutcome:
        return AgentOutcome(steps=1)


def made(**changes: Any) -> DemoRun:
    fields = {
        "agent": "scripted", "folder": "runs/demo/scripted", "outcome": "finished", "tasks": 3,
        "succeeded": 3, "failed": 0, "not_scored": 0, "seconds": 1.5,
    }  # fmt: skip
    return DemoRun.model_validate({**fields, **changes})


def shown(*runs: DemoRun, as_json: bool = False) -> tuple[int, str]:
    main = click.Group()

    @common_command(main)
    def demo(**_: Any) -> Any:
        return lambda _: runs

    result = CliRunner().invoke(main, [demo.__name__, *(["--json"] if as_json else [])])
    return result.exit_code, result.stdout


def test_trials_that_score_otherwise_than_they_must_are_told(tmp_path: Path) -> None:
    outcome = run_benchmark_sync(
        Scores(),
        RunSpec(agent="scripted"),
        tmp_path / "run",
        run_environment=RunEnvironment(locks=NoLocks(), agent_for=lambda *_: Idle()),
    )
    run = DemoRun.of("scripted", outcome, expected=1.0)
    assert (run.tasks, run.succeeded, run.failed, run.not_scored) == (3, 1, 1, 1)
    assert sorted(run.unexpected) == [
        "task 2: completed, score 0.0",
        "task 3: evaluation_error, score None",
    ]
    assert not run.as_expected


def test_all_as_expected_is_said_and_exits_with_zero() -> None:
    code, text = shown(made(), made(agent="do-nothing", succeeded=0, failed=3))
    assert code == 0
    assert text.splitlines()[1].split() == [
        "agent", "tasks", "score", "1", "score", "0", "no", "score", "seconds", "run", "folder",
    ]  # fmt: skip
    assert text.endswith("\nEverything is as expected.\n")


def test_what_is_unexpected_is_listed_by_run_and_exits_with_one() -> None:
    code, text = shown(made(unexpected=("task 7: completed, score 0.0",)))
    assert code == 1
    assert "scripted: task 7: completed, score 0.0" in text
    assert "as expected" not in text


@pytest.mark.parametrize(("outcome", "code"), [("interrupted", 130), ("aborted", 1)])
def test_a_demo_that_was_stopped_says_so_by_its_exit_code(outcome: str, code: int) -> None:
    assert made(outcome=outcome).stopped
    assert shown(made(outcome=outcome))[0] == code


def test_json_holds_the_records() -> None:
    code, text = shown(made(), as_json=True)
    assert (code, json.loads(text)) == (0, [made().model_dump(mode="json")])


def test_a_runner_may_show_columns_of_its_own() -> None:
    class Counted(DemoRun):
        columns: ClassVar[Mapping[str, str]] = {"folder": "where", "tasks": "how many"}

    _, text = shown(Counted(**made().model_dump()))
    assert text.split()[:3] == ["where", "how", "many"]
