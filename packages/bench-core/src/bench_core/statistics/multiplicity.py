"""p-values of many comparisons, adjusted so that chance alone does not make a finding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust so that the chance of any false finding stays at the level tested at.

    Holm (1979), Scandinavian Journal of Statistics 6:65. For comparisons of a few models.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    return tarone(p_values, [0.0] * len(p_values))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust so that the expected share of false findings among all found stays at the level.

    Benjamini and Hochberg (1995), JRSS B 57:289. For tables with a row per task.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    order = _ascending(p_values)
    adjusted = [0.0] * len(order)
    lowest = 1.0
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        lowest = min(lowest, p_values[index] * (len(order) / rank))
        adjusted[index] = lowest
    return adjusted


def tarone(p_values: Sequence[float], attainable: Sequence[float]) -> list[float]:
    """Adjust exact p-values so that the chance of any false finding stays at the level tested at.

    As Holm, but a test counts only if it could have been significant at all: with p-values of
    small parts, most could not. Tarone (1990), Biometrics 46:515; step-down by Hommel and
    Krummenauer (1998), Biometrics 54:673.

    Args:
        p_values: One per test, exact for discrete data.
        attainable: The smallest p-value each test could have given.

    >>> tarone([0.02, 0.5, 1.0], [0.001, 0.25, 0.25])
    [0.02, 1.0, 1.0]
    """
    order = _ascending(p_values)
    adjusted = [0.0] * len(order)
    highest = 0.0
    for rank, index in enumerate(order):
        p_value = p_values[index]
        competing = sum(attainable[each] <= p_value for each in order[rank:])
        highest = max(highest, min(1.0, competing * p_value))
        adjusted[index] = highest
    return adjusted


def tarone_level(attainable: Sequence[float], alpha: float) -> float:
    """Return the highest p-value that would be a finding at alpha, among so many tests.

    >>> tarone_level([0.001, 0.25, 0.25], 0.05)
    0.05
    """
    level = 0.0
    for tests, (least, following) in enumerate(pairwise([*sorted(attainable), math.inf]), start=1):
        if least > alpha / tests:
            break
        level = min(alpha / tests, math.nextafter(following, 0.0))
    return level


def _ascending(p_values: Sequence[float]) -> list[int]:
    if not all(0.0 <= p <= 1.0 for p in p_values):
        raise ValueError(f"p-values lie between 0 and 1, got {list(p_values)!r}")
    return sorted(range(len(p_values)), key=lambda index: p_values[index])
