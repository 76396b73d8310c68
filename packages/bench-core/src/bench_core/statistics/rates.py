"""The default intervals for success rates of repeated trials, and for template macro averages.

Two questions are kept apart. *New tasks*: the rate on other tasks of this kind. Tasks (or
templates) are the sample, so their spread counts. *Same tasks*: the rate if exactly these tasks
ran again. Only the noise between trials of one task counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.statistics.clustering import (
    Clusters,
    Key,
    Scores,
    WeightedMean,
    macro_mean,
    reduce_tasks,
    task_mean,
)
from bench_core.statistics.dirichlet import rare_limits
from bench_core.statistics.intervals import Estimand, Interval
from bench_core.statistics.proportions import t_or_normal_quantile, wilson_limits

FEW_CLUSTERS = 5
"""Below this many effective clusters an interval gets a note: no method is reliable there."""
_UNEQUAL = 0.5
"""Clusters that count for less than this share of their number get a note."""
_MOVED = 0.25
"""By this share of the way to the rate after add-two an interval's centre may move: with 12 clusters at rates of 10
or 90% the end towards 1/2 is else too near in 7% of cases; all of the way makes one in four a third wider."""
_POOLED = 0.5
"""The least share of the variance pooled over templates that the jackknife's may be: with 270 templates by Zipf's law
that are alike an interval else covers 88%."""


def success_rate_interval(
    scores: Scores[Key],
    *,
    clusters: Clusters[Key] | None = None,
    estimand: Estimand = "new_tasks",
    level: float = 0.95,
) -> Interval:
    """Return the rate over tasks with the default interval for `estimand`.

    New tasks: Wilson on the effective sample size (the design effect by the jackknife over clusters),
    with Student's t on the effective number of clusters (Kish 1965) - 1. If clusters have several
    trials, the variance is at least that after one success and one failure were added, which is
    valid at rates near 0 and 1, too; if at most three clusters have the rarer outcome, the interval
    is joined with Gaffke's limit towards it, which needs no variance. Same tasks: the stratified
    analytic variance and that of one more task, turned into a Wilson interval in the same way.
    Scores between 0 and 1 are at most as variable as 0/1 outcomes of the same mean, so both stay
    valid (conservative) for them; scores beyond give a plain t interval, named so.

    Args:
        scores: Task id to the scores of its trials (numbers of trials may differ; unscored trials
            are left out).
        clusters: Task id to template; tasks of one template are one cluster.
        estimand: `"new_tasks"` or `"same_tasks"`.
        level: Nominal confidence.

    Raises:
        NotEstimableError: Nothing was scored; one cluster only, or three that carry most of the
            weight (new tasks); no task with two trials (same tasks); scores beyond 0 to 1 that do
            not vary.

    >>> print(success_rate_interval({"a": [1, 1, 0], "b": [0, 0, 0], "c": [1, 1, 1]}))
    0.556 [0.043, 0.971]
    """
    return interval_of(task_mean(reduce_tasks(scores, clusters)), estimand=estimand, level=level)


def macro_average_interval(
    scores: Scores[Key],
    templates: Clusters[Key],
    *,
    estimand: Estimand = "new_tasks",
    level: float = 0.95,
) -> Interval:
    """Return the mean over templates of the mean over their tasks, with the default interval.

    As `success_rate_interval`, with every template weighing the same; tasks without a template are
    one of their own.

    Raises:
        NotEstimableError: As `success_rate_interval`.

    >>> scores = {"a": [1], "b": [0], "c": [0], "d": [1]}
    >>> print(macro_average_interval(scores, {"a": "t", "b": "t", "c": "u", "d": "v"}))
    0.500 [0.036, 0.964]
    """
    return interval_of(macro_mean(reduce_tasks(scores, templates)), estimand=estimand, level=level)


def interval_of(mean: WeightedMean, *, estimand: Estimand, level: float = 0.95) -> Interval:
    """Put the default interval for `estimand` on a weighted mean.

    Raises:
        NotEstimableError: The data cannot answer that question.

    >>> from bench_core.statistics.clustering import reduce_tasks, task_mean
    >>> mean = task_mean(reduce_tasks({"a": [1, 0], "b": [1, 1]}))
    >>> print(interval_of(mean, estimand="same_tasks"))
    0.750 [0.161, 0.979]
    """
    if estimand == "new_tasks":
        found = _new_tasks(mean, level)
    elif estimand == "same_tasks":
        found = _same_tasks(mean, level)
    else:
        raise ValueError(f"a mean of scores has no interval for the estimand {estimand!r}")
    return Interval(
        estimate=mean.estimate,
        level=level,
        estimand=estimand,
        n=mean.trials,
        tasks=len(mean.tasks),
        clusters=mean.clusters,
        **found._asdict(),
    )


class _Found(NamedTuple):
    low: float
    high: float
    method: str
    notes: tuple[str, ...]
    effective_n: float | None = None


def _new_tasks(mean: WeightedMean, level: float) -> _Found:
    if mean.clusters == 1:
        raise NotEstimableError(
            "all scored trials are of one cluster (one task or template), which says nothing "
            "about how others differ: add tasks"
        )
    clusters = mean.effective_clusters
    variance = mean.variance_over_new_tasks()
    quantile = t_or_normal_quantile(level, clusters - 1.0)
    notes = _cluster_notes(mean.clusters, clusters)
    if not mean.bounded:
        return _unbounded(mean, variance, quantile, "cluster-robust t", notes)
    lowest, highest = mean.effective_n_bounds()
    heaviest = max(mean.cluster_weights())
    # as little as if every cluster deviated as far as one of the heaviest can
    least = min(lowest, 1.0 / (mean.clusters * heaviest**2))
    variance = max(variance, _POOLED * mean.pooled_variance())
    effective = _effective_n(mean.estimate, variance, none=lowest, certain=highest)
    effective = min(max(effective, least), highest)
    method = "Wilson on the effective sample size, t quantile on effective clusters - 1"
    middle = mean.estimate
    if mean.clusters < mean.trials:
        method += ", variance and centre stabilised by add-two"
        added, added_variance = _add_two(mean, variance, math.sqrt(lowest * max(lowest, effective)))
        effective = max(min(effective, added * (1.0 - added) / added_variance), least)
        middle += _MOVED * (added - mean.estimate)
    either = [wilson_limits(each, effective, quantile) for each in (mean.estimate, middle)]
    rare = rare_limits(*mean.cluster_totals(), level=level)
    if rare is not None:
        method += ", joined with Dirichlet limits"
        either.append(rare)
    low, high = min(low for low, _ in either), max(high for _, high in either)
    return _Found(low, high, method, notes, effective)


def _cluster_notes(clusters: int, effective: float) -> tuple[str, ...]:
    """Warn if clusters are few, by number or by weight."""
    worth = f" of unequal weight, worth {effective:.1f}" if effective < clusters else ""
    if effective < FEW_CLUSTERS:
        return (f"insufficient clusters: {clusters}{worth}, at least {FEW_CLUSTERS} are needed",)
    if effective < _UNEQUAL * clusters:
        return (f"clusters of unequal weight: {clusters} count for {effective:.0f}",)
    return ()


def _same_tasks(mean: WeightedMean, level: float) -> _Found:
    single = sum(task.trials == 1 for task in mean.tasks)
    if single == len(mean.tasks):
        raise NotEstimableError(
            "with one trial per task nothing shows how much a task's outcome varies between "
            "trials: run at least two trials per task"
        )
    note = (
        f"tasks with one trial do not show their noise ({single}): the interval assumes as much as their outcomes "
        "allow, and is right only if no trial is missing because of how it would have ended"
    )
    notes = (note,) if single else ()
    quantile = t_or_normal_quantile(level, None)
    variance = mean.variance_over_same_tasks()
    if not mean.bounded:
        return _unbounded(mean, variance, quantile, "stratified normal", notes)
    _, trials = mean.effective_n_bounds()
    effective = _effective_n(mean.estimate, variance, none=trials, certain=trials)
    method = "Wilson on the effective sample size of the stratified variance"
    low, high = wilson_limits(mean.estimate, effective, quantile)
    return _Found(low, high, method, notes, effective)


def _add_two(mean: WeightedMean, variance: float, number: float) -> tuple[float, float]:
    """Return rate and variance with one success and one failure added to `number` observations.

    At rates near 0 and 1 the variance comes from the few clusters with the rarer outcome; if
    clusters differ in size, it is often too small. Agresti and Coull (1998), American Statistician
    52:119, do this for proportions. `number` lies between the number of clusters, as if trials of
    one agreed entirely, and the number that the variance shows.
    """
    weight = number + 2.0
    middle = (mean.estimate * number + 1.0) / weight
    return middle, (variance * number**2 + middle**2 + (1.0 - middle) ** 2) / weight**2


def _effective_n(estimate: float, variance: float, *, none: float, certain: float) -> float:
    """How many independent 0/1 observations would have this variance.

    `none` is the answer for all successes or all failures, with variance and spread both zero;
    `certain` for a spread without variance.
    """
    spread = estimate * (1.0 - estimate)
    if spread <= 0.0:
        return none
    return spread / variance if variance > 0.0 else certain


def _unbounded(
    mean: WeightedMean, variance: float, quantile: float, method: str, notes: tuple[str, ...]
) -> _Found:
    if variance <= 0.0:
        raise NotEstimableError(
            "scores outside 0 to 1 that are all alike do not show how much others vary"
        )
    half = quantile * math.sqrt(variance)
    notes = (*notes, "scores outside 0 to 1: no Wilson interval")
    return _Found(mean.estimate - half, mean.estimate + half, method, notes)
