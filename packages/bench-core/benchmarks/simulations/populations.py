"""How often an interval covers, by simulation with a seed.

Everybody who doubts a claim about coverage can run it; the coverage table of the documentation and the
tests are made with it. Needs numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.proportions import t_or_normal_quantile
from bench_core.statistics.rates import success_rate_interval
from simulations.rare import rare_low_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.intervals import Estimand

__all__ = [
    "Population",
    "SimulatedCoverage",
    "cluster_interval_ends",
    "interval_ends",
    "jackknife_variance",
    "simulate_chances",
    "simulate_coverage",
    "simulate_scores",
    "simulate_uneven_trials",
    "wilson_ends",
]


_NOTHING = 1e-15
_RARE = 3
_POOLED = 0.5


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


def simulate_uneven_trials(
    population: Population,
    *,
    tasks: int,
    trials: int,
    single: Literal["drawn", "noisiest", "alone"],
    replications: int = 1_000,
    seed: int = 0,
) -> float:
    """Return how often the interval for the same tasks covers where half of them have one trial only.

    Args:
        population: Where tasks come from.
        tasks: Number of tasks.
        trials: Trials of the other half.
        single: Which have one: drawn, those whose chance is nearest to 1/2, or those of a chance of 1/2 where
            the others always or never succeed.
        replications: Simulated benchmarks.
        seed: Seed of numpy's PCG64.
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    covered = 0
    for _ in range(replications):
        chances = simulate_chances(population, [1] * tasks, generator)
        if single == "noisiest":
            chances = chances[numpy.argsort(abs(chances - 0.5))]
        elif single == "alone":
            chances = (generator.random(tasks) < population.rate).astype(float)
            chances[: tasks // 2] = 0.5
        numbers = numpy.where(numpy.arange(tasks) < tasks // 2, 1, trials)
        scores = {
            task: (generator.random(number) < chances[task]).astype(float).tolist()
            for task, number in enumerate(numbers)
        }
        covered += chances.mean() in success_rate_interval(scores, estimand="same_tasks")
    return covered / replications


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
    homes = numpy.add.reduceat(weights, starts)
    most = trials / float(weights @ weights)
    if estimand == "new_tasks":
        clusters = numpy.add.reduceat(weights * means, starts, axis=1) / homes
        several = len(homes) < len(weights) * trials
        return cluster_interval_ends(
            clusters, homes, numpy.array(sizes), most=most, several=several, level=level
        )
    estimate = means @ weights
    most = max(most, _kish(homes))
    variance = (means * (1.0 - means)) @ weights**2 / (trials - 1)
    variance += (variance > _NOTHING) * 0.25 * weights.max() ** 2 / (trials - 1)
    effective = _effective(estimate, variance, none=most, certain=most)
    return wilson_ends(estimate, effective, t_or_normal_quantile(level, None))


def cluster_interval_ends(
    means: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    *,
    most: float,
    several: bool,
    level: float = 0.95,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the ends of `interval_of` on new tasks for many benchmarks at once.

    Args:
        means: Of each cluster, shape (replications, clusters).
        weights: Of each cluster in the mean.
        sizes: Tasks of each cluster.
        most: What the trials are worth if none agree.
        several: Whether there are more trials than clusters.
        level: Nominal confidence.
    """
    numpy = load_numpy("a simulation")
    number, kish = len(weights), _kish(weights)
    estimate = means @ weights
    least, most = min(kish, 1.0 / (number * float(weights.max()) ** 2)), max(kish, most)
    variance = numpy.maximum(
        jackknife_variance(means, weights), _POOLED * _pooled_variance(means, weights, sizes)
    )
    effective = _effective(estimate, variance, none=kish, certain=most).clip(least, most)
    moved = estimate
    if several:
        worth = numpy.sqrt(kish * numpy.maximum(kish, effective))
        added = (estimate * worth + 1.0) / (worth + 2.0)
        two = variance * worth**2 + added**2 + (1.0 - added) ** 2
        after = added * (1.0 - added) * (worth + 2.0) ** 2 / two
        effective = numpy.maximum(numpy.minimum(effective, after), least)
        moved = estimate + 0.25 * (added - estimate)
    quantile = t_or_normal_quantile(level, kish - 1.0)
    low, high = wilson_ends(estimate, effective, quantile)
    ends = wilson_ends(moved, effective, quantile)
    low, high = numpy.minimum(low, ends[0]), numpy.maximum(high, ends[1])
    won, lost = (means > _NOTHING).sum(axis=1), (means < 1.0 - _NOTHING).sum(axis=1)
    alpha = (1.0 - level) / 2.0
    rows = numpy.flatnonzero((won > 0) & (won <= numpy.minimum(lost, _RARE)))
    limits = rare_low_limits(means[rows], weights, _RARE, alpha)
    low[rows] = numpy.minimum(low[rows], limits)
    rows = numpy.flatnonzero((lost > 0) & (lost <= numpy.minimum(won, _RARE)))
    limits = 1.0 - rare_low_limits(1.0 - means[rows], weights, _RARE, alpha)
    high[rows] = numpy.maximum(high[rows], limits)
    return low, high


def jackknife_variance(
    means: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the jackknife variance over clusters of many weighted means, as `variance_over_new_tasks`."""
    estimate = means @ weights
    pulled = weights * (means - estimate[:, None]) / (1.0 - weights)
    variance: npt.NDArray[np.float64] = (pulled**2).sum(axis=1) * (len(weights) - 1) / len(weights)
    return variance


def _pooled_variance(
    means: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    numpy = load_numpy("a simulation")
    estimate, several = means @ weights, sizes > 1
    spread = estimate * (1.0 - estimate)
    if not several.any():
        none: npt.NDArray[np.float64] = numpy.zeros_like(spread)
        return none
    squares = ((means[:, several] - estimate[:, None]) ** 2).sum(axis=1)
    parts, shares = 1.0 / sizes[several], weights[several] ** 2
    with numpy.errstate(divide="ignore", invalid="ignore"):
        squares = numpy.nan_to_num(squares / spread)
    alike = ((squares - parts.sum()) / (len(parts) - parts.sum())).clip(0.0, 1.0)
    kept = (1.0 - alike) * (squares / parts.sum()).clip(None, 1.0)
    pooled: npt.NDArray[np.float64] = spread * (alike * shares.sum() + kept * (shares @ parts))
    return pooled


def _kish(weights: npt.NDArray[np.float64]) -> float:
    return round(1.0 / float(weights @ weights), 9)


def _effective(
    estimate: npt.NDArray[np.float64],
    variance: npt.NDArray[np.float64],
    *,
    none: float,
    certain: float,
) -> npt.NDArray[np.float64]:
    numpy = load_numpy("a simulation")
    spread = estimate * (1.0 - estimate)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        found = numpy.where(variance > _NOTHING, spread / variance, certain)
    result: npt.NDArray[np.float64] = numpy.where(spread > _NOTHING, found, none)
    return result


def wilson_ends(
    estimate: npt.NDArray[np.float64], number: npt.NDArray[np.float64] | float, quantile: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return Wilson's limits of many rates, as `wilson_limits`."""
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
