"""What the scheduler makes of a trial's result or error; in virtual time."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from scheduled import World, failing, planned, scored, succeed
from virtual_time import EPOCH

from bench_core.errors import (
    AgentError,
    BrowserError,
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
)
from bench_core.records import Attempt, Limits, Resource, Status, Task, TrialKey, TrialResult
from bench_core.run_spec import PlannedTrial, RunSpec, plan_trials
from bench_core.scheduling import Policy

if TYPE_CHECKING:
    from bench_core.protocols import TrialContext


def test_a_result_gets_its_attempt_start_and_duration(world: World) -> None:
    result = world.run(succeed).last()
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)
    (attempt,) = result.attempts
    assert attempt.token
    assert attempt.model_copy(update={"token": None}) == Attempt(
        status=Status.COMPLETED, started=EPOCH, duration_s=5.0
    )
    assert (result.started, result.timings_s) == (EPOCH, {"total": 5.0})
    assert world.outcome == "finished"


def test_the_context_tells_the_trial_who_it_is(world: World) -> None:
    limits = Limits(max_steps=7)
    world.run(succeed, trials=[planned(limits=limits, seed=42)])
    context = world.contexts[0]
    assert (context.trial, context.attempt, context.seed, context.limits) == (1, 1, 42, limits)
    assert (context.agent, context.model) == ("a", "p:m")
    assert context.folder.is_dir()


def test_as_many_trials_run_at_once_as_there_are_workers(world: World) -> None:
    trials = [planned(str(n)) for n in range(7)]
    world.run(succeed, trials=trials, policy=Policy(workers=3))
    assert world.clock.elapsed_s == 15
    assert len(world.sink.lines) == 7


@pytest.mark.slow
def test_a_trial_is_made_when_it_starts(world: World) -> None:
    made: list[int] = []

    def count() -> int:
        gc.collect()
        return sum(isinstance(each, PlannedTrial) for each in gc.get_objects())

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if context.trial in {1, 50, 100}:
            made.append(count() - before)
        return scored(task, trial=context.trial)

    before = count()
    tasks = [Task(benchmark="toy", task_id=str(n), goal="") for n in range(2)]
    keys = [TrialKey(task_id=task.task_id, trial=n) for n in range(1, 101) for task in tasks]
    trials = plan_trials(tasks, keys, RunSpec(agent="a"))
    world.run(trial, trials=trials, policy=Policy(workers=2))
    assert len(made) == 6
    assert max(made) <= 6  # those that run, and those that have just ended


@pytest.mark.parametrize(
    "field", ["benchmark", "task_id", "agent", "model", "world"], ids=lambda each: each
)
def test_a_result_of_something_else_is_refused(world: World, field: str) -> None:
    async def stray(task: Task, _: TrialContext) -> TrialResult:
        wrong = "built-in" if field == "world" else "another"
        return scored(task).model_copy(update={field: wrong})

    result = world.run(stray).last()
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "harness_error" in result.flags
    assert result.error is not None
    assert field in result.error.message
    assert getattr(result, field) not in {"another", "built-in"}


def test_trials_that_need_a_resource_alone_run_one_after_the_other(world: World) -> None:
    vm = (Resource(name="vm"),)
    trials = [planned(str(n), resources=vm) for n in range(3)]
    world.run(succeed, trials=trials, policy=Policy(workers=3))
    assert world.clock.elapsed_s == 15


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EnvironmentFaultError("site down"), Status.ENVIRONMENT_ERROR),
        (BrowserError("chromium died"), Status.ENVIRONMENT_ERROR),
        (EvaluationError("no HAR"), Status.EVALUATION_ERROR),
        (BudgetExceededError("spent"), Status.BUDGET_EXCEEDED),
    ],
)
def test_errors_become_the_status_they_stand_for(
    world: World, error: Exception, status: Status
) -> None:
    result = world.run(failing(error), policy=Policy(attempts=1)).last()
    assert (result.status, result.score, result.flags) == (status, None, ())
    assert result.error is not None
    assert (result.error.kind, result.error.message) == (type(error).__name__, str(error))


@pytest.mark.parametrize(
    "error",
    [KeyError("sites"), AgentError("escaped"), SystemExit(3), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
def test_any_other_error_is_the_harness_s_own_and_not_tried_again(
    world: World, error: BaseException
) -> None:
    result = world.run(failing(error), policy=Policy(attempts=3)).last()
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.flags == ("harness_error",)
    assert len(result.attempts) == 1


def test_a_harness_error_keeps_its_traceback(world: World) -> None:
    result = world.run(failing(KeyError("sites"))).last()
    assert result.error is not None
    assert result.error.message == "KeyError: 'sites'"
    assert "raise left.pop(0)" in str(result.error.traceback)


@pytest.mark.parametrize("returned", [None, "wrong task"])
def test_what_is_no_result_of_this_trial_is_a_harness_error(world: World, returned: object) -> None:
    async def trial(task: Task, context: TrialContext) -> Any:
        return scored(Task(benchmark="toy", task_id="other", goal="")) if returned else None

    sink = world.run(trial)
    assert sink.last("0").flags == ("harness_error",)
    assert "run_trial returned" in sink.last("0").error.message  # type: ignore[union-attr]
