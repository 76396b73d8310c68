"""How often a drift is found in runs that change while they go on, and seen in runs that do not."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from bench_core.statistics import TimedOutcome, drift_of
from bench_core.statistics.bootstrap import load_numpy
from simulations.populations import Population, simulate_chances

if TYPE_CHECKING:
    import numpy as np

__all__ = ["simulate_drift"]

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
