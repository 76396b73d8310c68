"""Trials that pass their deadline, and those that do not end then; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from scheduled import TIMEOUTS, World, planned, scored, stubborn, succeed

from bench_core.budgets import RunBudget
from bench_core.errors import BudgetExceededError, EnvironmentFaultError
from bench_core.records import Limits, Resource, Status, Task, TrialResult, Usage
from bench_core.scheduling import Policy

if TYPE_CHECKING:
    from bench_core.protocols import TrialContext


def test_a_trial_past_its_hard_deadline_is_an_environment_error(world: World) -> None:
    async def hang(task: Task, context: TrialContext) -> TrialResult:
        await asyncio.sleep(10_000)
        return scored(task)

    trials = [planned(limits=Limits(time_limit_s=60))]
    result = world.run(hang, trials=trials, policy=Policy(attempts=1, timeouts=TIMEOUTS)).last()
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.error is not None
    assert result.error.kind == "hard_deadline"
    assert world.clock.elapsed_s == 80


def test_a_trial_may_evaluate_after_its_time_limit(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        await asyncio.sleep((context.limits.time_limit_s or 0) + 15)
        return scored(task, 0.5, status=Status.TIME_LIMIT)

    result = world.run(trial, trials=[planned(limits=Limits(time_limit_s=60))]).last()
    assert (result.status, result.score) == (Status.TIME_LIMIT, 0.5)


def test_a_score_that_comes_after_the_deadline_does_not_count(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(10_000)
        return scored(task, 0.0, status=Status.AGENT_ERROR)

    trials = [planned(limits=Limits(time_limit_s=60))]
    result = world.run(trial, trials=trials, policy=Policy(attempts=1, timeouts=TIMEOUTS)).last()
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_a_trial_that_ignores_cancellation_is_abandoned_and_keeps_its_resources(
    world: World,
) -> None:
    site = (Resource(name="gitlab"),)
    started: dict[str, float] = {}

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        started[task.task_id] = world.clock.elapsed_s
        return await (stubborn if task.task_id == "0" else succeed)(task, context)

    trials = [
        planned("0", resources=site, limits=Limits(time_limit_s=60)),
        planned("1", resources=site),
        planned("2"),
    ]
    sink = world.run(
        trial,
        trials=trials,
        policy=Policy(attempts=3, timeouts=TIMEOUTS, abandoned_patience_s=1000),
    )
    assert sink.last("0").status is Status.ENVIRONMENT_ERROR
    assert "abandoned" in sink.last("0").error.message  # type: ignore[union-attr]
    assert len(sink.last("0").attempts) == 1
    assert started["2"] == 90  # 60 s limit, 20 s to evaluate, 10 s to clean up
    assert started["1"] == pytest.approx(300, abs=1)
    assert [k for k in sink.kinds() if k in {"abandoned", "freed"}] == ["abandoned", "freed"]


def test_a_session_in_which_only_abandoned_trials_hold_the_rest_up_is_aborted(world: World) -> None:
    site = (Resource(name="gitlab"),)
    trials = [
        planned("0", resources=site, limits=Limits(time_limit_s=60)),
        planned("1", resources=site),
    ]
    policy = Policy(timeouts=TIMEOUTS, abandoned_patience_s=30)
    sink = world.run(stubborn, trials=trials, policy=policy)
    assert world.outcome == "aborted"
    assert {line.task_id for line in sink.lines} == {"0"}


def test_a_fault_that_left_its_site_in_use_keeps_no_session_from_its_end(world: World) -> None:
    site = (Resource(name="gitlab"),)

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "down":
            raise EnvironmentFaultError("no route")
        return await stubborn(task, context)

    trials = [
        planned("down", resources=(Resource(name="shop"),)),
        planned("0", resources=site, limits=Limits(time_limit_s=60)),
        planned("1", resources=site),
    ]
    policy = Policy(attempts=1, timeouts=TIMEOUTS, abandoned_patience_s=30)
    sink = world.run(trial, trials=trials, policy=policy)
    assert world.outcome == "aborted"
    assert {line.task_id for line in sink.lines} == {"down", "0"}


def test_the_next_model_call_of_an_abandoned_trial_stops_it(world: World) -> None:
    async def deaf(task: Task, context: TrialContext) -> TrialResult:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(50)
            context.meter.spend(Usage(requests=1), 0.1)

    budget = RunBudget()
    trials = [planned("0", limits=Limits(time_limit_s=60)), planned("1")]
    trial = {"0": deaf, "1": stubborn}
    sink = world.run(
        lambda task, context: trial[task.task_id](task, context),
        trials=trials,
        policy=Policy(timeouts=TIMEOUTS),
        budget=budget,
    )
    assert "freed" in sink.kinds()
    assert world.clock.elapsed_s >= 390
    assert budget.spent.usage.requests == 3  # one in time, one after the deadline, the last


def test_what_an_abandoned_trial_does_after_the_session_is_no_event_of_it(world: World) -> None:
    async def spend_late() -> None:
        await world.at(200)
        with contextlib.suppress(BudgetExceededError):
            world.contexts[0].meter.spend(Usage(requests=1), 0.1)

    trials = [planned(limits=Limits(time_limit_s=60))]
    policy = Policy(attempts=1, timeouts=TIMEOUTS)
    sink = world.run(stubborn, trials=trials, policy=policy, meanwhile=spend_late)
    assert "spend" not in sink.kinds()
