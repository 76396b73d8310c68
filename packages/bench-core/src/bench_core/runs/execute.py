"""Runs a benchmark into a run folder: the work of the `run` commands, in one call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pydantic import NonNegativeInt

from bench_core.budgets import RunBudget, Spent
from bench_core.files.temporary import temporary_folder
from bench_core.progress.interface import Progress, RunStart
from bench_core.protocols import TrialContext
from bench_core.records import AgentCode, Attempt, Record, RunInfo, SessionOutcome, TrialKey
from bench_core.run_folder.folder import RunFolder
from bench_core.run_folder.rescore_folder import scored_later
from bench_core.run_folder.view import RunView, read_run
from bench_core.run_spec import RunSpec, plan_trials
from bench_core.running_time import RUNNING_TIME, leave_out_gaps
from bench_core.runs.early_stopping import Decision, batches_of, decide
from bench_core.runs.environment import Provenance, RunEnvironment
from bench_core.runs.event_sources import connected_sources
from bench_core.runs.executors import opened_executor
from bench_core.runs.opening import (
    OpenedRun,
    checked_agent,
    opened_agents,
    opened_run,
    timeouts_of,
)
from bench_core.runs.sealing import SealedRun, sealed_run
from bench_core.runs.spending import note_budget, spent_before
from bench_core.runs.trial_runner import trial_runner
from bench_core.runs.unfinished import given_up, unfinished_attempts
from bench_core.scheduling.clocks import Clock, SystemClock
from bench_core.scheduling.first_trials import FirstTrials
from bench_core.scheduling.guards import guarded
from bench_core.scheduling.interrupts import handlers_given_back
from bench_core.scheduling.scheduler import Policy, Scheduler
from bench_core.trial import Benchmark, close_benchmark
from bench_core.trial.own_accord import NotedInterrupts

__all__ = [
    "Provenance",
    "RunEnvironment",
    "RunOutcome",
    "bounded_loop",
    "run_benchmark",
    "run_benchmark_sync",
]


_TEARDOWN_S = 2.0
_log = logging.getLogger(__name__)


class RunOutcome(Record):
    """How a session of a run ended and how the whole run stands.

    Attributes:
        outcome: `finished`, or why the session stopped early.
        planned: Trials of the whole run.
        remaining: Trials without a lasting result; running again tries them again. None if a
            stopping rule ended the run.
        suspects: Scored trials whose score may not be the agent's own doing.
        suspects_succeeded: Successes among them.
        stopped: Why a look ended the run, or `pending` if it waits for trials without a score.
        unscored: Trials with a lasting result that has no score.
        rescored: How many of them have one in `rescore`.
        rescore: The newest finished folder below `rescores/`, if there are unscored trials.
        statuses: Number of trials by the status of their last result.
        spent: In all sessions together.
        abandoned: Attempts of this session that ignored their cancellation and still run.
    """

    run_id: str
    folder: str
    outcome: SessionOutcome
    planned: NonNegativeInt
    remaining: NonNegativeInt
    scored: NonNegativeInt
    succeeded: NonNegativeInt
    unscored: NonNegativeInt = 0
    rescored: NonNegativeInt = 0
    rescore: str | None = None
    suspects: NonNegativeInt = 0
    suspects_succeeded: NonNegativeInt = 0
    statuses: dict[str, int]
    spent: Spent
    stopped: str | None = None
    abandoned: NonNegativeInt = 0


async def run_benchmark(
    benchmark: Benchmark,
    spec: RunSpec,
    out: Path,
    *,
    run_environment: RunEnvironment | None = None,
    guard: bool = False,
) -> RunOutcome:
    """Run `spec` into the run folder `out`, or continue the run that is there.

    Args:
        benchmark: Runs and scores single trials.
        spec: The run.
        out: The run folder, made when missing.
        run_environment: The other parts the run works with.
        guard: Own this process: Ctrl-C, SIGTERM and SIGHUP end the run in order, a second one ends the
            process at once, a trial that blocks the event loop makes it exit with code 75, and all
            temporary files go into one folder. Needs the main thread.

    Raises:
        InputError: The spec does not fit the benchmark, the folder or the budget, or the agent does
            not work in the benchmark's environment.
        UnknownPluginError: No installed distribution offers an agent of that name.
        RunFolderBusyError: Another process is running into the folder.
    """
    run_environment = run_environment or RunEnvironment()
    clock, progress = run_environment.clock, run_environment.progress
    timeouts = timeouts_of(spec, run_environment)
    with handlers_given_back(), RUNNING_TIME, NotedInterrupts(), contextlib.ExitStack() as stack:
        if guard:
            stack.enter_context(temporary_folder())
        sealed = stack.enter_context(sealed_run(benchmark, spec, out))
        agents = opened_agents(spec, run_environment, sealed)
        agent_for, code = stack.enter_context(agents)
        name = await checked_agent(benchmark, spec, out, run_environment, agent_for)
        run = opened_run(benchmark, spec, out, run_environment, name, code)
        redactor = run_environment.redactor
        opened = RunFolder.open(
            out, run.info, run.tasks, redactor=redactor, now=clock.now, known=run.known
        )
        folder = stack.enter_context(opened)
        budget = _budget(spec, folder.before, clock, run_environment.turns.budgets)
        stack.enter_context(connected_sources(run_environment.event_sources, folder))
        _note_changes(folder, spec, run, code)
        crashed = _Crashed(folder, run.again, spec, progress)
        before = {} if folder.before is None else folder.before.results
        left = folder.remaining()
        earlier = {key: before[key].attempts for key in left if key in before} | crashed.attempts
        progress.begin(_start_of(folder, left, spec.workers))
        policy = run_environment.policy or Policy(
            workers=spec.workers,
            attempts=spec.attempts,
            timeouts=timeouts,
            max_consecutive_faults=spec.max_consecutive_faults,
        )
        work = trial_runner(benchmark, run_environment, agent_for, code, timeouts)
        context = _context(spec, folder.info, out, sealed)
        context = context.with_model_opener(run_environment.open_model)
        outcome: SessionOutcome = "finished"
        stopped: Record | None = None
        abandoned = 0
        workers = min(policy.workers, len(left))  # each costs a start
        first_trials: FirstTrials[Any] = FirstTrials(
            len(left), begun=any(each.status.scored for each in folder.standings)
        )
        async with opened_executor(spec, run_environment, code, folder, workers) as executor:
            batches = batches_of(folder.info) or []
            for number, batch in enumerate(batches or [None], start=1):
                left = run_environment.turns.order(
                    [
                        key
                        for key in folder.remaining()
                        if (batch is None or key.task_id in batch)
                        and key.task_id not in run.skipped
                    ]
                )
                for keys, together in crashed.last_and_alone(left, policy.workers):
                    scheduler = Scheduler(
                        work,
                        folder,
                        context,
                        budget=budget,
                        progress=progress,
                        policy=replace(policy, workers=together),
                        locks=executor.locks,
                        clock=_RunClock(folder, clock),
                        on_kept=executor.kept,
                        places=executor.places,
                        first_trials=first_trials,
                        turns=run_environment.turns,
                    )
                    guards = guarded(scheduler, folder, spec.timeouts, progress)
                    with guards if guard else contextlib.nullcontext():
                        ended = await scheduler.run(plan_trials(folder.tasks, keys, spec, earlier))
                    abandoned += scheduler.abandoned
                    outcome = outcome if ended == "finished" else ended
                    # a site that stays down does not stop the trials that do without it
                    if scheduler.stopped:
                        break
                if batch is None or outcome != "finished":
                    break
                stopped = _look(folder, number, batches, progress)
                if stopped is not None:
                    break
        progress.end(outcome)
        folder.finish(outcome)
        return _outcome(folder, outcome, budget, abandoned, stopped)


def run_benchmark_sync(
    benchmark: Benchmark,
    spec: RunSpec,
    out: Path,
    *,
    run_environment: RunEnvironment | None = None,
    guard: bool = False,
) -> RunOutcome:
    """Call `run_benchmark` on an event loop of its own, and close the benchmark.

    Unlike under `asyncio.run`, an abandoned trial does not keep it from returning.
    """
    run = run_benchmark(benchmark, spec, out, run_environment=run_environment, guard=guard)
    with handlers_given_back(), bounded_loop(benchmark) as loop:
        return loop.run_until_complete(run)


@contextlib.contextmanager
def bounded_loop(*benchmarks: Benchmark) -> Iterator[asyncio.AbstractEventLoop]:
    """Open an event loop for runs; at the end close the benchmarks, with limited waits for their tasks.

    `asyncio.run` would wait for every task, abandoned trials included.
    """
    loop = leave_out_gaps(asyncio.new_event_loop())
    loop.set_exception_handler(_note_foreign)
    try:
        yield loop
    finally:
        try:
            for benchmark in benchmarks:
                loop.run_until_complete(close_benchmark(benchmark))
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=_TEARDOWN_S))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


def _note_changes(folder: RunFolder, spec: RunSpec, run: OpenedRun, code: AgentCode) -> None:
    """Write down the differences of this session from earlier ones."""
    note_budget(folder, spec.budget)
    if run.changed:
        old = cast("RunView", run.known).info.agent_code
        was = old.model_dump(mode="json") if old else None
        folder.note("agent_changed", {"before": was, "now": code.model_dump(mode="json")})
    if run.again:
        folder.run_again(spec.rerun, run.again)


@dataclass(frozen=True)
class _RunClock:
    """Dates as the run folder counts them, seconds by the clock."""

    folder: RunFolder
    clock: Clock

    def now(self) -> datetime:
        return self.folder.now()

    def monotonic(self) -> float:
        return self.clock.monotonic()


class _Crashed:
    """The trials during which processes of the run ended; those given up are written down at once.

    Attributes:
        attempts: All attempts at each of them, including those that no result mentions.
    """

    def __init__(
        self,
        folder: RunFolder,
        again: Collection[TrialKey],
        spec: RunSpec,
        progress: Progress,
    ) -> None:
        before = folder.before
        found = {} if before is None else unfinished_attempts(before, set(folder.remaining()))
        results = {} if before is None else before.results
        recorded = {key: results[key].attempts if key in results else () for key in found}
        self.attempts = {
            key: (*recorded[key], *_unknown(each.attempts, recorded[key]))
            for key, each in found.items()
        }
        self._given_up = {
            key
            for key, each in found.items()
            if key not in again
            and each.exhausts(spec.attempts)  # an explicit request gets another try
        }
        if not self._given_up:
            return
        tasks = {task.task_id: task for task in folder.tasks}
        for key in self._given_up:
            if self.attempts[key] == recorded[key]:
                continue  # written down before
            where = {"trial": key.trial, "folder": folder.trial_folder(key)}
            context = _context(spec, folder.info, folder.path).model_copy(update=where)
            folder.append(given_up(tasks[key.task_id], context, self.attempts[key]))
        progress.note(
            f"{len(self._given_up)} trials are given up: the process ended {spec.attempts} times or more "
            f"while each of them ran, the last time alone. A larger --attempts tries them again."
        )

    def last_and_alone(
        self, keys: Sequence[TrialKey], workers: int
    ) -> Iterator[tuple[list[TrialKey], int]]:
        """Yield the trials in groups that may share a process, each with its number of workers."""
        yield [key for key in keys if key not in self.attempts], workers
        suspects = [key for key in keys if key in self.attempts and key not in self._given_up]
        if suspects:
            yield suspects, 1


def _unknown(attempts: Iterable[Attempt], known: Iterable[Attempt]) -> list[Attempt]:
    numbers = {each.number for each in known}
    return [each for each in attempts if each.number not in numbers]


def _context(
    spec: RunSpec, info: RunInfo, out: Path, sealed: SealedRun | None = None
) -> TrialContext:
    return TrialContext(
        run_id=info.run_id,
        folder=out,
        agent=info.agent,
        model=spec.model,
        world=spec.world,
        profile=spec.profile,
        timing=spec.timing,
        config=spec.config,
        hidden=() if sealed is None or sealed.files is None else sealed.files.hidden,
        unsealed=None if sealed is None else sealed.reason,
    )


def _budget(
    spec: RunSpec, before: RunView | None, clock: Clock, shared: Sequence[RunBudget]
) -> RunBudget:
    """Return the run's budget with the spending of earlier sessions counted."""
    spent = spent_before(before) if before is not None else Spent()
    seconds = RUNNING_TIME.seconds if isinstance(clock, SystemClock) else clock.monotonic
    began = seconds()
    return RunBudget(spec.budget, spent=spent, seconds=lambda: seconds() - began, shared=shared)


