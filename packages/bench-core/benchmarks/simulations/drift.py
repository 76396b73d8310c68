"""How often a drift is found in runs that change while they go on, and seen in runs that do not."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from bench_core.statistics import TimedOutcome, drift_of
from bench_core.statistics.bootstrap import load_numpy
from simulations.populations import Population, simulate_chances

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BestDrift", "best_drift", "simulate_drift"]

_BEGAN = datetime(2026, 3, 1, tzinfo=timezone.utc)


def simulate_drift(
    population: Population,
    *,
    tasks: int,
    trials: int,
    shock: float = 0.0,
    fall: float = 0.0,
    in_rounds: bool = True,
    replications: int = 1_000,
    seed: int = 0,
) -> float:
    """Return the share of runs in which `drift_of` raises an alarm.

    Args:
        population: Where tasks come from.
        tasks: Number of tasks.
        trials: Trials per task.
        shock: Standard deviation, in logits, of what every trial number has to itself.
        fall: By how much the chance of success falls from the first start to the last.
        in_rounds: Whether all tasks run once, in random order, before one runs again; one task's trials
            follow each other otherwise.
        replications: Simulated runs.
        seed: Seed of numpy's PCG64.
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    found = 0
    for _ in range(replications):
        chances = simulate_chances(population, [1] * tasks, generator)
        if in_rounds:
            order = [(task, k) for k in range(trials) for task in generator.permutation(tasks)]
        else:
            order = [(task, k) for task in range(tasks) for k in range(trials)]
        moved = generator.normal(0.0, shock, trials) if shock else numpy.zeros(trials)
        outcomes = [
            TimedOutcome(
                task=str(task),
                trial=k + 1,
                success=_succeeds(
                    chances[task], moved[k], fall * (0.5 - at / len(order)), generator
                ),
                started=_BEGAN + timedelta(minutes=at),
            )
            for at, (task, k) in enumerate(order)
        ]
        drift = drift_of(outcomes)
        found += drift is not None and drift.alarm
    return found / replications


def _succeeds(chance: float, logits: float, points: float, generator: np.random.Generator) -> bool:
    if logits and 0.0 < chance < 1.0:
        chance = 1.0 / (1.0 + (1.0 / chance - 1.0) * math.exp(-logits))
    return bool(generator.random() < chance + points)


class BestDrift(NamedTuple):
    """What no test at 6% exceeds: how often it finds shocks, a fall, and whichever of both it finds less."""

    shock: float
    fall: float
    either: float


def best_drift(
    population: Population,
    *,
    tasks: int,
    shock: float,
    fall: float,
    replications: int = 2_000,
    seed: int = 0,
) -> BestDrift:
    """Simulate likelihood ratios that know the tasks' law, both drifts and the order, with three trials in rounds.

    Neyman and Pearson: no test of a drift that is known finds it more often. The last share is that of the
    mean of both ratios, weighed so that both are found equally often.

    Args:
        population: Where tasks come from.
        tasks: Number of tasks.
        shock: As for `simulate_drift`.
        fall: As for `simulate_drift`.
        replications: Simulated runs of each kind.
        seed: Seed of numpy's PCG64.
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    # every task's chance is one of many, as drawn as evenly as can be
    law = numpy.sort(simulate_chances(population, [1] * 40_000, generator))[100::200]
    nodes, weights = numpy.polynomial.hermite_e.hermegauss(9)
    moves = shock * numpy.array(list(product(nodes, repeat=3)))
    log_weights = numpy.log(weights / weights.sum())
    moves_log = numpy.array([sum(each) for each in product(log_weights, repeat=3)])
    kinds = numpy.array(list(product((0, 1), repeat=3)))
    of_moves = numpy.log(_likelihood(_moved(law[:, None, None], moves)[:, :, None], kinds)).T
    still = numpy.log(_likelihood(law[:, None, None], kinds))

    def ratios(shocks: float, falls: float) -> tuple[float, float]:
        """Return the logarithms of both ratios of a run."""
        chances = simulate_chances(population, [1] * tasks, generator)[:, None]
        at = numpy.stack([generator.permutation(tasks) + k * tasks for k in range(3)], axis=1)
        slope = fall * (0.5 - at / (3 * tasks))
        now = _moved(chances, generator.normal(0.0, shocks, 3)) if shocks else chances
        won = (generator.random((tasks, 3)) < now + (slope if falls else 0.0)).astype(int)
        pattern = won @ [4, 2, 1]
        none = still[pattern].sum()
        counts = numpy.bincount(pattern, minlength=8)
        of_shocks = numpy.logaddexp.reduce(counts @ of_moves + moves_log) - none
        falling = (law[:, None, None] + slope).clip(1e-12, 1.0 - 1e-12)
        of_fall = numpy.log(_likelihood(falling, won)).sum() - none
        return float(of_shocks), float(of_fall)

    same, shaken, fallen = (
        numpy.array([ratios(shocks, falls) for _ in range(replications)])
        for shocks, falls in ((0.0, 0.0), (shock, 0.0), (0.0, fall))
    )

    def found(weight: float) -> tuple[float, float]:
        """Return how often each drift is found, with a weight of falls."""
        mix = numpy.log([max(1.0 - weight, 1e-300), max(weight, 1e-300)])
        none, *drifts = (numpy.logaddexp(*(each + mix).T) for each in (same, shaken, fallen))
        least = numpy.quantile(none, 0.94)
        shares = [float((each > least).mean()) for each in drifts]
        return shares[0], shares[1]

    mixed = [found(1.0 / (1.0 + math.exp(-n / 2.0))) for n in range(-10, 11)]
    return BestDrift(found(0.0)[0], found(1.0)[1], max(map(min, mixed)))


def _likelihood(
    chances: npt.NDArray[np.float64], won: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return how likely three trials' outcomes (last axis) are, in the mean over a task's law (first axis)."""
    numpy = load_numpy("a simulation")
    found: npt.NDArray[np.float64] = (
        numpy.where(won, chances, 1.0 - chances).prod(axis=-1).mean(axis=0)
    )
    return found


def _moved(
    chances: npt.NDArray[np.float64], logits: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    numpy = load_numpy("a simulation")
    with numpy.errstate(divide="ignore"):
        moved: npt.NDArray[np.float64] = 1.0 / (1.0 + (1.0 / chances - 1.0) * numpy.exp(-logits))
    return moved
