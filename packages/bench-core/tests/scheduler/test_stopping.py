"""How a session ends before its trials do; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from scheduled import TIMEOUTS, World, failing, planned, scored, spending, stubborn, succeed
from virtual_time import run_in_virtual_time

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import EnvironmentFaultError, RunFolderError
from bench_core.protocols import TrialContext
from bench_core.records import Limits, Status, Task, TrialResult
from bench_core.scheduling import Policy, Scheduler


def test_stopping_cancels_what_runs_and_starts_nothing_more(world: World) -> None:
    async def press_ctrl_c() -> None:
        (await world.at(7)).stop()

    trials = [planned(str(n)) for n in range(3)]
    sink = world.run(succeed, trials=trials, meanwhile=press_ctrl_c)
    assert world.outcome == "interrupted"
    assert [(line.task_id, line.status) for line in sink.lines] == [
        ("0", Status.COMPLETED),
        ("1", Status.CANCELLED),
    ]
    assert sink.last("1").score is None
    assert world.told.ended == sink.lines  # and not the trial that never began


def test_stopping_does_not_wait_for_a_retry(world: World) -> None:
    async def press_ctrl_c() -> None:
        (await world.at(1.5)).stop()

    sink = world.run(failing(EnvironmentFaultError("down")), meanwhile=press_ctrl_c)
    assert sink.last().status is Status.ENVIRONMENT_ERROR
    assert world.clock.elapsed_s == 1.5
    assert world.told.ended == sink.lines


def test_stopping_does_not_wait_for_locks_of_another_run(world: World) -> None:
    class Taken:
        async def acquire(self, *_: object) -> None:
            await asyncio.Event().wait()

    async def press_ctrl_c() -> None:
        (await world.at(7)).stop()

    world.run(succeed, meanwhile=press_ctrl_c, locks=Taken())
    assert (world.outcome, world.contexts) == ("interrupted", [])


def test_a_score_that_is_there_when_the_run_is_stopped_is_kept(world: World) -> None:
    async def trial(task: Task, _: TrialContext) -> TrialResult:
        asyncio.get_running_loop().call_soon(world.live.stop)
        return scored(task)

    result = world.run(trial).last()
    assert (world.outcome, result.status, result.score) == ("interrupted", Status.COMPLETED, 1.0)


def test_of_two_reasons_to_stop_an_attempt_the_first_counts(world: World) -> None:
    async def tidies_up(task: Task, _: TrialContext) -> TrialResult:
        try:
            await asyncio.sleep(10_000)
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(8)
        return scored(task)

    async def press_ctrl_c() -> None:
        (await world.at(85)).stop()

    trials = [planned(limits=Limits(time_limit_s=60))]
    policy = Policy(timeouts=TIMEOUTS)
    result = world.run(tidies_up, trials=trials, policy=policy, meanwhile=press_ctrl_c).last()
    assert result.error is not None
    assert (result.status, result.error.kind) == (Status.ENVIRONMENT_ERROR, "hard_deadline")


def test_of_two_reasons_to_end_a_session_the_first_counts(world: World) -> None:
    async def press_ctrl_c() -> None:
        (await world.at(5)).stop()

    trial = {"0": spending(1), "1": stubborn}
    world.run(
        lambda task, context: trial[task.task_id](task, context),
        trials=[planned("0"), planned("1"), planned("2")],
        policy=Policy(workers=2, timeouts=TIMEOUTS),
        budget=RunBudget(Budget(max_cost_usd=1)),
        meanwhile=press_ctrl_c,
    )
    assert world.outcome == "budget_exceeded"


def test_cancelling_the_scheduler_writes_down_what_was_cancelled(world: World) -> None:
    async def main() -> None:
        async def run_trial(task: Task, context: TrialContext) -> TrialResult:
            return await succeed(task, context)

        scheduler = Scheduler(
            run_trial,
            world.sink,
            TrialContext(run_id="r", folder=world.sink.folder),
            budget=RunBudget(),
            progress=world.told,
            clock=world.clock,
        )
        running = asyncio.ensure_future(scheduler.run([planned()]))
        await asyncio.sleep(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run_in_virtual_time(main(), world.clock)
    assert world.sink.last().status is Status.CANCELLED


def test_a_sink_that_fails_ends_the_run_with_its_error(world: World) -> None:
    def refuse(result: TrialResult) -> None:
        raise RunFolderError("the disk is full")

    world.sink.append = refuse  # type: ignore[method-assign]
    with pytest.raises(RunFolderError, match="the disk is full"):
        world.run(succeed, trials=[planned(str(n)) for n in range(3)])
    assert len(world.contexts) == 1


def test_what_runs_is_stopped_when_results_cannot_be_kept(world: World) -> None:
    def refuse(result: TrialResult) -> None:
        raise RunFolderError("the disk is full")

    async def long(task: Task, _: TrialContext) -> TrialResult:
        await asyncio.sleep(5 if task.task_id == "0" else 1000)
        return scored(task)

    world.sink.append = refuse  # type: ignore[method-assign]
    with pytest.raises(RunFolderError):
        world.run(long, trials=[planned("0"), planned("1")], policy=Policy(workers=2))
    assert world.clock.elapsed_s == 5
