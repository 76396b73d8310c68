"""How often a drift is found in runs that change while they go on, and seen in runs that do not."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import TYPE_CHECKING

from bench_core.statistics import TimedOutcome, drift_of
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.distributions import chi_square_tail, normal_cdf
from simulations.populations import Population, simulate_chances

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["drift_tests", "simulate_drift"]

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
        fall: By how much the population's rate falls from the first start to the last, linearly, by a shift
            in logits that all tasks share.
        in_rounds: Whether all tasks run once, in random order, before one runs again; one task's trials
            follow each other otherwise.
        replications: Simulated runs.
        seed: Seed of numpy's PCG64.
    """
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    slope = _fall_in_logits(population, fall, tasks * trials)
    found = 0
    for _ in range(replications):
        chances = simulate_chances(population, [1] * tasks, generator)
        if in_rounds:
            order = [(task, k) for k in range(trials) for task in generator.permutation(tasks)]
        else:
            order = [(task, k) for task in range(tasks) for k in range(trials)]
        places, numbers = numpy.array(order).T
        moved = generator.normal(0.0, shock, trials)[numbers] + slope
        won = generator.random(len(order)) < _moved(chances[places], moved)
        outcomes = [
            TimedOutcome(str(task), k + 1, success, _BEGAN + timedelta(minutes=at))
            for at, ((task, k), success) in enumerate(zip(order, won.tolist(), strict=True))
        ]
        drift = drift_of(outcomes)
        found += drift is not None and drift.alarm
    return found / replications


def _law(population: Population) -> npt.NDArray[np.float64]:
    """Return 50 chances of tasks that are spread as evenly as can be."""
    numpy = load_numpy("a simulation")
    generator = numpy.random.Generator(numpy.random.PCG64(0))
    drawn: npt.NDArray[np.float64] = numpy.sort(
        simulate_chances(population, [1] * 40_000, generator)
    )
    return drawn[400::800]


def _fall_in_logits(population: Population, fall: float, number: int) -> npt.NDArray[np.float64]:
    """Return the shifts in logits that make the rate fall linearly over so many starts."""
    numpy = load_numpy("a simulation")
    if not fall:
        return numpy.zeros(number)
    shifts = numpy.linspace(-6.0, 6.0, 601)
    rates = _moved(_law(population)[:, None], shifts).mean(axis=0)
    wanted = rates[300] + fall * (0.5 - numpy.arange(number) / number)
    return numpy.interp(wanted, rates, shifts)


def drift_tests(
    population: Population,
    *,
    tasks: int,
    shock: float,
    fall: float,
    replications: int = 2_000,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """Return how often tests at 6% find shocks and a fall, by test, with three trials in rounds.

    The last are the best of all tests whose error does not depend on the tasks' chances, so that they can but
    compare trials of one task (Lehmann and Scheffe): likelihood ratios given the tasks' totals, which know the
    tasks' law, both drifts and the order. `either` is the mean of both, weighed so that both are found alike.

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
    law, falling = _law(population), _fall_in_logits(population, fall, 3 * tasks)
    nodes, weights = numpy.polynomial.hermite_e.hermegauss(9)
    moves = shock * numpy.array(list(product(nodes, repeat=3)))
    log_weights = numpy.log(weights / weights.sum())
    moves_log = numpy.array([sum(each) for each in product(log_weights, repeat=3)])
    kinds = numpy.array(list(product((0, 1), repeat=3)))
    same_total = (kinds.sum(axis=1)[:, None] == kinds.sum(axis=1)).astype(float)
    shaken = _likelihood(_moved(law[:, None, None], moves)[:, :, None], kinds)
    of_moves, of_totals = numpy.log(shaken).T, numpy.log(shaken @ same_total).T
    still = _likelihood(law[:, None, None], kinds)
    alone = numpy.log(still / (still @ same_total))
    fallen_law = _moved(law[:, None], falling)

    def statistics(shocks: float, falls: float) -> list[float]:
        """Return the statistics of a run that no test alone needs, and the logarithms of both ratios."""
        chances = simulate_chances(population, [1] * tasks, generator)[:, None]
        at = numpy.stack([generator.permutation(tasks) + k * tasks for k in range(3)], axis=1)
        now = _moved(chances, generator.normal(0.0, shocks, 3) + (falling[at] if falls else 0.0))
        won = (generator.random((tasks, 3)) < now).astype(int)
        pattern = won @ [4, 2, 1]
        none = alone[pattern].sum()
        counts = numpy.bincount(pattern, minlength=8)
        of_shocks = (
            numpy.logaddexp.reduce(counts @ of_moves + moves_log)
            - numpy.logaddexp.reduce(counts @ of_totals + moves_log)
            - none
        )
        fallen = _likelihood(fallen_law[:, at][:, :, None], kinds)
        of_fall = (
            numpy.log(
                fallen[numpy.arange(tasks), pattern] / (fallen * same_total[pattern]).sum(axis=1)
            ).sum()
            - none
        )
        total = won.sum(axis=1)
        noise = total * (3 - total) / 6.0
        away = at - at.mean(axis=1, keepdims=True)
        line = -(away * won).sum() / math.sqrt(float((away**2).sum(axis=1) @ noise))
        square = won.sum(axis=0).var() * 3.0 / noise.sum()
        tails = [normal_cdf(-line), 2.0 * normal_cdf(-abs(line)), chi_square_tail(square, 2)]
        largest = -min(tails[1:])
        return [*(-each for each in tails), largest, float(of_shocks), float(of_fall)]

    same, *drifts = (
        numpy.array([statistics(shocks, falls) for _ in range(replications)]).T
        for shocks, falls in ((0.0, 0.0), (shock, 0.0), (0.0, fall))
    )

    def found(none: npt.NDArray[np.float64], *some: npt.NDArray[np.float64]) -> tuple[float, float]:
        """Return how often each drift is found at 6%."""
        least = numpy.quantile(none, 0.94)
        of_shocks, of_fall = (float((each > least).mean()) for each in some)
        return of_shocks, of_fall

    def mixed(weight: float) -> tuple[float, float]:
        """Return how often each drift is found, with a weight of falls."""
        mix = numpy.log([1.0 - weight, weight])
        return found(
            *(numpy.logaddexp(each[-2] + mix[0], each[-1] + mix[1]) for each in (same, *drifts))
        )

    names = ("fall", "fall or rise", "trial numbers", "largest", "shocks at best", "fall at best")
    tests = {name: found(same[n], *(each[n] for each in drifts)) for n, name in enumerate(names)}
    either = max((mixed(1.0 / (1.0 + math.exp(-n / 4.0))) for n in range(-20, 21)), key=min)
    return tests | {"either at best": either}


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
