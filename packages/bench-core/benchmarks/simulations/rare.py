"""The package's Dirichlet limits for rare outcomes, of many benchmarks at once. Needs numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.distributions import beta_quantile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["rare_low_limits"]

_FIRST, _LAST, _VANISHED, _PRECISION = -3.0, 40.0, 28.0, 1e-11
_STEP, _FINE_STEP = 1.0 / 8.0, 1.0 / 48.0
_MANY, _DOMINANT = 200, 0.05
_AT_ONCE = 20_000_000


def rare_low_limits(means: Floats, weights: Floats, most: int, alpha: float) -> Floats:
    """Return `dirichlet_low` of rates of which at most a few clusters' are not 0.

    Args:
        means: Of each cluster, shape (benchmarks, clusters).
        weights: Of each cluster in the mean.
        most: How many clusters differ from 0 at most.
        alpha: Chance that the truth lies below a limit.
    """
    numpy = load_numpy("a simulation")
    most = min(most, means.shape[1])
    sizes = len(weights) * weights
    # the few that are not 0, by value and size, so that the same benchmarks are solved once
    held = numpy.argsort(-means, axis=1, kind="stable")[:, :most]
    values = numpy.take_along_axis(means, held, axis=1)
    kinds = numpy.concatenate([values, numpy.where(values > 0.0, sizes[held], 0.0)], axis=1)
    kinds, places = numpy.unique(kinds.round(12), axis=0, return_inverse=True)
    values, rare = kinds[:, :most], kinds[:, most:]
    found = _solve(values * rare, rare, sizes, alpha)
    limits: Floats = found[places.ravel()]
    return limits


def _solve(totals: Floats, rare: Floats, sizes: Floats, alpha: float) -> Floats:
    """Find the means at which the chance of a weighted mean below is alpha, row by row."""
    numpy = load_numpy("a simulation")
    each, times = numpy.unique(numpy.append(sizes, sizes.max()), return_counts=True)
    number = len(sizes)
    won = (rare > 0.0).sum(axis=1)
    if numpy.ptp(sizes) < _PRECISION and (numpy.abs(totals - rare) < _PRECISION).all():
        exact = {
            w: beta_quantile(alpha, w, number + 1 - w) if w else 0.0 for w in set(won.tolist())
        }
        found: Floats = numpy.array([exact[w] for w in won.tolist()])
        return found
    low, high = numpy.zeros(len(totals)), numpy.ones(len(totals))
    below, above = numpy.full(len(totals), -alpha), numpy.full(len(totals), 1.0 - alpha)
    point: Floats = (totals.sum(axis=1) / sizes.sum()).clip(1e-3, 1.0 - 1e-3) / 4.0
    stayed = numpy.zeros(len(totals))
    left = numpy.flatnonzero(won > 0)
    point[won == 0] = 0.0
    for _ in range(200):
        if not len(left):
            break
        excess = _chances_below(totals[left], rare[left], (each, times), point[left]) - alpha
        # Illinois: the secant of the bracket, an end that stays twice weighing half
        over = excess > 0.0
        high[left], low[left] = (
            numpy.where(over, point[left], high[left]),
            numpy.where(over, low[left], point[left]),
        )
        halve_below = over & (stayed[left] < 0)
        halve_above = ~over & (stayed[left] > 0)
        above[left] = numpy.where(over, excess, above[left] * numpy.where(halve_above, 0.5, 1.0))
        below[left] = numpy.where(over, below[left] * numpy.where(halve_below, 0.5, 1.0), excess)
        stayed[left] = numpy.where(over, -1.0, 1.0)
        following = (low[left] * above[left] - high[left] * below[left]) / (
            above[left] - below[left]
        )
        moved = numpy.abs(following - point[left])
        point[left] = following
        left = left[(moved > _PRECISION) & (high[left] - low[left] > _PRECISION)]
    return point


def _chances_below(
    totals: Floats, rare: Floats, sizes: tuple[Floats, npt.NDArray[np.int64]], means: Floats
) -> Floats:
    """Return P(sum of gamma weights x (total - mean x size) <= 0) of each row (Gil-Pelaez 1951)."""
    numpy = load_numpy("a simulation")
    each, times = sizes
    terms = -means[:, None] * each
    # what is rare stands in the place of a cluster of its size without any
    some, none = totals - means[:, None] * rare, -means[:, None] * rare
    squares = (terms**2 @ times) + (some**2 - none**2).sum(axis=1)
    largest = numpy.maximum((terms**2).max(axis=1), (some**2).max(axis=1))
    fine = (largest >= _DOMINANT * squares) & (times.sum() > _MANY)
    chances = numpy.empty(len(means))
    for rows, step in ((numpy.flatnonzero(~fine), _STEP), (numpy.flatnonzero(fine), _FINE_STEP)):
        at = numpy.arange(_FIRST, _LAST, step)
        shrink = numpy.exp(-at)
        block = max(1, _AT_ONCE // (len(at) * (len(each) + some.shape[1])))
        for first in range(0, len(rows), block):
            part = rows[first : first + block]
            scales = 1.0 / numpy.sqrt(squares[part])
            total = numpy.zeros(len(part))
            going = numpy.arange(len(part))
            # a few steps at a time, for rows that have not vanished yet
            for start in range(0, len(at), 32):
                here = slice(start, start + 32)
                times_at = scales[going, None] * numpy.exp(at[here] - shrink[here])
                size = numpy.zeros_like(times_at)
                angle = numpy.zeros_like(times_at)
                chosen = part[going]
                parts = [
                    *((terms[chosen, n], float(times[n])) for n in range(len(each))),
                    *((some[chosen, n], 1.0) for n in range(some.shape[1])),
                    *((none[chosen, n], -1.0) for n in range(some.shape[1])),
                ]
                for value, number in parts:
                    turned = value[:, None] * times_at
                    size += number * numpy.log1p(turned * turned)
                    angle += number * numpy.arctan(turned)
                size *= 0.5
                total[going] += ((1.0 + shrink[here]) * numpy.sin(angle) * numpy.exp(-size)).sum(
                    axis=1
                )
                going = going[size[:, -1] < _VANISHED]
                if not len(going):
                    break
            chances[part] = 0.5 - total * step / numpy.pi
    result: Floats = chances
    return result
