"""Critical values of repeated looks at one growing sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from bench_core.statistics.distributions import normal_cdf, normal_quantile

_POINTS = 96
_REACH = 7.0


def critical_values(shares: Sequence[float], alpha: float) -> list[float]:
    """Return one-sided critical z values that together err in alpha of cases.

    The error spent up to a share t of the information is 2 - 2 Phi(z(alpha / 2) / sqrt t), as O'Brien and
    Fleming's boundaries spend it (Lan and DeMets 1983, Biometrika 70:659), integrated look by look (Armitage,
    McPherson and Rowe 1969, JRSS A 132:235).

    Args:
        shares: Of the information at each look, rising to 1.
        alpha: One-sided error.

    >>> [round(each, 2) for each in critical_values([0.2, 0.4, 0.6, 0.8, 1.0], 0.05)]
    [4.23, 2.89, 2.3, 1.96, 1.74]
    """
    if list(shares) != sorted(set(shares)) or not 0.0 < shares[0] <= shares[-1] <= 1.0:
        raise ValueError(f"shares of the information must rise from above 0 to 1, got {shares!r}")
    quantile = normal_quantile(1.0 - alpha / 2.0)
    spent = [2.0 * normal_cdf(-quantile / math.sqrt(share)) for share in shares]
    steps = [spent[0], *(after - earlier for earlier, after in pairwise(spent))]
    found: list[float] = []
    points, density, before = [0.0], [1.0], 0.0
    for share, step in zip(shares, steps, strict=True):
        spread = math.sqrt(share - before)

        def crossing(z: float, at: float = share, spread: float = spread) -> float:
            """Chance to come this far for the first time at this look."""
            edge = z * math.sqrt(at)
            return sum(
                weight * normal_cdf((point - edge) / spread)
                for point, weight in zip(points, density, strict=True)  # noqa: B023 - used at once
            )

        critical = _solve(crossing, step)
        found.append(critical)
        points, density = _go_on(points, density, spread, critical * math.sqrt(share), share)
        before = share
    return found


def _solve(falling: object, target: float) -> float:
    low, high = -1.0, 12.0
    for _ in range(44):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > target else (low, middle)  # type: ignore[operator] # a function
    return 0.5 * (low + high)


def _go_on(
    points: Sequence[float], density: Sequence[float], spread: float, edge: float, share: float
) -> tuple[list[float], list[float]]:
    """Return the distribution at this look of a sum that did not cross, as points and weights."""
    low = -_REACH * math.sqrt(share)
    high = min(edge, _REACH * math.sqrt(share))
    width = (high - low) / _POINTS
    following = [low + (n + 0.5) * width for n in range(_POINTS)]
    scale = width / (spread * math.sqrt(2.0 * math.pi))
    weights = [
        scale
        * sum(
            weight * math.exp(-0.5 * ((place - point) / spread) ** 2)
            for point, weight in zip(points, density, strict=True)
            if weight > 0.0
        )
        for place in following
    ]
    return following, weights
