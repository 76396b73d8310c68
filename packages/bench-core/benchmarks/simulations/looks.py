"""What looking early costs and saves, by simulation with a seed, several methods side by side. Needs numpy."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.boundaries import _go_on, _solve, critical_values
from bench_core.statistics.distributions import normal_cdf, normal_quantile, t_quantile
from simulations.populations import simulate_chances

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    from simulations.populations import Population

    Floats = npt.NDArray[np.float64]

__all__ = ["SimulatedLooks", "simulate_looks"]

_EFFECT_SD = 0.148
_FUTILITY = 0.2
_FIRST_PEEK = 10
_LEAST_CLUSTERS = 2


class SimulatedLooks(NamedTuple):
    """What a method does over many runs.

    Attributes:
        found: Share of runs in which it found a difference (or a drop).
        share: Mean share of trials run.
        covered: Share of runs whose interval contained the true difference; `None` where it gives none.
        overshoot: How far the mean estimate lies beyond the true difference.
    """

    found: float
    share: float
    covered: float | None
    overshoot: float


def simulate_looks(
    population: Population,
    *,
    sizes: Sequence[int],
    trials: int,
    times: float,
    looks: int = 5,
    alpha: float = 0.05,
    one_sided: bool = False,
    replications: int = 1_000,
    seed: int = 0,
) -> dict[str, SimulatedLooks]:
    """Return what methods of stopping early do when the true drop is `times` the detectable one.

    Two agents on the same tasks, whose true differences vary by 15 points from task to task; clusters in
    random order. The boundaries are those of `plan_looks`, with futility where `one_sided`.

    Args:
        population: Where tasks come from.
        sizes: Number of tasks of each template.
        trials: Trials per task and agent.
        times: True drop, in units of what the full run detects in 80% of cases.
        looks: How often to look.
        alpha: Error of each test.
        one_sided: Look for a drop only, and stop for futility.
        replications: Simulated comparisons.
        seed: Seed of numpy's PCG64.

    Raises:
        MissingExtraError: numpy is not installed.

    >>> from simulations.populations import Population
    >>> found = simulate_looks(
    ...     Population(0.42, 0.5), sizes=[1] * 68, trials=3, times=0.0, replications=200
    ... )
    >>> found["O'Brien-Fleming, 5 looks"].found < found["t at every cluster"].found
    True
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    totals, weights = _drawn(population, sizes, trials, replications, generator)
    centred = (totals - weights * (totals.sum(1) / weights.sum(1))[:, None]) ** 2
    clusters = len(sizes)
    error = numpy.sqrt(centred.sum(1) * clusters / (clusters - 1)) / weights.sum(1)
    tail = alpha if one_sided else alpha / 2.0
    detectable = float(error.mean()) * (
        t_quantile(1 - tail, clusters - 1) + t_quantile(0.8, clusters - 1)
    )
    data = _Data(totals - weights * times * detectable, weights, -times * detectable, one_sided)
    cuts = [round(clusters * n / looks) for n in range(1, looks + 1)]
    shares = [cut / clusters for cut in cuts]
    flat = [pocock_value(looks, tail)] * looks
    methods = {
        "fixed t": _by_bounds(data, [clusters], [-normal_quantile(tail)], None),
        "O'Brien-Fleming, 5 looks": _by_bounds(
            data, cuts, critical_values(shares, tail), detectable if one_sided else None
        ),
        "Pocock, 5 looks": _by_bounds(data, cuts, flat, None),
        "t at every cluster": _by_bounds(
            data,
            list(range(min(_FIRST_PEEK, clusters), clusters + 1)),
            [-normal_quantile(tail)] * (clusters - min(_FIRST_PEEK, clusters) + 1),
            None,
        ),
        "SPRT without clusters": _sprt(data, detectable, tail, trials),
        "betting": _betting(data, sizes, tail),
    }
    return {name: _summed(data, *found) for name, found in methods.items()}


class _Data(NamedTuple):
    totals: Floats
    weights: Floats
    truth: float
    one_sided: bool

    @property
    def running(self) -> tuple[Floats, Floats, Floats]:
        """Mean, standard error and share of trials after each cluster."""
        numpy = load_numpy("a simulation")
        sums, sizes = self.totals.cumsum(1), self.weights.cumsum(1)
        mean = sums / sizes
        number = numpy.arange(1, self.totals.shape[1] + 1)
        squares = (
            (self.totals**2).cumsum(1)
            - 2 * mean * (self.totals * self.weights).cumsum(1)
            + mean**2 * (self.weights**2).cumsum(1)
        )
        factor = number / numpy.maximum(number - 1, 1)
        error = numpy.sqrt(numpy.maximum(squares * factor, 0.0)) / sizes
        return mean, error, sizes / sizes[:, -1:]


