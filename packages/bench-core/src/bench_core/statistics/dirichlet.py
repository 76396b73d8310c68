"""Limits for a mean of bounded values that are valid for few of them, by Dirichlet weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from bench_core.errors import NotEstimableError
from bench_core.statistics.distributions import beta_quantile, normal_quantile

_STEP, _FINE_STEP = 1.0 / 8.0, 1.0 / 48.0
_DOMINANT, _MANY = 0.05, 200
"""A unit with this share of the variance of so many makes the transform fall off so slowly that it
turns many times before it vanishes."""
_FIRST = -3.0
_LAST = 40.0
_LARGEST = 1e12
"""From here on the integrand is below rounding."""
_PRECISION = 1e-9
_TWO = 2
_FEW = 12
"""So many different units are remembered with their limit, and no more: a key of hundreds is large."""
_RARE = 3
"""So many values of the rarer kind are too few for limits that stand on the variance: with one success
among 12 tasks Wilson's lower limit is 1.5%, and 11 of 100 benchmarks of a rate of 1% show one."""


def dirichlet_low(
    totals: Sequence[float],
    sizes: Sequence[float] | None = None,
    *,
    alpha: float = 0.05,
    lowest: float = -1.0,
) -> float:
    """Return the lower limit with confidence 1 - alpha for the mean of independent bounded values.

    The alpha quantile of the weighted mean of the values and one more at `lowest`, with weights
    from a flat Dirichlet distribution. For outcomes of two values this is Clopper and Pearson's
    limit. Gaffke (2005), Mathematical Methods of Statistics 14:451; proven for special cases,
    without a known counterexample (Learned-Miller and Thomas 2020, arXiv 1905.06208).

    Args:
        totals: The values, or the totals of groups of them.
        sizes: How many values each group has; 1 each by default. The limit is then for the
            ratio of totals to sizes.
        alpha: Chance that the mean lies below the limit.
        lowest: The least possible value.

    Raises:
        NotEstimableError: `totals` is empty.
        ValueError: A value lies below `lowest`, or alpha is out of range.

    >>> round(dirichlet_low([0.0] * 59), 4)
    -0.0495
    """
    if not len(totals):
        raise NotEstimableError("there is no value, so there is no mean to bound")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    weights = [1.0] * len(totals) if sizes is None else list(sizes)
    units: Counter[tuple[float, float]] = Counter()
    # most of thousands are alike, so that few are rounded
    for (total, size), times in Counter(zip(totals, weights, strict=True)).items():
        # totals that are equal but for the order of their sums count as one
        units[round(total, 9), size] += times
    if any(not total >= lowest * size - _PRECISION for total, size in units):
        raise ValueError(f"a value lies below {lowest!r}, the lowest there can be")
    largest = max(weights)
    units[lowest * largest, largest] += 1
    known = tuple(sorted((total, size, times) for (total, size), times in units.items()))
    return remembered_limit(known, alpha) if len(known) <= _FEW else _limit(known, alpha)


def dirichlet_high(
    totals: Sequence[float],
    sizes: Sequence[float] | None = None,
    *,
    alpha: float = 0.05,
    highest: float = 1.0,
) -> float:
    """Return the upper limit with confidence 1 - alpha; see `dirichlet_low`.

    >>> round(dirichlet_high([0.0] * 59), 4)
    0.0495
    """
    mirrored = [-each for each in totals]
    return -dirichlet_low(mirrored, sizes, alpha=alpha, lowest=-highest)


def rare_limits(
    totals: Sequence[float], sizes: Sequence[float], *, level: float
) -> tuple[float, float] | None:
    """Return limits for a mean of values from 0 to 1 of which at most three differ from 0, or from 1.

    The limit towards the rarer outcome has the confidence (1 + level) / 2; the other is the mean, for
    intervals that this one is joined with: they are wide enough there. `None` where more differ.

    >>> low, high = rare_limits([1.0] + [0.0] * 11, [1.0] * 12, level=0.95)
    >>> f"{low:.4f} {high:.4f}"
    '0.0021 0.0833'
    """
    won = sum(total > _PRECISION for total in totals)
    lost = sum(total < size - _PRECISION for total, size in zip(totals, sizes, strict=True))
    if min(won, lost) > _RARE:
        return None
    alpha = (1.0 - level) / 2.0
    low = high = math.fsum(totals) / math.fsum(sizes)
    if 0 < won <= lost:
        low = dirichlet_low(totals, sizes, alpha=alpha, lowest=0.0)
    if 0 < lost <= won:
        high = dirichlet_high(totals, sizes, alpha=alpha)
    return low, high


