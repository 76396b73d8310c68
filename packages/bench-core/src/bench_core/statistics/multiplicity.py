"""p-values of many comparisons, adjusted so that chance alone does not make a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["benjamini_hochberg", "holm"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust so that the chance of any false finding stays at the level tested at.

    Holm (1979), Scandinavian Journal of Statistics 6:65. For comparisons of a few models.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = _ascending(p_values)
    adjusted = [0.0] * len(order)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


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


def _ascending(p_values: Sequence[float]) -> list[int]:
    if not all(0.0 <= p <= 1.0 for p in p_values):
        raise ValueError(f"p-values lie between 0 and 1, got {list(p_values)!r}")
    return sorted(range(len(p_values)), key=lambda index: p_values[index])
