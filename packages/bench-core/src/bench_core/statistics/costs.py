"""Totals and spread of the tokens, dollars, seconds and steps that trials used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from bench_core.errors import NotEstimableError
from bench_core.statistics.clustering import Clusters, Key, Scores, reduce_tasks, task_mean
from bench_core.statistics.intervals import Interval
from bench_core.statistics.proportions import t_or_normal_quantile
from bench_core.statistics.summary_records import Distribution

_SAME = 1e-9
"""Costs that differ by less than this share of them are the same but for rounding."""
_LARGEST_LOG = 700.0


def describe(values: Iterable[float | None]) -> Distribution:
    """Describe how values are spread; `None` is counted as unknown.

    The median and 90th percentile interpolate linearly (Hyndman and Fan's type 7, as numpy).

    >>> describe([1.0, 3.0, None]).median
    2.0
    """
    everything = list(values)
    known = sorted([value for value in everything if value is not None])
    if not known:
        return Distribution(known=0, unknown=len(everything))
    total = math.fsum(known)
    return Distribution(
        known=len(known),
        unknown=len(everything) - len(known),
        total=total,
        mean=total / len(known),
        median=_quantile(known, 0.5),
        p90=_quantile(known, 0.9),
        largest=known[-1],
    )


def cost_interval(
    costs: Scores[Key], *, clusters: Clusters[Key] | None = None, level: float = 0.95
) -> Interval:
    """Return the mean cost of a trial of a new task, each task counting once.

    Costs have tails: few trials use most of the money, and if none of these was seen the mean and
    its standard error are both too small, so that t alone covers 54 to 92% for lognormal costs. The
    interval joins it with Cox's for lognormal costs, on the logarithms of the clusters' costs
    (Olsson 2005, Journal of Statistics Education 13:1, with t for z), whose upper end allows for it.

    Args:
        costs: Task id to the costs of its trials, in one currency; those that are unknown left out.
        clusters: Task id to template; tasks of one template are one cluster.
        level: Nominal confidence.

    Raises:
        NotEstimableError: `costs` is empty or of one cluster; three clusters carry most
            of the weight; all cost the same, or some cost nothing.

    >>> print(cost_interval({"a": [0.1, 0.2], "b": [0.4], "c": [0.2], "d": [0.3], "e": [2.0]}))
    0.610 [0.000, 3.103]
    """
    mean = task_mean(reduce_tasks(costs, clusters))
    if mean.clusters == 1:
        raise NotEstimableError("all costs are of one task or template: add tasks")
    error = math.sqrt(mean.variance_over_new_tasks())
    totals, sizes = mean.cluster_totals()
    if min(totals) <= 0.0:
        raise NotEstimableError("some tasks cost nothing, so that the tail of costs is unknown")
    logs = [math.log(total / size) for total, size in zip(totals, sizes, strict=True)]
    weights = mean.cluster_weights()
    clusters_worth = mean.effective_clusters
    middle = math.fsum(weight * log for weight, log in zip(weights, logs, strict=True))
    squares = (w * (log - middle) ** 2 for w, log in zip(weights, logs, strict=True))
    variance = math.fsum(squares) * clusters_worth / (clusters_worth - 1.0)
    if error <= _SAME * mean.estimate:
        raise NotEstimableError("all tasks cost the same, which does not show how much others vary")
    quantile = t_or_normal_quantile(level, clusters_worth - 1.0)
    half = quantile * math.sqrt(
        variance / clusters_worth + variance**2 / (2.0 * (clusters_worth - 1.0))
    )
    centre = middle + variance / 2.0
    return Interval(
        estimate=mean.estimate,
        low=max(0.0, min(mean.estimate - quantile * error, math.exp(centre - half))),
        high=max(mean.estimate + quantile * error, math.exp(min(centre + half, _LARGEST_LOG))),
        level=level,
        method="t over clusters, joined with Cox's interval for lognormal costs",
        estimand="new_tasks",
        n=mean.trials,
        effective_n=clusters_worth,
        tasks=len(mean.tasks),
        clusters=mean.clusters,
    )


def duration_s(timings: Mapping[str, float]) -> float | None:
    """Return a trial's seconds: `total` if recorded, else the sum of its phases, else `None`."""
    if not timings:
        return None
    total = timings.get("total")
    return math.fsum(timings.values()) if total is None else total


def _quantile(ordered: Sequence[float], probability: float) -> float:
    position = probability * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
