"""How often an interval covers, by simulation with a seed.

Everybody who doubts a claim about coverage can run it; the coverage table of the documentation and the
tests are made with it. Needs numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.dirichlet import rare_limits
from bench_core.statistics.proportions import t_or_normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.intervals import Estimand

__all__ = [
    "Population",
    "SimulatedCoverage",
    "interval_ends",
    "simulate_chances",
    "simulate_coverage",
    "simulate_scores",
]


_NOTHING = 1e-15


class Population(NamedTuple):
    """Tasks to draw from.

    A task's chance of success is Beta-distributed around its template's, and that around `rate`.
    `alike` is how strongly trials of one task agree (the intra-class correlation, from 0 to 1);
    `templates_alike` how strongly tasks of one template do.
    """

    rate: float
    alike: float
    templates_alike: float = 0.0


class SimulatedCoverage(NamedTuple):
    """Share of replications whose interval contained the truth, and the intervals' mean width."""

    covered: float
    width: float


def simulate_coverage(
    population: Population,
    *,
    sizes: Sequence[int],
    trials: int,
    estimand: Estimand = "new_tasks",
    average: Literal["tasks", "templates"] = "tasks",
    level: float = 0.95,
    replications: int = 1_000,
    seed: int = 0,
) -> SimulatedCoverage:
    """Return how often the default interval covers the truth.

    Args:
        population: Where tasks come from.
        sizes: Number of tasks of each template, e.g. `[1] * 68` for 68 tasks without templates.
        trials: Trials per task.
        estimand: Which truth: the population's rate, or the mean chance of the tasks drawn.
        average: Weigh tasks or templates alike.
        level: Nominal confidence.
        replications: Simulated benchmarks.
        seed: Seed of numpy's PCG64.

    Raises:
        MissingExtraError: numpy is not installed.

    >>> simulate_coverage(
    ...     Population(rate=0.4, alike=0.3), sizes=[1] * 30, trials=3, replications=200
    ... ).covered > 0.9
    True
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    chances = numpy.stack(
        [simulate_chances(population, sizes, generator) for _ in range(replications)]
    )
    means = generator.binomial(trials, chances) / trials
    tasks = numpy.repeat(sizes, sizes) * len(sizes) if average == "templates" else sum(sizes)
    weights = numpy.ones(sum(sizes)) / tasks
    low, high = interval_ends(means, weights, sizes, trials, estimand=estimand, level=level)
    truth = population.rate if estimand == "new_tasks" else chances @ weights
    covered = (low <= truth) & (truth <= high)
    return SimulatedCoverage(float(covered.mean()), float((high - low).mean()))


def interval_ends(
    means: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    sizes: Sequence[int],
    trials: int,
    *,
    estimand: Estimand,
    level: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the ends of `interval_of` for many benchmarks at once.

    Args:
        means: Of each task's trials, shape (replications, tasks), tasks of a template together.
        weights: Of each task in the mean.
        sizes: Number of tasks of each template.
        trials: Trials per task.
        estimand: As for `interval_of`.
        level: Nominal confidence.
    """
    numpy = load_numpy("a simulation")
    starts = numpy.cumsum([0, *sizes[:-1]])
    clusters = len(sizes)
    estimate = means @ weights
    homes = numpy.add.reduceat(weights, starts)
    fewest = round(1.0 / float(homes @ homes), 9)
    most = max(fewest, trials / float(weights @ weights))
    if estimand == "same_tasks":
        variance = (means * (1.0 - means)) @ weights**2 / (trials - 1)
        quantile, none, bounds = t_or_normal_quantile(level, None), most, (0.0, numpy.inf)
    else:
        totals = numpy.add.reduceat(weights * (means - estimate[:, None]), starts, axis=1)
        variance = ((totals / (1.0 - homes)) ** 2).sum(axis=1) * (clusters - 1) / clusters
        quantile, none = t_or_normal_quantile(level, fewest - 1.0), fewest
        bounds = (min(fewest, 1.0 / (clusters * float(homes.max()) ** 2)), most)
    spread = estimate * (1.0 - estimate)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        effective = numpy.where(variance > _NOTHING, spread / variance, most)
    effective = numpy.where(spread > _NOTHING, effective, none).clip(*bounds)
    low, high = _wilson_ends(estimate, effective, quantile)
    if estimand == "new_tasks" and clusters < len(weights) * trials:
        number = numpy.sqrt(fewest * numpy.maximum(fewest, effective))
        middle = (estimate * number + 1.0) / (number + 2.0)
        two = variance * number**2 + middle**2 + (1.0 - middle) ** 2
        added = numpy.minimum(effective, middle * (1.0 - middle) * (number + 2.0) ** 2 / two)
        ends = _wilson_ends(middle, numpy.maximum(added, bounds[0]), quantile)
        low, high = numpy.minimum(low, ends[0]), numpy.maximum(high, ends[1])
    if estimand == "new_tasks":
        known: dict[bytes, tuple[float, float] | None] = {}
        shares = clusters * numpy.add.reduceat(weights * means, starts, axis=1)
        alike = numpy.ptp(homes) < _NOTHING
        for row, totals in enumerate(numpy.sort(shares) if alike else shares):
            pattern = totals.tobytes()
            if pattern not in known:
                known[pattern] = rare_limits(
                    totals.tolist(), (clusters * homes).tolist(), level=level
                )
            rare = known[pattern]
            if rare is not None:
                low[row], high[row] = min(low[row], rare[0]), max(high[row], rare[1])
    return low, high


