"""How the runs of a study share workers and money: whose turn it is, and how much is left to spend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from bench_core.budgets import RunBudget
from bench_core.progress.interface import NoProgress, Progress
from bench_core.records import Event, SessionOutcome, TrialKey, TrialResult
from bench_core.run_folder.folder import RunFolder
from bench_core.run_spec import PlannedTrial
from bench_core.scheduling.turns import TurnTaker
from bench_core.studies.looking import StudyLooks
from bench_core.studies.order import Block, RunName

__all__ = ["ArmBudget", "Group", "RunProgress", "RunTurns"]


class ArmBudget(RunBudget):
    """Limits of an arm on all benchmarks together; its hours are those of its trials, added up."""

    @property
    def seconds_left(self) -> float | None:
        """Never ended by the clock: hours pass only while a trial of the arm runs."""
        return None


class Group:
    """The runs that take turns: the run that can start a trial and comes first in the order starts.

    One guard of the process stops it, in place of many schedulers.

    Args:
        path: The study's folder.
        workers: Trials at once, of all runs together.
        looks: Say which runs need no more trials.
        expected: The runs that take turns: none begins before all are open, or have failed.
    """

    def __init__(
        self, path: Path, workers: int, looks: StudyLooks, expected: Iterable[RunName]
    ) -> None:
        self.path = path
        self._expected = set(expected)
        self._workers = workers
        self._looks = looks
        self._schedulers: dict[TurnTaker, RunTurns] = {}
        self._stopped = False
        self._ran = False

    def start(self, scheduler: TurnTaker, its_turns: RunTurns) -> None:
        """Start every trial that may start now, of any run."""
        for before in [each for each, its in self._schedulers.items() if its is its_turns]:
            if before is not scheduler:
                del self._schedulers[before]  # it has ended: a run has one at a time
        if self._stopped and scheduler not in self._schedulers:
            scheduler.stop()  # it came after `stop`, which stopped the others
        self._schedulers[scheduler] = its_turns
        self._expected.discard(its_turns.name)
        self._start_all()

    def leave(self, name: RunName) -> None:
        """Go on without a run that has ended, or could not begin."""
        self._expected.discard(name)
        for each in [each for each, its in self._schedulers.items() if its.name == name]:
            del self._schedulers[each]
        self._start_all()

    def _start_all(self) -> None:
        if self._expected:
            return
        decided = self._looks.decided
        for waiting, its in self._schedulers.items():
            if its.name in decided:
                waiting.leave()
        while self._start_one():
            pass
        if self._ran and not self.in_flight:
            for each in self._schedulers:
                each.look_again()  # no running trial is left to wake it when it ends
        self._ran = bool(self.in_flight)

    @property
    def busy(self) -> bool:
        """Whether trials run, or runs are still opened."""
        return bool(self._expected) or self.in_flight > 0

    def _start_one(self) -> bool:
        running = self.in_flight
        one_alone = any(each.alone and each.in_flight for each in self._schedulers)
        if one_alone or running >= self._workers:
            return False
        for scheduler, its_turns in sorted(
            self._schedulers.items(), key=lambda each: each[1].place
        ):
            if running and scheduler.alone:
                continue  # until nothing else runs, in no other arm either
            key = scheduler.start_next()
            if key is not None:
                its_turns.begun.add(key)
                return True
        return False

    @property
    def in_flight(self) -> int:
        """How many trials run now."""
        return sum(each.in_flight for each in self._schedulers)

    def stop(self) -> None:
        """Start nothing more, cancel running trials, and let all runs end."""
        self._stopped = True
        for each in list(self._schedulers):
            each.stop()

    def running(self) -> list[TrialKey]:
        """Return the trials that run now; safe to call from any thread."""
        return [key for each in list(self._schedulers) for key in each.running()]

    def kill_processes(self) -> None:
        """Kill every process group that trials reported; safe to call from any thread."""
        for each in list(self._schedulers):
            each.kill_processes()

    def event(self, event: Event) -> None:
        """Keep an event in the folder of each run."""
        for each in list(self._schedulers):
            each.sink.event(event)

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(timezone.utc)

    def finish(self, outcome: SessionOutcome) -> None:
        """Record how this session of each run ended."""
        for each in list(self._schedulers):
            if isinstance(each.sink, RunFolder):
                each.sink.finish(outcome)


class RunTurns:
    """The turns of one run; see `bench_core.scheduling.turns.Turns`.

    Args:
        name: The run.
        group: All that take turns with it.
        blocks: The order of the study.
        budgets: Budgets that the run shares.
        only: The trials to run now; None for all.
    """

    def __init__(
        self,
        name: RunName,
        group: Group,
        blocks: Sequence[Block],
        budgets: Sequence[RunBudget],
        only: frozenset[TrialKey] | None = None,
    ) -> None:
        self._only = only
        self.name = name
        self.budgets = budgets
        self.begun: set[TrialKey] = set()
        self._group = group
        size = 1 + max((len(each.arms) for each in blocks), default=0)
        self._places = {
            block.key: number * size + block.arms.index(name.arm)
            for number, block in enumerate(blocks)
            if block.benchmark == name.benchmark and name.arm in block.arms
        }
        self._in_order = sorted(self._places.values())
        self._before = 0

    def order(self, keys: Sequence[TrialKey]) -> list[TrialKey]:
        """Return the run's trials that are left, in the order of the study."""
        self._before = len(self._places) - len(keys)
        self.begun.clear()
        wanted = [key for key in keys if self._only is None or key in self._only]
        return sorted(wanted, key=lambda key: self._places.get(key, len(self._in_order)))

    @property
    def place(self) -> int:
        """The run's place in the order: after as many trials as it has done or begun."""
        done = self._before + len(self.begun)
        return self._in_order[min(done, len(self._in_order) - 1)]

    @property
    def others_run(self) -> bool:
        """Whether a trial of any run is under way, or will be."""
        return self._group.busy

    def start(self, scheduler: TurnTaker) -> None:
        """Have the run start a trial whose turn it is."""
        self._group.start(scheduler, self)


class RunProgress(NoProgress):
    """Passes on the events of one run as a part of the study.

    Args:
        name: The run.
        shown: Shows the study.
        on_finished: Receives the result of each trial.
    """

    def __init__(
        self, name: RunName, shown: Progress, on_finished: Callable[[RunName, TrialResult], None]
    ) -> None:
        self._name = name
        self._shown = shown
        self._on_finished = on_finished

    def started(self, trial: PlannedTrial, attempt: int) -> None:
        """An attempt has started."""
        key = trial.key.model_copy(update={"task_id": f"{self._name}/{trial.key.task_id}"})
        self._shown.started(trial.model_copy(update={"key": key}), attempt)

    def retrying(self, result: TrialResult, delay_s: float) -> None:
        """An attempt failed and the trial is tried again."""
        self._shown.retrying(self._named(result), delay_s)

    def finished(self, result: TrialResult) -> None:
        """A trial has its result for this session."""
        self._shown.finished(self._named(result))
        self._on_finished(self._name, result)

    def note(self, text: str) -> None:
        """Something people should know."""
        self._shown.note(f"{self._name}: {text}")

    def _named(self, result: TrialResult) -> TrialResult:
        return result.model_copy(update={"task_id": f"{self._name}/{result.task_id}"})
