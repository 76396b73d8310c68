"""How single trials end: deadlines, retries, budgets, faults, interruption; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from told import Told

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import (
    AgentError,
    BrowserError,
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
    RunFolderError,
)
from bench_core.protocols import TrialContext
from bench_core.records import Attempt, Limits, Resource, Status, Task, TrialKey, TrialResult, Usage
from bench_core.run_spec import PlannedTrial, Timeouts
from bench_core.scheduling import Backoff, Policy, Scheduler
from bench_core.scheduling.virtual_time import EPOCH, VirtualClock, run_in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from bench_core.records import Event

TIMEOUTS = Timeouts(evaluation_grace_s=20, fallback_deadline_s=None, cancel_grace_s=10)


@dataclass
class MemorySink:
    """Keeps results and events in lists and counts folders."""

    folder: Path
    lines: list[TrialResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    attempts: list[TrialKey] = field(default_factory=list)

    def append(self, result: TrialResult) -> None:
        self.lines.append(result)

    def event(self, event: Event) -> None:
        self.events.append(event)

    def new_attempt(self, key: TrialKey) -> Path:
        self.attempts.append(key)
        folder = self.folder / f"{len(self.attempts)}"
        folder.mkdir()
        return folder

    def last(self, task_id: str = "0") -> TrialResult:
        return next(line for line in reversed(self.lines) if line.task_id == task_id)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


class World:
    """A scheduler over trials that are plain coroutines, on a virtual clock."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.sink = MemorySink(folder)
        self.told = Told()
        self.scheduler: Scheduler | None = None
        self.contexts: list[TrialContext] = []
        self.outcome: str | None = None

    def run(  # noqa: PLR0913  # what a scheduler takes
        self,
        trial: Callable[[Task, TrialContext], Awaitable[Any]],
        *,
        trials: list[PlannedTrial] | None = None,
        policy: Policy | None = None,
        budget: RunBudget | None = None,
        meanwhile: Callable[[], Awaitable[None]] | None = None,
        locks: Any = None,
    ) -> MemorySink:
        async def run_trial(task: Task, context: TrialContext) -> Any:
            self.contexts.append(context)
            return await trial(task, context)

        async def main() -> None:
            self.scheduler = Scheduler(
                run_trial,
                self.sink,
                TrialContext(run_id="r", folder=self.sink.folder, agent="a", model="p:m"),
                budget=budget or RunBudget(),
                progress=self.told,
                policy=policy or Policy(timeouts=TIMEOUTS),
                clock=self.clock,
                locks=locks,
            )
            other = asyncio.ensure_future(meanwhile()) if meanwhile else None
            self.outcome = await self.scheduler.run(trials or [planned()])
            if other is not None:
                await other

        run_in_virtual_time(main(), self.clock)
        return self.sink

    async def at(self, seconds: float) -> Scheduler:
        """Wait until `seconds` after the start."""
        await asyncio.sleep(seconds - self.clock.elapsed_s)
        return self.live

    @property
    def live(self) -> Scheduler:
        """The scheduler that runs."""
        assert self.scheduler is not None
        return self.scheduler


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def planned(task_id: str = "0", **fields: Any) -> PlannedTrial:
    task = Task(benchmark="toy", task_id=task_id, goal="")
    return PlannedTrial(key=TrialKey(task_id=task_id), task=task, **fields)


def scored(task: Task, score: float = 1.0, **fields: Any) -> TrialResult:
    return TrialResult(
        benchmark="toy",
        task_id=task.task_id,
        agent="a",
        model="p:m",
        **{"status": Status.COMPLETED, "score": score, **fields},
    )


async def succeed(task: Task, context: TrialContext) -> TrialResult:
    await asyncio.sleep(5)
    return scored(task)


def failing(*errors: BaseException) -> Callable[[Task, TrialContext], Awaitable[TrialResult]]:
    """Return a trial that raises one error per attempt and then succeeds."""
    left = list(errors)

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        await asyncio.sleep(1)
        if left:
            raise left.pop(0)
        return scored(task)

    return trial


async def stubborn(task: Task, context: TrialContext) -> TrialResult:
    """Swallow every cancellation for 300 seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + 300
    while loop.time() < end:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(end - loop.time())
    return scored(task)


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


grouped = pytest.mark.skipif(
    sys.platform == "win32", reason="processes have no groups there, which trials report"
)
DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); input()"


class Browser:
    """A process in a group of its own that ends when it is told so or killed."""

    def __init__(self, context: TrialContext, code: str = "input()") -> None:
        command = [sys.executable, "-c", code]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        context.processes.own(self._process.pid)

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def was_killed(self) -> bool:
        """Let it end by itself and return whether it was killed before."""
        self._process.communicate(b"\n")
        return self._process.returncode == -signal.SIGKILL


@grouped
@pytest.mark.parametrize("abandoned", [False, True], ids=["running", "abandoned"])
def test_a_process_that_a_trial_reported_can_be_killed_at_once(
    world: World, abandoned: object
) -> None:
    browsers: list[Browser] = []

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            browsers.append(Browser(context, DEAF))
            browsers[0].wait_until_ready()
            return await stubborn(task, context)
        return await succeed(task, context)

    async def kill() -> None:
        scheduler = await world.at(91 if abandoned else 1)
        assert bool(scheduler.abandoned) is abandoned
        scheduler.kill_processes()
        assert browsers[0].was_killed()

    trials = [planned("0", limits=Limits(time_limit_s=60)), *map(planned, "123")]
    world.run(trial, trials=trials, policy=Policy(timeouts=TIMEOUTS), meanwhile=kill)


@grouped
def test_a_process_that_ignores_sigterm_is_killed_before_the_next_uses_its_site(
    world: World,
) -> None:
    browsers: list[Browser] = []

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            browsers.append(Browser(context, DEAF))
            browsers[0].wait_until_ready()
        else:
            assert browsers[0].was_killed()
        return scored(task)

    site = (Resource(name="gitlab"),)
    trials = [planned("0", resources=site), planned("1", resources=site)]
    sink = world.run(trial, trials=trials, policy=Policy(abandoned_patience_s=120))
    assert sink.last("1").status is Status.COMPLETED


@grouped
def test_processes_of_trials_do_not_outlive_a_run_that_cannot_go_on(world: World) -> None:
    browsers: list[Browser] = []

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            browsers.append(Browser(context))
            return await stubborn(task, context)
        return await spending(1)(task, context)

    def refuse(event: Event) -> None:
        if event.kind == "budget_exceeded":
            raise RunFolderError("the disk is full")

    world.sink.event = refuse  # type: ignore[method-assign]
    with pytest.raises(RunFolderError):
        world.run(
            trial,
            trials=[*map(planned, "012")],
            policy=Policy(workers=2),
            budget=RunBudget(Budget(max_cost_usd=1)),
        )
    assert browsers[0].was_killed()


def spending(calls: int, *, cost_usd: float | None = 1.0) -> Callable[..., Awaitable[TrialResult]]:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        for _ in range(calls):
            await asyncio.sleep(1)
            context.meter.spend(Usage(requests=1, input_tokens=100), cost_usd)
        return scored(task)

    return trial


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
