"""Runs trials, several at once, and writes down how each ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from bench_core.faults import NOT_RETRIED, recorded_fault
from bench_core.records import Event
from bench_core.run_spec import Timeouts
from bench_core.running_time import RUNNING_TIME
from bench_core.scheduling.abandoned import ABANDONED_END_S, outlast
from bench_core.scheduling.attempts import StopReason
from bench_core.scheduling.backoff import Backoff
from bench_core.scheduling.circuit_breakers import CircuitBreakers
from bench_core.scheduling.clocks import SystemClock
from bench_core.scheduling.first_trials import FirstTrials
from bench_core.scheduling.machine_locks import NoLocks
from bench_core.scheduling.places import Anywhere
from bench_core.scheduling.resources import PATIENCE, Claim, ResourceQueue, claim_of
from bench_core.scheduling.runner import AttemptRunner, LiveAttempt, Sink
from bench_core.scheduling.turns import Alone, Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from pydantic import JsonValue

    from bench_core.budgets import RunBudget
    from bench_core.progress import Progress
    from bench_core.protocols import TrialContext
    from bench_core.records import Attempt, Resource, SessionOutcome, Task, TrialKey, TrialResult
    from bench_core.run_spec import PlannedTrial
    from bench_core.running_time import Suspension
    from bench_core.scheduling.clocks import Clock
    from bench_core.scheduling.machine_locks import Held, MachineLocks
    from bench_core.scheduling.places import Place, Places


@dataclass(frozen=True)
class Policy:
    """How a scheduler runs trials.

    Attributes:
        workers: Trials at once.
        attempts: Tries per trial and session when its environment fails.
        timeouts: When it stops waiting.
        backoff: How long it waits before the next try.
        patience: How often waiting trials may be overtaken, see `ResourceQueue`.
        abandoned_patience_s: How long to wait for abandoned trials that hold resources all others need
            before the session is ended.
        max_consecutive_faults: Equal faults in a row after which the faulty thing counts as
            out of order; None for never.
    """

    workers: int = 1
    attempts: int = 2
    timeouts: Timeouts = field(default_factory=Timeouts)
    backoff: Backoff = field(default_factory=Backoff)
    patience: int = PATIENCE
    abandoned_patience_s: float = 60.0
    max_consecutive_faults: int | None = 5


@dataclass(eq=False, slots=True)
class _ScheduledTrial:
    """A planned trial and its attempts so far; small until it starts, as most of a large plan waits."""

    trials: Sequence[PlannedTrial]
    place: int
    claim: Claim
    tries: int = 0
    last: TrialResult | None = None
    _planned: PlannedTrial | None = None
    _attempts: list[Attempt] | None = None

    @property
    def planned(self) -> PlannedTrial:
        """The planned trial."""
        if self._planned is None:
            self._planned = self.trials[self.place]
        return self._planned

    @property
    def attempts(self) -> list[Attempt]:
        """All attempts at it."""
        if self._attempts is None:
            self._attempts = list(self.planned.earlier)
        return self._attempts


@dataclass(eq=False)
class _Flight:
    """A trial that occupies a worker: it waits for locks, or its attempt runs."""

    trial: _ScheduledTrial
    task: asyncio.Task[None] | None = None
    held: Held | None = None
    live: LiveAttempt | None = None
    place: Place | None = None
    probe: bool = False


class Scheduler:
    """Runs planned trials with `run_trial` and gives the results to `sink`.

    Every attempt's result is kept at once, so that nothing is lost when the process is killed; the
    last one of a trial counts.

    Args:
        run_trial: Runs one attempt; usually `Benchmark.run_trial`.
        sink: Receives results and events.
        context: The part that all attempts share; folder, trial, attempt, seed and limits are filled in.
        budget: The run's budget.
        progress: Receives the events of the session.
        policy: How many at once, how often, how long.
        locks: Holds resources against other processes.
        clock: Gives the time.
        on_kept: Receives the token of each attempt whose result `sink` has.
        places: Runs the attempts, instead of `run_trial`.
        first_trials: Judges the agent by the first trials of the run; None: they count as the others.
        turns: Decides which run starts its next trial, if several share their workers.
    """

    def __init__(
        self,
        run_trial: Callable[[Task, TrialContext], Coroutine[Any, Any, TrialResult]],
        sink: Sink,
        context: TrialContext,
        *,
        budget: RunBudget,
        progress: Progress,
        policy: Policy | None = None,
        locks: MachineLocks | None = None,
        clock: Clock | None = None,
        on_kept: Callable[[str], object] = lambda _: None,
        places: Places | None = None,
        first_trials: FirstTrials[_Flight] | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._turns = turns or Alone()
        self._on_kept = on_kept
        self._first_trials = first_trials or FirstTrials(0, begun=True)
        self._places = places or Anywhere(run_trial)
        self._policy = policy or Policy()
        self._clock = clock or SystemClock()
        self._runner = AttemptRunner(
            sink,
            context,
            budget=budget,
            timeouts=self._policy.timeouts,
            clock=self._clock,
        )
        self._sink = sink
        self._budget = budget
        self._progress = progress
        self._locks = locks or NoLocks()
        self._queue: ResourceQueue[_ScheduledTrial] = ResourceQueue(self._policy.patience)
        self._flights: set[_Flight] = set()
        self._backing_off: dict[_ScheduledTrial, asyncio.TimerHandle] = {}
        self._abandoned_tasks: dict[_Flight, asyncio.Task[None]] = {}
        faults = self._policy.max_consecutive_faults
        self._probe_after_s = self._policy.backoff.delay_s(faults or 1, seed=0)
        self._breakers = CircuitBreakers(faults, self._probe_after_s)
        self._left_over = False
        self._wakeup = asyncio.Event()
        self._outcome: SessionOutcome | None = None
        self._cancelled: asyncio.CancelledError | None = None
        self._error: BaseException | None = None

    async def run(self, trials: Sequence[PlannedTrial]) -> SessionOutcome:
        """Run the trials and return how the session ended: `finished`, or why it stopped early.

        Cancelling it calls `stop` and then raises `CancelledError`.
        """
        claims: dict[Claim, Claim] = {}
        for place, planned in enumerate(trials):
            claim = claim_of(planned.resources)
            claim = claims.setdefault(claim, claim)  # trials of a task share it
            self._queue.add(_ScheduledTrial(trials, place, claim), claim)
        time_is_up = self._arm_time_budget()
        loop = asyncio.get_running_loop()

        def note(gap: Suspension) -> None:
            loop.call_soon_threadsafe(self._note_gap, gap)

        try:
            with RUNNING_TIME.listening(note):
                while self._start_what_fits():
                    await self._next_change()
            if self._error is None:
                self._keep_held()
        finally:
            if time_is_up is not None:
                time_is_up.cancel()
            await self._end_abandoned()
            self._runner.close()
        if self._cancelled is not None:
            raise self._cancelled
        if self._error is not None:
            raise self._error
        return self._outcome or ("aborted" if self._left_over else "finished")

    def stop(self) -> None:
        """Start nothing more, cancel the running trials and let `run` return when that is written down."""
        self._end("interrupted")
        self._stop_flights(StopReason.CANCELLED)

    @property
    def sink(self) -> Sink:
        """Receives results and events."""
        return self._sink

    @property
    def stopped(self) -> bool:
        """Whether the session is to end; false if trials were only left for a broken resource."""
        return self._outcome is not None

    @property
    def in_flight(self) -> int:
        """How many trials run now."""
        return len(self._flights)

    @property
    def alone(self) -> bool:
        """Whether each trial runs alone, so that the end of the process may be blamed on it."""
        return self._policy.workers == 1

    def running(self) -> list[TrialKey]:
        """Return the trials that run now, abandoned ones too; safe to call from any thread."""
        return [flight.trial.planned.key for flight in [*self._flights, *self._abandoned_tasks]]

    @property
    def abandoned(self) -> int:
        """How many attempts were given up and still run."""
        return sum(f.live is not None and f.live.running.abandoned for f in self._abandoned_tasks)

    def kill_processes(self) -> None:
        """Kill every process group trials reported; safe to call from any thread."""
        for flight in [*self._flights, *self._abandoned_tasks]:
            if flight.live is not None:
                flight.live.processes.kill()

    def leave(self) -> None:
        """Start nothing more, and let running trials end by themselves: the rest is not needed."""
        for timer in self._backing_off.values():
            timer.cancel()
        left = [*self._backing_off, *self._queue.clear()]
        for trial in left:
            if trial.last is not None:
                self._progress.finished(trial.last)
        self._backing_off.clear()
        if left:  # a run that learns it at each turn must not wake at each, too
            self._wakeup.set()

    def look_again(self) -> None:
        """See anew what may start: resources of others may be free."""
        self._wakeup.set()

    def start_next(self) -> TrialKey | None:
        """Start a trial and return which, or None if none may start now."""
        undecided = self._first_trials.undecided
        if undecided and not self._flights:
            self._keep_held()
            undecided = False
        if not self._queue or undecided or len(self._flights) >= self._policy.workers:
            return None
        spent = self._budget.exhausted
        if spent is not None:
            self._stop_for_budget(spent)
            return None
        now = self._clock.monotonic()
        trial = self._queue.start_next(partial(self._may_start, now))
        if trial is None:
            return None
        flight = _Flight(trial, probe=self._breakers.is_open(trial.claim))
        flight.place = self._places.take(trial.claim)
        self._breakers.started(trial.claim)
        self._flights.add(flight)
        flight.task = asyncio.create_task(self._run_trial_in(flight))
        flight.task.add_done_callback(partial(self._ended, flight))
        return trial.planned.key

    def _start_what_fits(self) -> bool:
        """Start trials, and return whether any is left or runs."""
        self._turns.start(self)
        return bool(self._flights or self._backing_off or self._queue)

    def _may_start(self, now: float, claim: Claim) -> bool:
        return self._breakers.may_start(claim, now=now) and self._places.has_room(claim)

    async def _next_change(self) -> None:
        """Wait until a trial has ended or may be tried again."""
        waits = self._flights or self._backing_off or self._breakers.waits
        nothing_moves = not (waits or self._turns.others_run)
        timeout = self._policy.abandoned_patience_s if nothing_moves else None
        try:
            await asyncio.wait_for(self._wakeup.wait(), timeout)
        except asyncio.TimeoutError:
            self._progress.note(
                f"{self.abandoned} abandoned trials hold what all others wait for: "
                "run the same command again to continue"
            )
            self._end("aborted")
        except asyncio.CancelledError as error:
            if self._cancelled is not None:
                raise
            self._cancelled = error
            self.stop()
        self._wakeup.clear()

    async def _run_trial_in(self, flight: _Flight) -> None:
        trial = flight.trial
        planned = trial.planned
        flight.held = await self._locks.acquire(
            planned.resources, partial(self._note_wait, planned.key)
        )
        trial.tries += 1
        number = trial.attempts[-1].number + 1 if trial.attempts else 1
        assert flight.place is not None  # noqa: S101  # taken when it was made
        flight.live = self._runner.start(planned, number, flight.place, alone=self.alone)
        self._progress.started(planned, number)
        flight.held.when_lost(partial(flight.live.running.stop, StopReason.LEASE_LOST))
        await flight.live.running.settled()
        result = await self._runner.conclude(flight.live, trial.attempts)
        for each, known in self._first_trials.ended(flight, result):
            self._keep(each, known)

    def _keep_held(self) -> None:
        for flight, result in self._first_trials.rest(cut_short=self.stopped):
            self._keep(flight, result)

    def _keep(self, flight: _Flight, result: TrialResult) -> None:
        """Write down how an attempt ended, and act on it."""
        trial = flight.trial
        trial.last = result
        trial.attempts.append(result.attempts[-1])
        # Written before anything else happens with it: the process may be killed at any time.
        self._sink.append(result)
        if flight.live is not None:
            self._on_kept(flight.live.token)
        self._note_trips(flight, result)
        self._stop_for_fault(result)
        if self._may_try_again(flight, result):
            self._back_off(trial, result)
        else:
            self._progress.finished(result)

    def _note_trips(self, flight: _Flight, result: TrialResult) -> None:
        """Let trials wait, go on or be left, by the state of their needs after an attempt."""
        now = self._clock.monotonic()
        for trip in self._breakers.ended(flight.trial.claim, result, now, probe=flight.probe):
            self._event(f"circuit_{trip.became}", None, thing=trip.thing, message=trip.message)
            if trip.became == "opened":
                loop = asyncio.get_running_loop()
                loop.call_later(self._probe_after_s, self._wakeup.set)
            self._progress.note(f"{trip}{self._leave_for_later() if trip.became == 'dead' else ''}")

    def _leave_for_later(self) -> str:
        """Leave the trials that need a broken thing to a later session, and report it."""
        left = self._queue.take(self._breakers.is_dead)
        for trial in [each for each in self._backing_off if self._breakers.is_dead(each.claim)]:
            self._backing_off.pop(trial).cancel()
            left.append(trial)
        for trial in left:
            if trial.last is not None:
                self._progress.finished(trial.last)
        self._left_over = True
        return (
            f"; {len(left)} trials that need it are left. Repair it and run the same command again: it "
            f"continues the run"
        )

    def _ended(self, flight: _Flight, task: asyncio.Task[None]) -> None:
        """Free the worker, and the resources unless something of the attempt still runs."""
        if not task.cancelled() and task.exception() is not None:
            # a full disk, say: without a record no trial may run
            self._error = self._error or task.exception()
            self._end("aborted")
            self._stop_flights(StopReason.CANCELLED)
        if flight.live is not None and _still_runs(flight.live):
            self._abandoned_tasks[flight] = asyncio.create_task(self._outlast(flight, flight.live))
        # not before: until then a second Ctrl-C must find the processes to kill among the flights
        self._flights.discard(flight)
        if flight not in self._abandoned_tasks:
            self._free(flight)

    def _free(self, flight: _Flight) -> None:
        if flight.held is not None:
            flight.held.release()
        if flight.place is not None:
            flight.place.free()
        self._queue.release(flight.trial.claim)
        self._wakeup.set()

    async def _outlast(self, flight: _Flight, live: LiveAttempt) -> None:
        kind = "abandoned" if live.running.abandoned else "processes_left"
        self._runner.event(kind, live, process_groups=list(live.processes.alive()))
        self._wakeup.set()
        await outlast(live.running, live.processes)
        self._runner.event("freed", live)
        del self._abandoned_tasks[flight]
        self._free(flight)

    def _may_try_again(self, flight: _Flight, result: TrialResult) -> bool:
        kind = recorded_fault(result)
        return (
            kind is not None
            and kind.retry
            and NOT_RETRIED not in result.flags
            and flight.trial.tries < self._policy.attempts
            and self._outcome is None
            and not self._breakers.is_open(flight.trial.claim)
            and not (flight.live is not None and flight.live.running.abandoned)
        )

    def _back_off(self, trial: _ScheduledTrial, failed: TrialResult) -> None:
        delay_s = self._policy.backoff.delay_s(trial.tries, seed=trial.planned.seed)
        self._event("retry", trial.planned.key, delay_s=round(delay_s, 3))
        self._progress.retrying(failed, delay_s)
        loop = asyncio.get_running_loop()
        self._backing_off[trial] = loop.call_later(delay_s, self._try_again, trial)

    def _try_again(self, trial: _ScheduledTrial) -> None:
        del self._backing_off[trial]
        self._queue.add(trial, trial.claim)
        self._wakeup.set()

    def _arm_time_budget(self) -> asyncio.TimerHandle | None:
        seconds = self._budget.seconds_left
        if seconds is None:
            return None
        return asyncio.get_running_loop().call_later(seconds, self._time_is_up)

    def _time_is_up(self) -> None:
        self._stop_for_budget(self._budget.exhausted or "its time is over")
        self._stop_flights(StopReason.BUDGET)

    def _stop_for_budget(self, spent: str) -> None:
        if self._outcome is None:
            self._event("budget_exceeded", None, reason=spent)
            self._progress.note(f"Budget: {spent}; nothing new starts.")
        self._end("budget_exceeded")

    def _stop_for_fault(self, result: TrialResult) -> None:
        """Start nothing more if every other trial would only meet the same fault."""
        kind = recorded_fault(result)
        if kind is None or not kind.stops_run or self._outcome is not None:
            return
        message = result.error.message if result.error is not None else ""
        self._event("run_stopped", None, fault=kind.name, message=message)
        self._progress.note(
            f"The run stops, as {kind.what} ({message}): mend that and run the same command again, "
            "it continues the run"
        )
        self._end("aborted")

    def _stop_flights(self, reason: StopReason) -> None:
        for flight in self._flights:
            if flight.live is not None:
                flight.live.running.stop(reason)
            elif flight.task is not None:
                flight.task.cancel()  # it only waits for locks: nothing to write down

    def _end(self, outcome: SessionOutcome) -> None:
        """Start nothing more; the first reason is the session's outcome."""
        self._outcome = self._outcome or outcome
        self.leave()
        self._wakeup.set()

    async def _end_abandoned(self) -> None:
        dying = [task for f, task in self._abandoned_tasks.items() if f.live and f.live.processes]
        if dying:
            await asyncio.wait(dying, timeout=ABANDONED_END_S)
        for task in self._abandoned_tasks.values():
            task.cancel()
        self.kill_processes()

    def _note_gap(self, gap: Suspension) -> None:
        """Write down that this process could not run; each trial knows whether it can make that good."""
        self._event("suspended", None, seconds=round(gap.seconds, 3), cause=gap.cause)
        self._progress.note(
            f"The run was {gap.cause} for {gap.seconds:.0f} s, which no limit counts."
        )

    def _note_wait(self, key: TrialKey, resource: Resource) -> None:
        self._event("waiting", key, resource=resource.name, mode=resource.mode)

    def _event(self, kind: str, key: TrialKey | None, **data: JsonValue) -> None:
        identity = {} if key is None else {"task_id": key.task_id, "trial": key.trial}
        self._sink.event(Event(time=self._clock.now(), kind=kind, data=data, **identity))


def _still_runs(live: LiveAttempt) -> bool:
    return live.running.abandoned or bool(live.processes.alive())
