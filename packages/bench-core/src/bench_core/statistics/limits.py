"""Limits for the difference between two agents that are valid for few tasks, at either end."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.statistics.clustering import Clusters, Key, Scores
from bench_core.statistics.dirichlet import dirichlet_high, dirichlet_low
from bench_core.statistics.intervals import Estimand, Interval
from bench_core.statistics.permutation import shared_trials


class Units(NamedTuple):
    """The independent units of a limit: totals of differences, and the weight of each."""

    totals: list[float]
    sizes: list[float]

    @property
    def mean(self) -> float:
        """The mean difference."""
        return math.fsum(self.totals) / math.fsum(self.sizes)

    def low(self, alpha: float) -> float:
        """Return the lower limit with confidence 1 - alpha."""
        return dirichlet_low(self.totals, self.sizes, alpha=alpha)

    def high(self, alpha: float) -> float:
        """Return the upper limit with confidence 1 - alpha."""
        return dirichlet_high(self.totals, self.sizes, alpha=alpha)


def difference_limits(
    new: Scores[Key],
    baseline: Scores[Key],
    *,
    estimand: Estimand = "same_tasks",
    clusters: Clusters[Key] | None = None,
    alpha: float = 0.05,
) -> Interval:
    """Bound the mean difference (new minus baseline) below and above, each end with 1 - alpha.

    Two runs match within a tolerance when both ends lie within it (`Interval.within`): two
    one-sided tests at alpha. On these tasks, the units are pairs of trials (the k-th of each run);
    on new tasks of this kind, clusters of tasks. See `dirichlet_low` for the method.

    Args:
        new: Task id to the scores of its trials, from 0 to 1.
        baseline: The same for the run compared with.
        estimand: `"same_tasks"` or `"new_tasks"`.
        clusters: Task id to template, for new tasks.
        alpha: Chance that the truth lies below the lower end, and that it lies above the upper.

    Raises:
        NotEstimableError: No task has scores for both, or some lie outside of 0 to 1.

    >>> same = {n: [1.0] for n in range(9)}
    >>> print(difference_limits(same, same))
    0.000 [-0.283, 0.283]
    """
    if estimand == "same_tasks":
        units = trial_units(new, baseline)
        method = "Dirichlet limits over pairs of trials"
    elif estimand == "new_tasks":
        units = cluster_units(new, baseline, clusters)
        method = "Dirichlet limits over clusters"
    else:
        raise ValueError(f"a difference has no limits for the estimand {estimand!r}")
    return Interval(
        estimate=units.mean,
        low=units.low(alpha),
        high=units.high(alpha),
        level=1.0 - 2.0 * alpha,
        method=method,
        estimand=estimand,
        n=len(units.totals),
        tasks=len(shared_trials(new, baseline)[0]),
    )


def trial_units(new: Scores[Key], baseline: Scores[Key]) -> Units:
    """Return the difference of each pair of trials, weighted so that tasks weigh alike.

    If a task has more trials in one run, those are shared out over the pairs.

    Raises:
        NotEstimableError: No task has scores for both, or some lie outside [0, 1].
    """
    totals: list[float] = []
    sizes: list[float] = []
    for pair in _shared_rates(new, baseline).values():
        number = min(map(len, pair))
        now, before = (
            side if len(side) == number else [_mean(side[k::number]) for k in range(number)]
            for side in pair
        )
        totals += [(one - other) / number for one, other in zip(now, before, strict=True)]
        sizes += [1.0 / number] * number
    return Units(totals, sizes)


def cluster_units(
    new: Scores[Key], baseline: Scores[Key], clusters: Clusters[Key] | None = None
) -> Units:
    """Return the total of the tasks' differences and the number of tasks of each cluster.

    Raises:
        NotEstimableError: No task has scores for both, or some lie outside of 0 to 1.
    """
    grouping = clusters or {}
    totals: defaultdict[Hashable, float] = defaultdict(float)
    sizes: defaultdict[Hashable, float] = defaultdict(float)
    for key, (now, before) in _shared_rates(new, baseline).items():
        home = grouping.get(key, (key,))
        totals[home] += _mean(now) - _mean(before)
        sizes[home] += 1.0
    return Units(list(totals.values()), list(sizes.values()))


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)


def _shared_rates(
    new: Scores[Key], baseline: Scores[Key]
) -> dict[Key, tuple[Sequence[float], Sequence[float]]]:
    pairs, found = shared_trials(new, baseline)
    if min(found) < 0.0 or max(found) > 1.0:
        raise NotEstimableError("scores lie outside of 0 to 1, where no such limit holds")
    return pairs