def _wilson_ends(
    estimate: npt.NDArray[np.float64], number: npt.NDArray[np.float64], quantile: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    numpy = load_numpy("a simulation")
    square = quantile**2
    shrink = 1.0 + square / number
    centre = (estimate + square / (2.0 * number)) / shrink
    spread = estimate * (1.0 - estimate) / number + square / (4.0 * number**2)
    half = quantile * numpy.sqrt(numpy.maximum(spread, 0.0)) / shrink
    # as `wilson_limits`: rounding must not leave out a truth next to 0 or 1
    low = numpy.where(estimate <= 0.0, 0.0, (centre - half).clip(0.0))
    high = numpy.where(estimate >= 1.0, 1.0, (centre + half).clip(None, 1.0))
    return low, high


def simulate_scores(
    population: Population, sizes: Sequence[int], trials: int, generator: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Draw tasks and their trials.

    Returns:
        The chance of success of each task, shape (tasks,), and the outcomes 0.0 or 1.0 of its
        trials, shape (tasks, trials); tasks of one template follow each other.

    >>> import numpy
    >>> chances, scores = simulate_scores(
    ...     Population(0.5, 0.2), [2, 1], 4, numpy.random.default_rng(0)
    ... )
    >>> chances.shape, scores.shape
    ((3,), (3, 4))
    """
    chances = simulate_chances(population, sizes, generator)
    outcomes = generator.random((len(chances), trials)) < chances[:, None]
    return chances, outcomes.astype(float)


def simulate_chances(
    population: Population, sizes: Sequence[int], generator: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draw the chance of success of each task, tasks of one template following each other."""
    numpy = load_numpy("a simulation")
    centre = _beta(generator, numpy.full(len(sizes), population.rate), population.templates_alike)
    return _beta(generator, numpy.repeat(centre, sizes), population.alike)


def _beta(
    generator: np.random.Generator, centre: npt.NDArray[np.float64], alike: float
) -> npt.NDArray[np.float64]:
    """Beta variates around `centre` with the given intra-class correlation."""
    if alike <= 0.0:
        return centre
    if alike >= 1.0:
        return (generator.random(centre.shape) < centre).astype(float)
    concentration = 1.0 / alike - 1.0
    # Beta parameters must stay positive where a template's own chance has run to 0 or 1.
    inside = centre.clip(1e-6, 1.0 - 1e-6)
    return generator.beta(inside * concentration, (1.0 - inside) * concentration)
