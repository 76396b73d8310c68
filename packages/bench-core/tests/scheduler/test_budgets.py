"""What is spent is counted, and nothing starts once a budget is gone; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from scheduled import TIMEOUTS, World, planned, scored, spending

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import BudgetExceededError, EnvironmentFaultError
from bench_core.records import Status, Task, TrialResult, Usage
from bench_core.scheduling import Policy

if TYPE_CHECKING:
    from bench_core.protocols import TrialContext


def test_nothing_starts_once_the_dollars_are_spent(world: World) -> None:
    budget = RunBudget(Budget(max_cost_usd=5))
    trials = [planned(str(n)) for n in range(4)]
    sink = world.run(spending(2), trials=trials, budget=budget)
    assert world.outcome == "budget_exceeded"
    assert [(line.task_id, line.status) for line in sink.lines] == [
        ("0", Status.COMPLETED),
        ("1", Status.COMPLETED),
        ("2", Status.BUDGET_EXCEEDED),
    ]
    assert budget.spent.cost_usd == 5
    (event,) = [each for each in sink.events if each.kind == "budget_exceeded"]
    assert event.data["reason"] == "$5.0000 of $5 are spent"
    assert world.told.notes == ["Budget: $5.0000 of $5 are spent; nothing new starts."]


def test_nothing_is_tried_again_once_the_budget_is_spent(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            await asyncio.sleep(5)
            raise EnvironmentFaultError("down")
        return await spending(1)(task, context)

    sink = world.run(
        trial,
        trials=[*map(planned, "012")],
        policy=Policy(workers=2),
        budget=RunBudget(Budget(max_cost_usd=1)),
    )
    assert "retry" not in sink.kinds()


def test_trials_in_flight_stop_at_their_next_call_when_the_budget_is_gone(world: World) -> None:
    budget = RunBudget(Budget(max_tokens=350))
    sink = world.run(
        spending(10), trials=[planned("0"), planned("1")], policy=Policy(workers=2), budget=budget
    )
    assert {line.status for line in sink.lines} == {Status.BUDGET_EXCEEDED}
    assert (
        budget.spent.usage.requests == 5
    )  # the fourth call reached it, the other trial made one more


def test_an_agent_that_swallows_the_end_of_the_budget_is_not_scored(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        with contextlib.suppress(BudgetExceededError):
            context.meter.spend(Usage(requests=1), 2.0)
        return scored(task, 0.0, status=Status.AGENT_ERROR)

    result = world.run(trial, budget=RunBudget(Budget(max_cost_usd=1))).last()
    assert (result.status, result.score) == (Status.BUDGET_EXCEEDED, None)


def test_an_agent_that_goes_on_without_budget_is_stopped(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        for _ in range(1000):
            await asyncio.sleep(1)
            with contextlib.suppress(BudgetExceededError):
                context.meter.spend(Usage(requests=1), 2.0)
        return scored(task)

    budget = RunBudget(Budget(max_cost_usd=1))
    result = world.run(trial, budget=budget, policy=Policy(timeouts=TIMEOUTS)).last()
    assert result.status is Status.BUDGET_EXCEEDED
    assert world.clock.elapsed_s == pytest.approx(11, abs=0.01)


def test_a_run_stops_when_its_minutes_are_over(world: World) -> None:
    async def long(task: Task, context: TrialContext) -> TrialResult:
        await asyncio.sleep(100)
        return scored(task)

    budget = RunBudget(Budget(max_minutes=2), seconds=world.clock.monotonic)
    sink = world.run(long, trials=[planned("0"), planned("1")], budget=budget)
    assert [line.status for line in sink.lines] == [Status.COMPLETED, Status.BUDGET_EXCEEDED]
    assert world.clock.elapsed_s == 120
    assert world.told.notes == ["Budget: 2.0 of 2 minutes are over; nothing new starts."]


def test_a_trial_without_score_reports_what_its_meter_counted(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        context.meter.spend(Usage(requests=1, input_tokens=100), 0.5)
        raise EnvironmentFaultError("down")

    result = world.run(trial, policy=Policy(attempts=1)).last()
    assert (result.usage.input_tokens, result.cost_usd) == (100, 0.5)


def test_every_model_call_is_an_event(world: World) -> None:
    sink = world.run(spending(2))
    spends = [event.data for event in sink.events if event.kind == "spend"]
    call = {"source": "agent", "usage": {"requests": 1, "input_tokens": 100}, "cost_usd": 1.0}
    assert spends == [call] * 2
