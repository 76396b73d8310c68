"""Which trials are tried again, and when; in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from scheduled import MemorySink, World, failing, planned, scored, succeed
from virtual_time import EPOCH

from bench_core.errors import BudgetExceededError, EnvironmentFaultError, EvaluationError
from bench_core.records import Attempt, Status, Task, TrialResult
from bench_core.scheduling import Backoff, Policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.protocols import TrialContext


def test_a_fault_after_the_paid_work_is_not_tried_again(world: World) -> None:
    async def flagged(task: Task, context: TrialContext) -> TrialResult:
        return TrialResult(
            benchmark=task.benchmark,
            task_id=task.task_id,
            trial=context.trial,
            agent=context.agent,
            model=context.model,
            status=Status.ENVIRONMENT_ERROR,
            flags=("not_retried",),
        )

    result = world.run(flagged, policy=Policy(attempts=3)).last()
    assert len(result.attempts) == 1


def test_an_environment_error_is_tried_again_and_every_try_is_kept(world: World) -> None:
    sink = world.run(failing(EnvironmentFaultError("502")), policy=Policy(attempts=2))
    assert [line.status for line in sink.lines] == [Status.ENVIRONMENT_ERROR, Status.COMPLETED]
    attempts = sink.last().attempts
    assert [(a.number, a.status) for a in attempts] == [
        (1, Status.ENVIRONMENT_ERROR),
        (2, Status.COMPLETED),
    ]
    assert len({context.folder for context in world.contexts}) == 2
    assert {context.seed for context in world.contexts} == {0}
    assert sink.kinds() == [
        "attempt_started", "attempt_finished", "retry", "attempt_started", "attempt_finished",
    ]  # fmt: skip


def test_a_returned_environment_error_is_tried_again_too(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if context.attempt == 1:
            return scored(task, status=Status.ENVIRONMENT_ERROR, score=None)
        return scored(task)

    assert world.run(trial).last().status is Status.COMPLETED


def test_tries_end_at_the_cap(world: World) -> None:
    errors = [EnvironmentFaultError(str(n)) for n in range(9)]
    sink = world.run(failing(*errors), policy=Policy(attempts=3))
    assert len(sink.last().attempts) == 3
    assert sink.last().status is Status.ENVIRONMENT_ERROR
    assert world.told.ended == [sink.last()]


def delays(sink: MemorySink) -> list[object]:
    return [event.data["delay_s"] for event in sink.events if event.kind == "retry"]


def test_waits_between_tries_double_up_to_the_longest(world: World) -> None:
    backoff = Backoff(first_s=10, longest_s=60, jitter=0.0)
    errors = map(EnvironmentFaultError, "abcde")
    sink = world.run(failing(*errors), policy=Policy(attempts=6, backoff=backoff))
    assert delays(sink) == [10, 20, 40, 60, 60]


def test_trials_that_failed_together_are_tried_again_one_by_one(world: World) -> None:
    errors = [EnvironmentFaultError("down")] * 2
    trials = [planned("0", seed=1), planned("1", seed=2)]
    sink = world.run(failing(*errors), trials=trials, policy=Policy(workers=2))
    assert len(set(delays(sink))) == 2


def test_a_wait_for_the_next_try_may_be_longer_than_that_for_abandoned_trials(world: World) -> None:
    policy = Policy(abandoned_patience_s=0.5)
    world.run(failing(EnvironmentFaultError("down")), policy=policy)
    assert (world.outcome, world.sink.last().score) == ("finished", 1.0)


def test_a_trial_has_two_attempts_where_nobody_says_otherwise(world: World) -> None:
    errors = [EnvironmentFaultError("down")] * 5
    assert len(world.run(failing(*errors), policy=Policy()).lines) == 2


@pytest.mark.parametrize("error", [EvaluationError("?"), BudgetExceededError("spent")])
def test_nothing_but_environment_errors_is_tried_again(world: World, error: Exception) -> None:
    assert len(world.run(failing(error), policy=Policy(attempts=5)).lines) == 1


def test_a_failing_trial_gives_its_worker_away_while_it_waits(world: World) -> None:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0" and context.attempt == 1:
            raise EnvironmentFaultError("down")
        return scored(task)

    sink = world.run(trial, trials=[planned("0"), planned("1")])
    assert [line.task_id for line in sink.lines] == ["0", "1", "0"]


def test_attempts_of_former_sessions_stay_in_the_record(world: World) -> None:
    before = Attempt(number=1, status=Status.ENVIRONMENT_ERROR, started=EPOCH, duration_s=3)
    result = world.run(succeed, trials=[planned(earlier=(before,))]).last()
    assert [a.number for a in result.attempts] == [1, 2]
    assert world.contexts[0].attempt == 2
    assert result.flags == ()


def test_a_result_that_replaces_a_lasting_one_says_so(world: World) -> None:
    before = Attempt(number=1, status=Status.COMPLETED, started=EPOCH, duration_s=3)
    assert world.run(succeed, trials=[planned(earlier=(before,))]).last().flags == ("rerun",)


class LostAfter:
    """Holds resources that are lost after some seconds, the first time they are held."""

    def __init__(self, seconds: float) -> None:
        self._seconds: list[float] = [seconds]
        self.released = 0

    async def acquire(self, resources: object, on_wait: object) -> LostAfter:
        del resources, on_wait
        return self

    def when_lost(self, call: Callable[[], object]) -> None:
        for seconds in self._seconds:
            asyncio.get_running_loop().call_later(seconds, call)
        self._seconds.clear()

    def release(self) -> None:
        self.released += 1


def test_an_attempt_whose_lease_is_lost_is_ended_and_tried_again(world: World) -> None:
    async def work(task: Task, context: TrialContext) -> TrialResult:
        await asyncio.sleep(100)
        return scored(task)

    locks = LostAfter(30.0)
    result = world.run(work, locks=locks).last()
    first, second = result.attempts
    assert first.error is not None
    assert (first.status, first.error.kind) == (Status.ENVIRONMENT_ERROR, "lease_lost")
    assert first.duration_s == 30.0
    assert (second.status, result.score, locks.released) == (Status.COMPLETED, 1.0, 2)
