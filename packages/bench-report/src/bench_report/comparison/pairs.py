"""Intervals that hold for all pairs of runs together, and intervals of what a trial costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import NotEstimableError
from bench_core.statistics import paired_t, t_or_normal_quantile, task_differences
from bench_report.model import CostInterval, JointInterval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench_core.statistics import Comparison

__all__ = ["cost_interval", "joint_intervals"]

_Scores = dict[str, list[float]]


def joint_intervals(
    pairs: Sequence[Comparison],
    scores: Mapping[str, _Scores],
    clusters: Mapping[str, str],
    *,
    alpha: float = 0.05,
) -> tuple[JointInterval, ...]:
    """Return paired t intervals that all contain their difference with a chance of `1 - alpha` (Bonferroni).

    Where no cluster differs from another there is no variance to make one of: its ends are `None`.
    """
    level = 1 - alpha / max(1, len(pairs))
    found = []
    for each in pairs:
        names = {"run": each.new, "baseline": each.baseline, "level": level}
        test = paired_t(
            task_differences(scores[each.new], scores[each.baseline]), clusters=clusters
        )
        if test.standard_error == 0.0:
            found.append(JointInterval.model_validate(names))
            continue
        half = t_or_normal_quantile(level, test.df) * test.standard_error
        ends = {"low": max(-1.0, test.mean - half), "high": min(1.0, test.mean + half)}
        found.append(JointInterval.model_validate(names | ends))
    return tuple(found)


def cost_interval(
    costs: Mapping[str, Sequence[float]], clusters: Mapping[str, str], *, level: float = 0.95
) -> CostInterval | None:
    """Return what a trial of a new task costs in the mean, each task counting once; `None` for a single cluster."""
    means = {key: sum(each) / len(each) for key, each in costs.items() if each}
    if not means:
        return None
    try:
        test = paired_t(means, clusters=clusters)
    except NotEstimableError:
        return None
    half = t_or_normal_quantile(level, test.df) * test.standard_error
    return CostInterval(mean=test.mean, low=max(0.0, test.mean - half), high=test.mean + half)
