"""Scores of repeated trials, reduced to what intervals need: weighted means and their variance.

An estimate is a weighted mean over tasks of each task's mean over its trials. Every task weighing
the same gives the overall rate; every template weighing the same gives the macro average.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from bench_core.errors import NotEstimableError
from bench_core.records import LARGEST_SCORE

Key = TypeVar("Key", bound=Hashable)
Scores = Mapping[Key, Sequence[float]]
"""Task id to the scores of its trials. Trials without a score are left out, not scored 0."""
Clusters = Mapping[Key, Hashable]
"""Task id to the group (template) that makes tasks alike; absent tasks stand alone."""

_Moments: TypeAlias = "tuple[float, int, float | None]"


class TaskMean(NamedTuple):
    """One task: its cluster, mean score, number of trials and variance between its trials."""

    cluster: Hashable
    mean: float
    trials: int
    variance: float | None


class WeightedMean(NamedTuple):
    """A weighted mean of task means, with what is needed to put an interval on it."""

    tasks: Sequence[TaskMean]
    weights: Sequence[float]
    estimate: float
    clusters: int
    trials: int
    bounded: bool

    def variance_over_new_tasks(self) -> float:
        """Cluster-robust variance (Liang and Zeger 1986) with the factor C / (C - 1)."""
        totals: defaultdict[Hashable, float] = defaultdict(float)
        for task, weight in zip(self.tasks, self.weights, strict=True):
            totals[task.cluster] += weight * (task.mean - self.estimate)
        squares = math.fsum(total * total for total in totals.values())
        return squares * self.clusters / (self.clusters - 1)

    def variance_over_same_tasks(self) -> float:
        """Stratified variance: trial noise only, from unbiased within-task variances.

        Tasks with a single trial get the mean variance of the others.
        """
        known = [task.variance for task in self.tasks if task.variance is not None]
        mean = math.fsum(known) / len(known)
        return math.fsum(
            weight * weight * (mean if task.variance is None else task.variance) / task.trials
            for task, weight in zip(self.tasks, self.weights, strict=True)
        )

    def effective_n_bounds(self) -> tuple[float, float]:
        """Effective sizes if trials of a cluster agreed entirely, and if not at all.

        Tasks and trials when all clusters and tasks are of one size; Kish's (sum w)^2 / sum w^2
        otherwise.
        """
        totals: defaultdict[Hashable, float] = defaultdict(float)
        per_trial = 0.0
        for task, weight in zip(self.tasks, self.weights, strict=True):
            totals[task.cluster] += weight
            per_trial += weight * weight / task.trials
        lowest = 1.0 / math.fsum(total * total for total in totals.values())
        return lowest, max(lowest, 1.0 / per_trial)

    def cluster_totals(self) -> tuple[list[float], list[float]]:
        """What each cluster adds to the mean, and its weight; both times the number of clusters."""
        totals: defaultdict[Hashable, float] = defaultdict(float)
        sizes: defaultdict[Hashable, float] = defaultdict(float)
        for task, weight in zip(self.tasks, self.weights, strict=True):
            totals[task.cluster] += self.clusters * weight * task.mean
            sizes[task.cluster] += self.clusters * weight
        return list(totals.values()), list(sizes.values())

    @property
    def single_trial_tasks(self) -> int:
        """How many tasks have one trial only."""
        return sum(task.trials == 1 for task in self.tasks)


def reduce_tasks(scores: Scores[Key], clusters: Clusters[Key] | None = None) -> list[TaskMean]:
    """Reduce each task's scores to their mean and variance; tasks without a score are skipped.

    >>> reduce_tasks({"a": [1, 0], "b": []}, {"a": "template"})
    [TaskMean(cluster='template', mean=0.5, trials=2, variance=0.5)]
    """
    grouping = clusters or {}
    known: dict[tuple[float, ...], _Moments] = {}
    reduced: list[TaskMean] = []
    for key, values in scores.items():
        if not len(values):
            continue
        pattern = tuple(values)
        # A few trials of outcomes 0 and 1 come in a few patterns only.
        moments = known.get(pattern) or known.setdefault(pattern, _moments(pattern))
        reduced.append(TaskMean(grouping.get(key, (key,)), *moments))
    return reduced


def finite(scores: Sequence[float]) -> Sequence[float]:
    """Return scores as they are, refusing what is no number, and numbers whose squares are none.

    Raises:
        ValueError: A score is NaN, infinite or larger than `LARGEST_SCORE`.

    >>> finite([0.5, 1])
    [0.5, 1]
    """
    # this order: a NaN is neither more nor less
    if not all(map(math.isfinite, scores)) or max(map(abs, scores), default=0.0) > LARGEST_SCORE:
        wrong = next(each for each in scores if not abs(each) <= LARGEST_SCORE)
        raise ValueError(f"a score is {wrong!r}: leave trials without a score out")
    return scores


def task_mean(tasks: Sequence[TaskMean]) -> WeightedMean:
    """Average over tasks, each weighing the same.

    Raises:
        NotEstimableError: There is no task.

    >>> task_mean(reduce_tasks({"a": [1, 0], "b": [1, 1]})).estimate
    0.75
    """
    _require_some(tasks)
    return _weighted(tasks, [1.0 / len(tasks)] * len(tasks))


def macro_mean(tasks: Sequence[TaskMean]) -> WeightedMean:
    """Average over clusters of the mean over their tasks, each cluster weighing the same.

    Raises:
        NotEstimableError: There is no task.

    >>> macro_mean(reduce_tasks({"a": [1], "b": [1], "c": [0]}, {"a": "t", "b": "t"})).estimate
    0.5
    """
    _require_some(tasks)
    sizes = Counter(task.cluster for task in tasks)
    return _weighted(tasks, [1.0 / (len(sizes) * sizes[task.cluster]) for task in tasks])


def _require_some(tasks: Sequence[TaskMean]) -> None:
    if not tasks:
        raise NotEstimableError("no trial was scored, so there is no rate to estimate")


def _moments(scores: Sequence[float]) -> _Moments:
    """Return mean, number and unbiased variance (`None` for a single score)."""
    trials = len(finite(scores))
    mean = math.fsum(scores) / trials
    if trials == 1:
        return mean, 1, None
    return mean, trials, math.fsum((score - mean) ** 2 for score in scores) / (trials - 1)


def _weighted(tasks: Sequence[TaskMean], weights: Sequence[float]) -> WeightedMean:
    return WeightedMean(
        tasks=tasks,
        weights=weights,
        estimate=math.fsum(weight * task.mean for task, weight in zip(tasks, weights, strict=True)),
        clusters=len({task.cluster for task in tasks}),
        trials=sum(task.trials for task in tasks),
        bounded=all(0.0 <= task.mean <= 1.0 for task in tasks),
    )
