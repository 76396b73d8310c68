"""How often the interval of a mean cost is right, for costs of several laws. Needs numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.statistics import cost_interval
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.clustering import reduce_tasks, task_mean
from bench_core.statistics.proportions import t_or_normal_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt

__all__ = ["COST_LAWS", "SimulatedCosts", "simulate_costs"]


class SimulatedCosts(NamedTuple):
    """Shares of samples: whose interval, and whose t interval, holds the mean, of those that are not refused.

    `narrowest` is the least width there was, as a share of the mean.
    """

    covered: float
    covered_by_t: float
    refused: float
    narrowest: float


def simulate_costs(
    law: str, *, tasks: int, replications: int = 4_000, seed: int = 0
) -> SimulatedCosts:
    """Draw costs of tasks by a law of `COST_LAWS`, of mean 1, and put an interval on their mean."""
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    drawn = COST_LAWS[law](generator, (replications, tasks))
    covered = by_t = refused = 0
    narrowest = float("inf")
    for row in drawn.tolist():
        costs = dict(enumerate(row))
        try:
            found = cost_interval(costs)
        except NotEstimableError:
            refused += 1
            continue
        covered += 1.0 in found
        narrowest = min(narrowest, found.width)
        mean = task_mean(reduce_tasks(costs))
        half = t_or_normal_quantile(0.95, tasks - 1.0) * mean.variance_over_new_tasks() ** 0.5
        by_t += abs(mean.estimate - 1.0) <= half
    given = replications - refused
    return SimulatedCosts(covered / given, by_t / given, refused / replications, narrowest)


def _lognormal(
    sigma: float, trials: int = 1
) -> Callable[[np.random.Generator, tuple[int, int]], npt.NDArray[np.float64]]:
    """Return a law of lognormal costs; of several trials half of the variance of logarithms is the task's."""

    def draw(generator: np.random.Generator, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
        numpy = load_numpy("a simulation")
        within = sigma**2 / 2.0 if trials > 1 else sigma**2
        between = sigma**2 - within
        logs = generator.normal(0.0, within**0.5, (*shape, trials))
        logs += generator.normal(0.0, between**0.5, (*shape, 1))
        costs: npt.NDArray[np.float64] = numpy.exp(logs - sigma**2 / 2.0)
        return costs

    return draw


COST_LAWS: Mapping[
    str, Callable[[np.random.Generator, tuple[int, int]], npt.NDArray[np.float64]]
] = {
    **{f"lognormal, {sigma:g}": _lognormal(sigma) for sigma in (0.5, 1.0, 1.5, 2.0)},
    "lognormal, 1.5, three trials": _lognormal(1.5, 3),
    "exponential": lambda generator, shape: generator.exponential(1.0, (*shape, 1)),
    "uniform": lambda generator, shape: generator.uniform(0.0, 2.0, (*shape, 1)),
    "a tenth costs eleven times as much": lambda generator, shape: (
        generator.uniform(0.9, 1.1, (*shape, 1))
        * (1.0 + 10.0 * (generator.random((*shape, 1)) < 0.1))
        / 2.0
    ),
}
