"""Scores of repeated trials, reduced to the weighted means and variances that intervals need.

An estimate is a weighted mean over tasks of each task's mean over its trials. Every task weighing
the same gives the overall rate; every template weighing the same gives the macro average.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from statistics import variance
from typing import NamedTuple, TypeAlias, TypeVar

from bench_core.errors import NotEstimableError
from bench_core.records import LARGEST_SCORE
from bench_core.statistics.proportions import wilson_limits

Key = TypeVar("Key", bound=Hashable)
Scores = Mapping[Key, Sequence[float]]
"""Task id to the scores of its trials. Trials without a score are left out, not scored 0."""
Clusters = Mapping[Key, Hashable]
"""Task id to the group (template) that makes tasks alike; absent tasks stand alone."""

_LARGEST, _MOST, _ABOUT_EQUAL = 3, 0.5, 0.8
"""So many of the largest clusters with more than this share of the weight are too much for an interval,
unless clusters, few as they may be, count for this share of their number."""

_COIN = 0.25
"""The variance of a fair coin, the largest of an outcome between 0 and 1."""

_ALLOWED = 1.645
"""Normal quantile that a rate lies below in 19 of 20 cases."""

_Moments: TypeAlias = "tuple[float, int, float | None]"


class TaskMean(NamedTuple):
    """One task: its cluster, mean score, number of trials and variance between its trials."""

    cluster: Hashable
    mean: float
    trials: int
    variance: float | None


class WeightedMean(NamedTuple):
    """A weighted mean of task means, with all that an interval on it needs."""

    tasks: Sequence[TaskMean]
    weights: Sequence[float]
    estimate: float
    clusters: int
    trials: int
    bounded: bool

    def cluster_weights(self) -> list[float]:
        """The share of the mean that each cluster makes."""
        totals: defaultdict[Hashable, float] = defaultdict(float)
        for task, weight in zip(self.tasks, self.weights, strict=True):
            totals[task.cluster] += weight
        return list(totals.values())

    @property
    def effective_clusters(self) -> float:
        """How many clusters of equal weight say as much: Kish's (sum w)^2 / sum w^2."""
        # rounded, so that n clusters of equal weight count as exactly n
        return round(1.0 / math.fsum(weight * weight for weight in self.cluster_weights()), 9)

    def variance_over_new_tasks(self) -> float:
        """Variance by the jackknife over clusters (CR3; Bell and McCaffrey 2002).

        With clusters of equal weight it is Liang and Zeger's with the factor C / (C - 1). A cluster
        of large weight pulls the mean towards itself, so that its own deviation looks too small:
        the jackknife undoes that.

        Raises:
            NotEstimableError: Three clusters carry most of the weight.
        """
        require_spread(self.cluster_weights())
        totals: defaultdict[Hashable, float] = defaultdict(float)
        for task, weight in zip(self.tasks, self.weights, strict=True):
            totals[task.cluster] += weight * (task.mean - self.estimate)
        pulled = zip(totals.values(), self.cluster_weights(), strict=True)
        squares = math.fsum((total / (1.0 - weight)) ** 2 for total, weight in pulled)
        return squares * (self.clusters - 1) / self.clusters

    def pooled_variance(self) -> float:
        """Variance of the clusters of several tasks if the tasks of all of them agree alike.

        The jackknife sees the largest clusters only by their own deviations: if those happen to
        lie near the mean, it is far too small.
        """
        totals, sizes = self.cluster_totals()
        numbers = Counter(task.cluster for task in self.tasks).values()
        spread = self.estimate * (1.0 - self.estimate)
        several = [
            (total / size, size / self.clusters, 1.0 / number)
            for total, size, number in zip(totals, sizes, numbers, strict=True)
            if number > 1
        ]
        if not several or spread <= 0.0:
            return 0.0
        squares = math.fsum((mean - self.estimate) ** 2 for mean, _, _ in several) / spread
        alone = math.fsum(part for _, _, part in several)
        alike = min(max((squares - alone) / (len(several) - alone), 0.0), 1.0)
        # tasks whose trials do not agree vary less than those of single trials
        kept = (1.0 - alike) * min(1.0, squares / alone)
        return spread * math.fsum(w * w * (alike + kept * part) for _, w, part in several)

    def variance_over_same_tasks(self) -> float:
        """Stratified variance: trial noise only, from unbiased within-task variances.

        Tasks with a single trial do not show their noise, which is at most that of one coin for all
        of them; its chance is the one nearest to 1/2 of those that their rate allows. A few tasks
        with noise look too certain whenever they agree with themselves: one more task with the
        noise of a fair coin counts, unless there is none at all.

        Raises:
            NotEstimableError: Scores are beyond 0 to 1, and one task has a single trial.
        """
        each = [(w * w, task) for w, task in zip(self.weights, self.tasks, strict=True)]
        found = math.fsum(s * task.variance / task.trials for s, task in each if task.variance)
        if found and self.bounded:
            found += max(s * _COIN / (t.trials - 1) for s, t in each if t.trials > 1)
        if single := [(square, task.mean) for square, task in each if task.variance is None]:
            total = math.fsum(square for square, _ in single)
            number = total * total / math.fsum(square * square for square, _ in single)
            mean = math.fsum(square * value for square, value in single) / total
            if self.bounded:
                low, high = wilson_limits(mean, number, _ALLOWED)
                chance = min(max(low, 0.5), high)
                found += total * chance * (1.0 - chance)
            elif len(single) > 1:
                found += total * variance(value for _, value in single)
            else:
                raise NotEstimableError(
                    "one task has one trial, and scores beyond 0 to 1 say nothing of its noise: run it again"
                )
        return found

    def effective_n_bounds(self) -> tuple[float, float]:
        """Effective sizes if trials of a cluster agreed entirely, and if not at all.

        Tasks and trials when all clusters and tasks are of one size; Kish's otherwise.
        """
        each = zip(self.tasks, self.weights, strict=True)
        lowest = self.effective_clusters
        return lowest, max(lowest, 1.0 / math.fsum(w * w / task.trials for task, w in each))

    def cluster_totals(self) -> tuple[list[float], list[float]]:
        """Return each cluster's part of the mean and its weight, both times the number of clusters."""
        totals: defaultdict[Hashable, float] = defaultdict(float)
        for task, weight in zip(self.tasks, self.weights, strict=True):
            totals[task.cluster] += self.clusters * weight * task.mean
        return list(totals.values()), [self.clusters * each for each in self.cluster_weights()]