def _start_of(folder: RunFolder, left: Sequence[TrialKey], workers: int) -> RunStart:
    planned = len(folder.tasks) * folder.info.trials
    scored = [each for each in folder.standings if each.status.scored]
    return RunStart(
        run_id=folder.info.run_id,
        folder=str(folder.path),
        planned=planned,
        done=planned - len(left),
        scored=len(scored),
        succeeded=sum(bool(each.success) for each in scored),
        workers=workers,
    )


def _look(
    folder: RunFolder, number: int, batches: Sequence[Collection[str]], progress: Progress
) -> Record | None:
    """Look at the complete batches, write down the decision, and return it if the run stops here."""
    seen = set().union(*batches[:number])
    found = decide(folder, number, [key for key in folder.remaining() if key.task_id in seen])
    decision = cast("Decision", found)
    folder.note("look", found.model_dump(mode="json"))
    progress.note(f"Look {number} of {len(batches)}: {decision.reason}")
    return None if decision.reason == "continue" else found


def _outcome(
    folder: RunFolder,
    outcome: SessionOutcome,
    budget: RunBudget,
    abandoned: int,
    stopped: Record | None,
) -> RunOutcome:
    folder.verify()
    results = list(folder.standings)
    suspects = [result for result in results if result.suspect]
    decision = cast("Decision | None", stopped)
    unscored = sum(result.status.done and not result.status.scored for result in results)
    rescore, rescored = scored_later(read_run(folder.path)) if unscored else (None, 0)
    return RunOutcome(
        run_id=folder.info.run_id,
        folder=str(folder.path),
        outcome=outcome,
        planned=len(folder.tasks) * folder.info.trials,
        remaining=0 if decision and decision.stops else len(folder.remaining()),
        stopped=decision.reason if decision else None,
        scored=sum(result.status.scored for result in results),
        succeeded=sum(bool(result.success) for result in results),
        unscored=unscored,
        rescored=rescored,
        rescore=None if rescore is None else str(rescore),
        suspects=len(suspects),
        suspects_succeeded=sum(bool(result.success) for result in suspects),
        statuses=dict(sorted(Counter(result.status.value for result in results).items())),
        spent=budget.spent,
        abandoned=abandoned,
    )


def _note_foreign(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Keep tracebacks of tasks that foreign code left behind off the user's terminal.

    A trial's own errors are in its record; coroutines that an agent's library forgot to await, above all
    while it is cancelled, say nothing about the run.
    """
    _log.debug("%s", context["message"], exc_info=context.get("exception"))
