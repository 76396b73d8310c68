from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Status, Usage
from bench_core.trial import TrialEnvironment, rescore_trial, run_trial
from webarena_runner.answers import AgentAnswer
from webarena_runner.evaluation import Evaluation
from webarena_runner.results import as_evaluation
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle
    from bench_core.records import AgentTask, Task, TrialResult
    from bench_core.trial import Evaluation as TrialEvaluation
    from bench_core.trial import Evidence


@pytest.fixture(scope="module")
def task() -> Task:
    return load_tasks()[399]


@pytest.fixture
def context(tmp_path: Path) -> TrialContext:
    (tmp_path / "screenshots").mkdir()
    (tmp_path / "screenshots" / "001.png").write_bytes(b"png")
    (tmp_path / "network.har").write_text("{}")
    return TrialContext(run_id="r", folder=tmp_path, agent="mine", model="p:m", world="built-in")


def evaluation(score: float | None, **more: Any) -> Evaluation:
    names = {1.0: "success", 0.0: "failure", None: "error"}
    fields: dict[str, Any] = {
        "score": score,
        "official_status": names[score],
        "official_score": score or 0.0,
        "answer": AgentAnswer(value={}),
        "checks": [{"criterion": "answer", "passed": score == 1.0}],
        "method": "webarena-verified 1.2.3",
        "official": {},
    }
    return Evaluation.model_validate({**fields, **more})


class Recorded:
    """WebArena's verdicts over an evaluation that is given."""

    name = "webarena"

    def __init__(self, found: Evaluation | None) -> None:
        self._found = found

    def tasks(self) -> list[Task]:
        raise AssertionError

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> TrialEvaluation:
        assert self._found is not None
        status, steps = evidence.ending.status, evidence.steps
        return as_evaluation(self._found, evidence.task.task_id, status, steps)


class Reporting:
    """Reports what it is given, or raises it."""

    name = "mine"

    def __init__(self, reports: AgentOutcome | Exception) -> None:
        self._reports = reports

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        if isinstance(self._reports, Exception):
            raise self._reports
        return self._reports


def result_of(
    task: Task,
    context: TrialContext,
    outcome: AgentOutcome | Exception,
    found: Evaluation | None,
) -> TrialResult:
    return asyncio.run(run_trial(Recorded(found), task, context, Reporting(outcome)))


def rescored(
    task: Task, context: TrialContext, result: TrialResult, found: Evaluation
) -> TrialResult:
    return asyncio.run(rescore_trial(Recorded(found), task, result, context.folder))


def test_success_is_told_with_who_did_it_and_what_was_left(
    task: Task, context: TrialContext
) -> None:
    outcome = AgentOutcome(steps=3, usage=Usage(requests=3, input_tokens=10), cost_usd=0.5)
    result = result_of(task, context, outcome, evaluation(1.0))
    assert (result.status, result.score, result.success) == (Status.COMPLETED, 1.0, True)
    assert (result.agent, result.model, result.world) == ("mine", "p:m", "built-in")
    assert (result.steps, result.usage.input_tokens, result.cost_usd) == (3, 10, 0.5)
    assert set(result.artifact_paths) >= {"network.har", "screenshots/001.png"}
    assert result.failure_mode is None


def test_malformed_answer_is_an_agent_error_with_score_zero(
    task: Task, context: TrialContext
) -> None:
    found = evaluation(0.0, malformed=True, problem="task_type is null")
    result = result_of(task, context, AgentOutcome(), found)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error.message == "task_type is null"


@pytest.mark.parametrize("status", [Status.STEP_LIMIT, Status.TIME_LIMIT, Status.AGENT_ERROR])
def test_agent_that_stopped_without_an_answer_keeps_its_status(
    task: Task, context: TrialContext, status: Status
) -> None:
    found = evaluation(0.0, malformed=True, answer=AgentAnswer(problem="there is no answer"))
    result = result_of(task, context, AgentOutcome(status=status), found)
    assert (result.status, result.score, result.failure_mode) == (status, 0.0, status.value)


def test_official_error_gives_no_score_and_keeps_the_official_one(
    task: Task, context: TrialContext
) -> None:
    found = evaluation(None, problem="no entries")
    result = result_of(task, context, AgentOutcome(), found)
    assert (result.status, result.score) == (Status.EVALUATION_ERROR, None)
    assert result.details["official"]["score"] == 0.0
    assert result.error.message == "no entries"


def test_flags_of_agent_and_evaluation_are_both_kept(task: Task, context: TrialContext) -> None:
    found = evaluation(1.0, flags=["regex-answer"])
    result = result_of(task, context, AgentOutcome(flags=("odd",)), found)
    assert result.flags == ("agent-odd", "regex-answer")


@pytest.mark.parametrize("found", [evaluation(1.0), evaluation(0.0), evaluation(None)])
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.STEP_LIMIT])
def test_rescoring_with_the_same_evaluation_changes_nothing(
    task: Task, context: TrialContext, found: Evaluation, status: Status
) -> None:
    outcome = AgentOutcome(status=status, flags=("odd",), details={"a": 1})
    result = result_of(task, context, outcome, found)
    assert rescored(task, context, result, found) == result


def test_rescoring_an_undecided_trial_brings_its_status_back(
    task: Task, context: TrialContext
) -> None:
    undecided = result_of(task, context, AgentOutcome(status=Status.STEP_LIMIT), evaluation(None))
    again = rescored(task, context, undecided, evaluation(1.0))
    assert (again.status, again.score, again.error) == (Status.STEP_LIMIT, 1.0, None)


def test_rescoring_keeps_the_agents_own_error(task: Task, context: TrialContext) -> None:
    result = result_of(task, context, KeyError("x"), evaluation(0.0))
    again = rescored(task, context, result, evaluation(0.0))
    assert again.error == result.error
    assert again.error.kind == "KeyError"