def require_spread(weights: Sequence[float]) -> None:
    """Refuse clusters of which three carry most of the weight because they are larger than the rest.

    A mean of them is about these three, and nothing shows how much three others would differ. Five
    clusters or fewer of about the same weight are few, but each says as much as another.

    Args:
        weights: The share of the mean that each cluster makes; they sum to 1.

    Raises:
        NotEstimableError: They do.

    >>> require_spread([0.25] * 4)
    """
    share = math.fsum(sorted(weights)[-_LARGEST:])
    effective = 1.0 / math.fsum(weight * weight for weight in weights)
    if share > _MOST and effective < _ABOUT_EQUAL * len(weights):
        raise NotEstimableError(
            f"the {min(_LARGEST, len(weights))} largest of {len(weights)} independent groups of tasks "
            f"carry {share:.0%} of the weight, so that the mean is mostly about them and says little "
            "about others: average over templates, or add tasks of others"
        )


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
    """Return scores as they are, refusing any that is not finite or whose square would overflow.

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
        NotEstimableError: `tasks` is empty.

    >>> task_mean(reduce_tasks({"a": [1, 0], "b": [1, 1]})).estimate
    0.75
    """
    return _weighted(tasks, [1.0 / len(tasks) for _ in tasks])


def macro_mean(tasks: Sequence[TaskMean]) -> WeightedMean:
    """Average over clusters of the mean over their tasks, each cluster weighing the same.

    Raises:
        NotEstimableError: `tasks` is empty.

    >>> macro_mean(reduce_tasks({"a": [1], "b": [1], "c": [0]}, {"a": "t", "b": "t"})).estimate
    0.5
    """
    sizes = Counter(task.cluster for task in tasks)
    return _weighted(tasks, [1.0 / (len(sizes) * sizes[task.cluster]) for task in tasks])


def _moments(scores: Sequence[float]) -> _Moments:
    """Return mean, number and unbiased variance (`None` for a single score)."""
    trials = len(finite(scores))
    mean = math.fsum(scores) / trials
    if trials == 1:
        return mean, 1, None
    return mean, trials, math.fsum((score - mean) ** 2 for score in scores) / (trials - 1)


def _weighted(tasks: Sequence[TaskMean], weights: Sequence[float]) -> WeightedMean:
    if not tasks:
        raise NotEstimableError("no trial was scored, so there is no rate to estimate")
    return WeightedMean(
        tasks=tasks,
        weights=weights,
        estimate=math.fsum(weight * task.mean for task, weight in zip(tasks, weights, strict=True)),
        clusters=len({task.cluster for task in tasks}),
        trials=sum(task.trials for task in tasks),
        bounded=all(0.0 <= task.mean <= 1.0 for task in tasks),
    )