def units_needed(tolerance: float, alpha: float = 0.05) -> int:
    """Return how many values without one loss it takes to rule out a mean below -tolerance.

    With fewer no method can, whatever was seen: a loss of everything in a share `tolerance` of the
    cases would show nothing in (1 - tolerance)^n of runs.

    >>> units_needed(0.05), units_needed(0.1)
    (59, 29)
    """
    if tolerance >= 1.0:
        return 1
    if tolerance <= 0.0:
        raise NotEstimableError("no number of trials rules out every drop")
    return math.ceil(math.log(alpha) / math.log1p(-tolerance) - _PRECISION)


_Units: TypeAlias = "tuple[tuple[float, float, int], ...]"


def _limit(units: _Units, alpha: float) -> float:
    if len(units) == _TWO and units[0][1] == units[1][1]:
        (low, size, losses), (high, _, gains) = units
        return (low + (high - low) * beta_quantile(alpha, gains, losses)) / size
    return _solve(units, alpha)


remembered_limit = lru_cache(maxsize=1_000)(_limit)
"""The same, remembered: hundreds of templates of a few tasks come in some dozen patterns."""


def _solve(units: _Units, alpha: float) -> float:
    """Find the mean at which the chance of a weighted mean below reaches alpha."""
    ratios = [total / size for total, size, _ in units]
    low, high = min(ratios), max(ratios)
    if high - low <= _PRECISION:
        return low
    below, above = -alpha, 1.0 - alpha
    point = _guess(units, alpha, low, high)
    stayed = 0
    for _ in range(100):
        excess = _chance_below(units, point) - alpha
        # Illinois: the secant of the bracket, an end that stays twice weighing half
        if excess > 0.0:
            high, above = point, excess
            below *= 0.5 if stayed < 0 else 1.0
            stayed = -1
        else:
            low, below = point, excess
            above *= 0.5 if stayed > 0 else 1.0
            stayed = 1
        following = (low * above - high * below) / (above - below)
        if abs(following - point) <= _PRECISION or high - low <= _PRECISION:
            return following
        point = following
    return point


def _guess(units: _Units, alpha: float, low: float, high: float) -> float:
    """Start from the normal limit, kept well inside the possible range."""
    number = sum(times for *_, times in units)
    size = sum(each * times for _, each, times in units)
    mean = sum(total * times for total, _, times in units) / size
    squares = sum(times * (total - mean * each) ** 2 for total, each, times in units)
    guess = mean + normal_quantile(alpha) * math.sqrt(squares * number / (number + 1)) / size
    margin = 1e-3 * (high - low)
    return min(max(guess, low + margin), high - margin)


def _chance_below(units: _Units, mean: float) -> float:
    """Return P(sum of gamma weights x (total - mean x size) <= 0), by inverting its transform.

    Gil-Pelaez (1951), Biometrika 38:481: 1/2 - 1/pi times the integral of Im(transform) / t, by the
    trapezoidal rule after t = scale exp(u - exp(-u)), which makes both ends fall off fast.
    """
    terms = [(total - mean * size, times) for total, size, times in units]
    squares = sum(times * each * each for each, times in terms)
    scale = 1.0 / math.sqrt(squares)
    many = sum(times for _, times in terms) > _MANY
    dominant = max(each * each for each, _ in terms) >= _DOMINANT * squares
    step = _FINE_STEP if many and dominant else _STEP
    integral = 0.0
    u = _FIRST
    while u < _LAST:
        shrink = math.exp(-u)
        t = scale * math.exp(u - shrink)
        inverse = 1.0 + 0.0j
        for each, times in terms:
            inverse *= complex(1.0, -each * t) ** times
        size = abs(inverse)
        if size > _LARGEST:
            break
        # the transform is 1 / inverse, whose imaginary part has the other sign
        integral -= (1.0 + shrink) * inverse.imag / (size * size)
        u += step
    return 0.5 - integral * step / math.pi
