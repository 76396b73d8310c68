"""Looks at the declared comparisons of a study while it runs, and which of its runs they end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from typing_extensions import Self

from bench_core.records import SUCCESS_SCORE, TrialResult
from bench_core.statistics.looks import Look, look_at
from bench_core.studies.declaration import DeclaredLooks, SealedStudy
from bench_core.studies.order import RunName
from bench_core.studies.study_file import Study

__all__ = ["StudyLooks"]


class StudyLooks:
    """Takes the declared looks as soon as their batches are complete in both arms.

    The finding of a look follows from the stored results of its batches alone, so that a study that
    was killed decides the same when it goes on, and anyone who has its folder finds the same.

    Args:
        declared: The looks in the study's seal.
        trials: Of each task by each arm.
        needed: Runs that go on in any case: those of arms that some comparison needs to the end.
    """

    def __init__(
        self, declared: Sequence[DeclaredLooks], trials: int, needed: Iterable[RunName] = ()
    ) -> None:
        self._declared = declared
        self._trials = trials
        self._needed = frozenset(needed)
        self._scores = defaultdict[tuple[RunName, str], dict[int, float | None]](dict)
        self._done: list[list[Look]] = [[] for _ in declared]

    @classmethod
    def of(cls, study: Study, sealed: SealedStudy) -> Self:
        """Return the declared looks; arms that a comparison without looks needs run to their end."""
        needed = (
            RunName(benchmark, arm)
            for comparison in study.comparisons
            if comparison.looks == 1
            for benchmark in comparison.benchmarks
            for arm in (comparison.baseline, *comparison.arms)
        )
        return cls(sealed.looks, sealed.trials, needed)

    def add(self, name: RunName, result: TrialResult) -> list[tuple[DeclaredLooks, Look]]:
        """Count a trial and return the looks that it completes."""
        if not self._declared or not result.status.done:
            return []
        self._scores[name, result.task_id][result.trial] = result.score
        found = []
        for pair, done in zip(self._declared, self._done, strict=True):
            if name not in _runs_of(pair):
                continue
            while len(done) < len(pair.plan.batches) and self._complete(pair, len(done)):
                if done and done[-1].stops:
                    break
                done.append(self._look(pair, len(done) + 1))
                found.append((pair, done[-1]))
        return found

    @property
    def decided(self) -> frozenset[RunName]:
        """The runs that need no more trials, as all their pairs are decided."""
        open_: set[RunName] = set(self._needed)
        seen: set[RunName] = set()
        for pair, done in zip(self._declared, self._done, strict=True):
            runs = _runs_of(pair)
            seen.update(runs)
            if not (done and done[-1].stops):
                open_.update(runs)
        return frozenset(seen - open_)

    @property
    def looks(self) -> list[tuple[DeclaredLooks, Look]]:
        """All looks so far."""
        return [
            (pair, look)
            for pair, done in zip(self._declared, self._done, strict=True)
            for look in done
        ]

    def _complete(self, pair: DeclaredLooks, batch: int) -> bool:
        return all(
            len(self._scores[run, task]) >= self._trials
            for run in _runs_of(pair)
            for task in pair.plan.batches[batch]
        )

    def _look(self, pair: DeclaredLooks, number: int) -> Look:
        tasks = [task for batch in pair.plan.batches[:number] for task in batch]
        baseline, arm = (self._outcomes(run, pair.outcome, tasks) for run in _runs_of(pair))
        scores = {task: tuple(own) for task, own in baseline.items()}
        return look_at(pair.plan.model_copy(update={"baseline_scores": scores}), number, arm)

    def _outcomes(self, run: RunName, outcome: str, tasks: Iterable[str]) -> dict[str, list[float]]:
        """Return the outcomes so far of each task's scored trials."""
        found = {}
        for task in tasks:
            own = [each for _, each in sorted(self._scores[run, task].items()) if each is not None]
            if outcome == "success_rate":
                own = [float(each >= SUCCESS_SCORE) for each in own]
            if own:
                found[task] = own
        return found


def _runs_of(pair: DeclaredLooks) -> tuple[RunName, RunName]:
    return RunName(pair.benchmark, pair.baseline), RunName(pair.benchmark, pair.arm)