def _drawn(
    population: Population,
    sizes: Sequence[int],
    trials: int,
    replications: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return each cluster's total difference without a true one, and its size, in random order."""
    numpy = load_numpy("a simulation")
    starts = numpy.cumsum([0, *sizes[:-1]])
    base = numpy.stack(
        [simulate_chances(population, sizes, generator) for _ in range(replications)]
    )
    effects = generator.normal(0.0, _EFFECT_SD / math.sqrt(2.0), (2, *base.shape))
    rates = (base + effects).clip(0.0, 1.0)
    difference = (
        generator.binomial(trials, rates[0]) - generator.binomial(trials, rates[1])
    ) / trials
    totals = numpy.add.reduceat(difference, starts, axis=1)
    order = generator.random(totals.shape).argsort(axis=1)
    weights = numpy.broadcast_to(numpy.array(sizes, dtype=float), totals.shape)
    return numpy.take_along_axis(totals, order, 1), numpy.take_along_axis(weights, order, 1)


_Found = tuple["Any", "Any", "Any"]


def _by_bounds(
    data: _Data, cuts: Sequence[int], critical: Sequence[float], planned: float | None
) -> _Found:
    """Stop at the first of `cuts` clusters where t is beyond its bound, or hopelessly below it."""
    numpy = load_numpy("a simulation")
    mean, error, _ = data.running
    rows = len(mean)
    stop = numpy.full(rows, cuts[-1] - 1)
    found = numpy.zeros(rows, dtype=bool)
    bound = numpy.full(rows, _t(critical[-1], cuts[-1] - 1))
    open_ = numpy.ones(rows, dtype=bool)
    for cut, z in zip(cuts, critical, strict=True):
        at, limit = cut - 1, _t(z, cut - 1)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            statistic = numpy.nan_to_num(-mean[:, at] / error[:, at])
        beyond = (statistic if data.one_sided else abs(statistic)) >= limit
        hopeless = numpy.zeros(rows, dtype=bool)
        if planned is not None and cut < cuts[-1]:
            part = cut / cuts[-1]
            with numpy.errstate(divide="ignore"):
                drift = planned / (error[:, at] * math.sqrt(part))
            missing = critical[-1] - statistic * math.sqrt(part) - drift * (1 - part)
            hopeless = missing / math.sqrt(1 - part) > -normal_quantile(_FUTILITY)
        ends = open_ & (beyond | hopeless | (cut == cuts[-1]))
        stop[ends], bound[ends] = at, limit
        found |= open_ & beyond
        open_ &= ~ends
    return found, stop, bound


def _sprt(data: _Data, detectable: float, tail: float, trials: int) -> _Found:
    """Wald's test of no difference against the detectable one, tasks taken as independent."""
    numpy = load_numpy("a simulation")
    mean, _, _ = data.running
    sizes = data.weights.cumsum(1)
    spread = 2 * 0.42 * 0.58 * 0.5 / trials + _EFFECT_SD**2  # of one task's difference, as planned
    drops = [-mean] if data.one_sided else [-mean, mean]
    ratio = numpy.max(
        [(each - detectable / 2) * detectable * sizes / spread for each in drops], axis=0
    )
    up, down = math.log(0.8 / tail), math.log(0.2 / (1 - tail))
    ended = (ratio >= up) | (ratio <= down)
    stop = numpy.where(ended.any(1), ended.argmax(1), mean.shape[1] - 1)
    rows = numpy.arange(len(mean))
    return ratio[rows, stop] >= up, stop, None


def _betting(data: _Data, sizes: Sequence[int], tail: float) -> _Found:
    """An always valid test: a mixture of bets on cluster totals (Waudby-Smith and Ramdas 2024)."""
    numpy = load_numpy("a simulation")
    largest = max(sizes)
    bets = numpy.linspace(0.05, 0.9, 12) / largest
    bound = data.totals.clip(-largest, largest)
    signs = [-1.0] if data.one_sided else [-1.0, 1.0]
    best = numpy.zeros(data.totals.shape)
    for sign in signs:
        wealth = numpy.mean(
            [numpy.exp(numpy.log1p(sign * bet * bound).cumsum(1)) for bet in bets], axis=0
        )
        best = numpy.maximum(best, wealth)
    ended = best >= 1.0 / tail
    found = ended.any(1)
    return found, numpy.where(found, ended.argmax(1), best.shape[1] - 1), None


def _summed(data: _Data, found: Any, stop: Any, bound: Any) -> SimulatedLooks:
    numpy = load_numpy("a simulation")
    mean, error, share = data.running
    rows = numpy.arange(len(mean))
    ends = mean[rows, stop]
    covered = None
    if bound is not None:
        covered = float((abs(ends - data.truth) <= bound * error[rows, stop]).mean())
    return SimulatedLooks(
        found=float(found.mean()),
        share=float(share[rows, stop].mean()),
        covered=covered,
        overshoot=float((data.truth - ends).mean()),
    )


@lru_cache(maxsize=4096)
def _t(z: float, df: int) -> float:
    return -t_quantile(normal_cdf(-z), max(1, df))


def pocock_value(looks: int, alpha: float) -> float:
    """Return the one critical z that errs in alpha of cases over equal looks (Pocock 1977).

    >>> round(pocock_value(5, 0.025), 2)
    2.41
    """

    def crossed(z: float) -> float:
        points, density, total = [0.0], [1.0], 0.0
        for look in range(1, looks + 1):
            share, spread = look / looks, math.sqrt(1.0 / looks)
            edge = z * math.sqrt(share)
            total += sum(
                weight * normal_cdf((point - edge) / spread)
                for point, weight in zip(points, density, strict=True)
            )
            points, density = _go_on(points, density, spread, edge, share)
        return total

    return _solve(crossed, alpha)
