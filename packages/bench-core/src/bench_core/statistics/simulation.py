"""How often an interval covers and a gate is right, by simulation with a seed.

Everybody who doubts a claim about coverage can run it; the coverage table of the documentation and the
tests are made with it. Needs numpy.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.gating import gate
from bench_core.statistics.rates import macro_average_interval, success_rate_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from bench_core.statistics.gating import GateVerdict
    from bench_core.statistics.intervals import Estimand, Interval

__all__ = [
    "Population",
    "SimulatedCoverage",
    "SimulatedGate",
    "simulate_coverage",
    "simulate_gate",
    "simulate_scores",
]


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
    """Share of replications whose interval held the truth, and the intervals' mean width."""

    covered: float
    width: float


class SimulatedGate(NamedTuple):
    """Shares of replications by the gate's verdict."""

    regression: float
    fine: float
    undecided: float


def simulate_coverage(  # noqa: PLR0913 - a simulation is what its settings say
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
    templates = numpy.repeat(numpy.arange(len(sizes)), sizes)
    clusters = dict(enumerate(templates.tolist()))
    weights = 1.0 / numpy.repeat(sizes, sizes) if average == "templates" else None
    covered, width = 0, 0.0
    for _ in range(replications):
        chances, scores = simulate_scores(population, sizes, trials, generator)
        table = dict(enumerate(scores.tolist()))
        interval = _interval(table, clusters, average, estimand, level)
        truth = population.rate
        if estimand == "same_tasks":
            truth = float(numpy.average(chances, weights=weights))
        covered += truth in interval
        width += interval.width
    return SimulatedCoverage(covered / replications, width / replications)


def simulate_gate(  # noqa: PLR0913 - as above
    population: Population,
    *,
    tasks: int,
    trials: int,
    drop: float = 0.0,
    tolerance: float = 0.05,
    alpha: float = 0.05,
    replications: int = 1_000,
    seed: int = 0,
) -> SimulatedGate:
    """Return how often the gate decides what when an agent's rate has dropped by `drop`.

    Every task's chance of success falls by the same factor, so none leaves the range from 0 to 1.
    A drop of 0 is the same agent run again: its regressions are false alarms.

    Args:
        population: Where tasks come from.
        tasks: Tasks of the benchmark, each its own cluster.
        trials: Trials per task, before and after.
        drop: True fall of the rate, at most the population's rate.
        tolerance: As for `gate`.
        alpha: As for `gate`.
        replications: Simulated pairs of runs.
        seed: Seed of numpy's PCG64.

    Raises:
        MissingExtraError: numpy is not installed.

    >>> found = simulate_gate(Population(0.42, 0.485), tasks=68, trials=3, replications=100)
    >>> found.regression < 0.15
    True
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    verdicts: Counter[GateVerdict] = Counter()
    for _ in range(replications):
        chances, before = simulate_scores(population, [1] * tasks, trials, generator)
        chances = chances * (1.0 - drop / population.rate)
        now = (generator.random((tasks, trials)) < chances[:, None]).astype(float)
        tables = (dict(enumerate(scores.tolist())) for scores in (now, before))
        verdicts[gate(*tables, tolerance=tolerance, alpha=alpha).verdict] += 1
    return SimulatedGate(
        regression=verdicts["regression"] / replications,
        fine=verdicts["fine"] / replications,
        undecided=verdicts["not_enough_evidence"] / replications,
    )


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
    numpy = load_numpy("a simulation")
    centre = _beta(generator, numpy.full(len(sizes), population.rate), population.templates_alike)
    chances = _beta(generator, numpy.repeat(centre, sizes), population.alike)
    outcomes = generator.random((len(chances), trials)) < chances[:, None]
    return chances, outcomes.astype(float)


def _interval(
    table: dict[int, list[float]],
    clusters: dict[int, int],
    average: str,
    estimand: Estimand,
    level: float,
) -> Interval:
    if average == "templates":
        return macro_average_interval(table, clusters, estimand=estimand, level=level)
    return success_rate_interval(table, clusters=clusters, estimand=estimand, level=level)


def _beta(
    generator: np.random.Generator, centre: npt.NDArray[np.float64], alike: float
) -> npt.NDArray[np.float64]:
    """Beta variates around `centre` with the given intra-class correlation."""
    if alike <= 0.0:
        return centre
    concentration = 1.0 / alike - 1.0
    # Beta parameters must stay positive where a template's own chance has run to 0 or 1.
    inside = centre.clip(1e-6, 1.0 - 1e-6)
    return generator.beta(inside * concentration, (1.0 - inside) * concentration)
