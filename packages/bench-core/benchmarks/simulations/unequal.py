"""Intervals over clusters of unequal size: coverage, and width beside an interval that knows the correlations.

All draws of a cell at once, for rates, macro averages, differences and joint intervals. Needs numpy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.statistics import tango
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.clustering import require_spread
from bench_core.statistics.dirichlet import dirichlet_high
from bench_core.statistics.distributions import normal_quantile
from bench_core.statistics.proportions import t_or_normal_quantile
from simulations.populations import (
    Population,
    cluster_interval_ends,
    jackknife_variance,
    simulate_chances,
    wilson_ends,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ends = tuple[Floats, Floats]

__all__ = ["METHODS", "Cell", "Design", "simulate_cells"]

_TOGETHER = 3
_AT_ONCE = 2_000_000
_NOTHING = 1e-15


class Design(NamedTuple):
    """Templates by the number of their tasks, and how alike what they hold is."""

    sizes: Sequence[int]
    population: Population


class Cell(NamedTuple):
    """A statement about one design with a number of trials; without coverage and width if it is refused.

    `statement` is `rate`, `macro average`, `difference` or `joint` (three models, all pairs together);
    `ideal` the mean width of a normal interval that knows how strongly trials and tasks agree.
    """

    statement: str
    trials: int
    effective_clusters: float
    covered: float | None
    width: float | None
    ideal: float


def simulate_cells(
    design: Design,
    *,
    trials: Sequence[int],
    replications: int,
    seed: int,
    methods: Mapping[str, Callable[[Floats, Floats, float, float], Ends]] | None = None,
) -> Iterator[tuple[str, Cell]]:
    """Yield what each statement comes to, by method; `""` is the package's own.

    Differences are between draws that follow each other, of one population: the truth is zero. What the
    sign-flip test adds to their intervals, which only widens them, counts where clusters are too few for any
    signs of theirs to be significant, and is left out elsewhere.

    Args:
        design: What is drawn.
        trials: Numbers of trials per task.
        replications: Draws.
        seed: Seed of numpy's PCG64.
        methods: Other methods for rates and macro averages: means and weights of clusters, the number of
            observations and the level to ends.
    """
    numpy = load_numpy("a simulation")
    sizes = numpy.array(design.sizes)
    tasks, rate = int(sizes.sum()), design.population.rate
    drawn = _draw(design, max(trials), replications, seed)
    averages = {"rate": sizes / tasks}
    if sizes.max() > 1:
        averages["macro average"] = numpy.ones(len(sizes)) / len(sizes)
    for (name, weights), number in ((each, k) for each in averages.items() for k in trials):
        means, kish = drawn[number], float(1.0 / (weights @ weights))
        per_task = weights / sizes
        most = number / float(sizes @ per_task**2)
        known = _known_size(design, weights, number)
        ideal = wilson_ends(means @ weights, known, normal_quantile(0.975))
        refused = _refused(weights)
        wide = float((ideal[1] - ideal[0]).mean())
        several = len(sizes) < tasks * number
        own = (
            None
            if refused
            else cluster_interval_ends(means, weights, sizes, most=most, several=several)
        )
        yield "", _cell(name, number, kish, own, rate, wide)
        for method, ends in (methods or {}).items():
            yield method, _cell(name, number, kish, ends(means, weights, most, 0.95), rate, wide)
        if name != "rate":
            continue
        plain = not several
        error = math.sqrt(2.0 * rate * (1.0 - rate) / known)
        for statement, together in (("difference", 1), ("joint", _TOGETHER)):
            tail = 0.025 / together
            width = min(2.0, 2.0 * normal_quantile(1.0 - tail) * error)
            if refused:
                yield "", Cell(statement, number, kish, None, None, width)
                continue
            pairs = [
                _difference_ends(
                    numpy.roll(means, a, axis=0) - numpy.roll(means, b, axis=0),
                    weights, 1.0 - 2.0 * tail, plain=plain,
                )
                for a, b in ((0, 1), (0, 2), (1, 2))[: together]
            ]  # fmt: skip
            held = numpy.logical_and.reduce([(low <= 0.0) & (high >= 0.0) for low, high in pairs])
            mean = float((pairs[0][1] - pairs[0][0]).mean())
            yield "", Cell(statement, number, kish, float(held.mean()), mean, width)


def _cell(
    statement: str, trials: int, kish: float, ends: Ends | None, rate: float, ideal: float
) -> Cell:
    if ends is None:
        return Cell(statement, trials, kish, None, None, ideal)
    low, high = ends
    held = (low <= rate + _NOTHING) & (rate - _NOTHING <= high)
    return Cell(statement, trials, kish, float(held.mean()), float((high - low).mean()), ideal)


def _draw(design: Design, trials: int, replications: int, seed: int) -> dict[int, Floats]:
    """Return the clusters' means after 1, 2, ... trials of each task, shape (replications, clusters)."""
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    sizes = numpy.array(design.sizes)
    starts = numpy.cumsum([0, *design.sizes[:-1]])
    means = {k: numpy.empty((replications, len(sizes))) for k in range(1, trials + 1)}
    step = max(1, _AT_ONCE // int(sizes.sum()))
    for first in range(0, replications, step):
        rows = min(step, replications - first)
        # one long benchmark of all the draws' templates
        chances = simulate_chances(design.population, list(design.sizes) * rows, generator)
        chances = chances.reshape(rows, -1)
        won = numpy.zeros(chances.shape)
        for k, each in means.items():
            won += generator.random(chances.shape) < chances
            each[first : first + rows] = numpy.add.reduceat(won, starts, axis=1) / (sizes * k)
    return means


def _known_size(design: Design, weights: Floats, trials: int) -> float:
    """Return how many independent outcomes have the true variance of the mean."""
    numpy = load_numpy("a simulation")
    sizes = numpy.array(design.sizes)
    _, alike, together = design.population
    together = together if sizes.max() > 1 else 0.0
    same = together + (1.0 - together) * alike
    squares = weights**2 / sizes
    within = squares * (1.0 + (trials - 1) * same) / trials
    return 1.0 / float((within + together * (weights**2 - squares)).sum())


def _refused(weights: Floats) -> bool:
    try:
        require_spread(weights.tolist())
    except NotEstimableError:
        return True
    return False


def _difference_ends(differences: Floats, weights: Floats, level: float, *, plain: bool) -> Ends:
    """Return the ends of intervals for mean differences, as `compare` has them before sign flips."""
    numpy = load_numpy("a simulation")
    number = len(weights)
    if plain:
        gained, lost = (differences > _NOTHING).sum(axis=1), (differences < -_NOTHING).sum(axis=1)
        found = [_tango(int(g), int(b), number, level) for g, b in zip(gained, lost, strict=True)]
        low, high = numpy.array(found).T
        return low, high
    estimate = differences @ weights
    error = numpy.sqrt(jackknife_variance(differences, weights))
    kish = round(1.0 / float(weights @ weights), 9)
    half = t_or_normal_quantile(level, kish - 1.0) * error
    alike = dirichlet_high([0.0] * number, alpha=0.5 - level / 2.0)
    half = numpy.where(half > _NOTHING, half, alike)
    low, high = (estimate - half).clip(-1.0), (estimate + half).clip(None, 1.0)
    signs = (numpy.abs(differences) > _NOTHING).sum(axis=1)
    few = 2.0**-signs >= 1.0 - level  # mid-p: of both ends half
    return numpy.where(few, low.clip(None, 0.0), low), numpy.where(few, high.clip(0.0), high)


@lru_cache(maxsize=100_000)
def _tango(gained: int, lost: int, number: int, level: float) -> tuple[float, float]:
    found = tango(gained, lost, number, level=level)
    return found.low, found.high


def _cluster_t(means: Floats, weights: Floats, _most: float, level: float) -> Ends:
    """Student's t on clusters - 1 with Liang and Zeger's variance."""
    numpy = load_numpy("a simulation")
    estimate, number = means @ weights, len(weights)
    squares = ((weights * (means - estimate[:, None])) ** 2).sum(axis=1) * number / (number - 1)
    half = t_or_normal_quantile(level, number - 1.0) * numpy.sqrt(squares)
    return (estimate - half).clip(0.0), (estimate + half).clip(None, 1.0)


def _bell_mccaffrey(means: Floats, weights: Floats, _most: float, level: float) -> Ends:
    """Student's t with CR2 and Satterthwaite's degrees of freedom (Bell and McCaffrey 2002)."""
    numpy = load_numpy("a simulation")
    estimate = means @ weights
    scale = weights / numpy.sqrt(1.0 - weights)
    variance = ((scale * (means - estimate[:, None])) ** 2).sum(axis=1)
    covariance = numpy.outer(scale, scale) * (numpy.diag(1.0 / weights) - 1.0)
    df = float(numpy.trace(covariance) ** 2 / (covariance**2).sum())
    half = t_or_normal_quantile(level, df) * numpy.sqrt(variance)
    return (estimate - half).clip(0.0), (estimate + half).clip(None, 1.0)


def _wilson_kish(means: Floats, weights: Floats, most: float, level: float) -> Ends:
    """Wilson on the effective size by the jackknife, t on effective clusters - 1, and no more."""
    numpy = load_numpy("a simulation")
    estimate, kish = means @ weights, 1.0 / float(weights @ weights)
    variance, spread = jackknife_variance(means, weights), estimate * (1.0 - estimate)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        number = numpy.where(variance > _NOTHING, spread / variance, most)
    number = numpy.where(spread > _NOTHING, number, kish)
    return wilson_ends(estimate, number, t_or_normal_quantile(level, kish - 1.0))


METHODS: Mapping[str, Callable[[Floats, Floats, float, float], Ends]] = {
    "t on clusters - 1, Liang and Zeger": _cluster_t,
    "t, CR2 and Satterthwaite": _bell_mccaffrey,
    "Wilson, jackknife, Kish's clusters, alone": _wilson_kish,
}
