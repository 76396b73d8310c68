"""What any exact test could find where every task has one trial before and now; for coverage_table.py."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from bench_core.statistics.distributions import binomial_pmf, t_quantile

__all__ = ["best_power", "coin_toss", "t_finds"]


def best_power(
    seen: list[float], coins: list[list[float]], outcomes: list[tuple[int, int]], *, whole: bool
) -> float:
    """Return the highest power of a test of level 5% that loses no finding when another task gets worse."""
    place = {each: n for n, each in enumerate(outcomes)}
    steps = []
    for (d, w), n in place.items():
        for worse in ((d, w + 1), (d + 1, w + 1), (d - 1, w)):
            if worse in place:
                step = np.zeros(len(outcomes))
                step[place[worse]], step[n] = 1.0, -1.0
                steps.append(step)
    found = milp(
        -np.array(seen),
        constraints=[LinearConstraint(coins, -np.inf, 0.05), LinearConstraint(steps, 0.0, np.inf)],
        integrality=int(whole),
        bounds=Bounds(0, 1),
    )
    return float(-found.fun)


def coin_toss(tasks: int, changed: int, worse: int) -> float:
    """Return the chance of an outcome where so many tasks have a chance of one half, the others 0."""
    return (
        binomial_pmf(changed, tasks, 0.5) * binomial_pmf(worse, changed, 0.5)
        if changed <= tasks
        else 0.0
    )


def t_finds(tasks: int, changed: int, worse: int) -> bool:
    """Return whether the one-sided paired t test finds a drop."""
    mean = (changed - 2 * worse) / tasks
    error = (max(0.0, changed - tasks * mean**2) / (tasks - 1) / tasks) ** 0.5
    return mean + t_quantile(0.95, tasks - 1) * error < 0.0
