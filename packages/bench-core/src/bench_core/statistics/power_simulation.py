"""Simulate the power that a gate prints with its decision, from the totals it has seen."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bench_core.errors import MissingExtraError
from bench_core.statistics.array_tests import drop_p_values, finds_in_one_trial
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.one_trial import MOST_TASKS
from bench_core.statistics.permutation import power_of_counts

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

MOST_SIMULATED = 400
"""Most tasks for which power is simulated: approximations are rough there, and it is fast."""
_REPLICATIONS = 500
_PAIR = 2
_LEAST_RATE = 1e-200
"""Stands in for the rate of an agent that never succeeds, which cannot fall."""


def printed_power(
    kinds: Counter[tuple[int, int, int]],
    drop: float,
    alpha: float,
    *,
    conditional: bool = True,
) -> float:
    """Return the power that a gate prints: simulated if tasks are few, else `power_of_counts`.

    Arguments as `simulated_power`. If numbers of trials differ between tasks, or numpy is not
    installed, nothing is simulated.
    """
    alike = len({(now, before) for now, before, _ in kinds}) == 1
    if alike and kinds.total() <= MOST_SIMULATED:
        with suppress(MissingExtraError):
            return simulated_power(kinds, drop, alpha, conditional=conditional)
    return power_of_counts(kinds, drop, alpha, conditional=conditional)


def simulated_power(
    kinds: Mapping[tuple[int, int, int], int],
    drop: float,
    alpha: float,
    *,
    conditional: bool = True,
    replications: int = _REPLICATIONS,
    seed: int = 0,
) -> float:
    """Return how likely a fall of the mean by `drop` is significant at `alpha`, by simulation.

    Trials are shared out anew between before and now, and of the new successes each is lost with
    one chance: just how an agent with these totals would do whose chances all fell by one factor.

    Args:
        kinds: How many tasks have so many new trials, baseline trials and successes in all; the
            numbers of trials of all tasks are alike.
        drop: Fall of the mean.
        alpha: Level of the test.
        conditional: As for `within_task`.
        replications: Pairs of runs.
        seed: Seed of numpy's PCG64.

    >>> simulated_power({(3, 3, 6): 30, (3, 3, 0): 10}, 0.1, 0.05) > 0.8
    True
    """
    numpy = load_numpy("a simulation")
    ((trials, before_trials),) = {(now, before) for now, before, _ in kinds}
    totals = numpy.repeat([total for *_, total in kinds], list(kinds.values()))
    rows = numpy.broadcast_to(totals, (replications, len(totals)))
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    return float(
        finds_of_totals(
            rows, trials, before_trials, drop, alpha, generator, conditional=conditional
        ).mean()
    )


def finds_of_totals(
    totals: npt.NDArray[np.int64],
    trials: int,
    before_trials: int,
    drop: float,
    alpha: float,
    generator: np.random.Generator,
    *,
    conditional: bool = True,
) -> npt.NDArray[np.bool_]:
    """Return whether each of the pairs of runs that `simulated_power` draws shows a fall.

    Args:
        totals: Successes of each task in both runs, shape (replications, tasks).
        trials: New trials per task.
        before_trials: Baseline trials per task.
        drop: As for `simulated_power`, and so the rest.
        alpha: Level of the test.
        generator: Draws the runs.
        conditional: As for `within_task`.
    """
    numpy = load_numpy("a simulation")
    both = trials + before_trials
    now = generator.hypergeometric(totals, both - totals, trials)
    rates = totals.mean(axis=1, keepdims=True) / both
    lost = (drop / numpy.maximum(rates, max(drop, _LEAST_RATE))).clip(0.0, 1.0)
    fallen = generator.binomial(now, 1.0 - lost)
    if not conditional and both == _PAIR and totals.shape[1] <= MOST_TASKS:
        return finds_in_one_trial(fallen, totals - now, alpha)
    p_values, _ = drop_p_values(fallen, totals - now, trials, before_trials)
    found: npt.NDArray[np.bool_] = p_values <= alpha
    return found
