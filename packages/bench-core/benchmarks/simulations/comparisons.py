"""How often `compare` finds a difference of two agents on tasks without templates, beside what it could do instead."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.paired_tests import mcnemar_mid_p, mcnemar_score
from simulations.populations import Population, jackknife_variance

__all__ = ["Found", "simulate_comparisons"]

ALPHA = 0.05


class Found(NamedTuple):
    """Shares of pairs of runs in which a difference is found at 5%.

    Attributes:
        now: By `compare`.
        whole_ties: By the larger p-value of t and of sign flips with whole ties, or by mid-p alone with one trial.
        by_t: By the paired t test alone.
    """

    now: float
    whole_ties: float
    by_t: float


def simulate_comparisons(
    population: Population, *, tasks: int, trials: int, effect: float, replications: int, seed: int
) -> Found:
    """Compare agents whose tasks' chances differ: the new one's are `effect` standard errors higher.

    Chances differ beyond that by a normal deviate of 10 points (sd) for each task, cut off at 0 and 1.
    """
    generator = np.random.default_rng(seed)
    rate, alike, _ = population
    shape = 1.0 / alike - 1.0
    error = math.sqrt((2.0 * rate * (1.0 - rate) * (1.0 - alike) / trials + 0.01) / tasks)
    base = generator.beta(rate * shape, (1.0 - rate) * shape, (replications, tasks))
    apart = generator.normal(0.0, 0.1 / math.sqrt(2.0), (2, replications, tasks))
    apart[0] += effect * error
    won = generator.binomial(trials, (base + apart).clip(0.0, 1.0))
    changes = won[0] - won[1]
    deviation = np.sqrt(jackknife_variance(changes.astype(float), np.full(tasks, 1.0 / tasks)))
    by_t = abs(changes.mean(axis=1)) > t_quantile(1.0 - ALPHA / 2.0, tasks - 1) * deviation
    of_signs = _one_trial if trials == 1 else _several_trials
    found = np.array([
        of_signs(*np.bincount(abs(each), minlength=trials + 1).tolist(), total=int(abs(each.sum())))
        for each in (changes if trials == 1 else changes[by_t])
    ]).reshape(-1, 2)  # fmt: skip
    now, whole = ((found < ALPHA).sum(axis=0) / replications).tolist()
    return Found(now, whole, float(by_t.mean()))


@lru_cache(maxsize=100_000)
def _one_trial(_same: int, changed: int, *, total: int) -> tuple[float, float]:
    """Return the p-values of `compare` and of mid-p alone."""
    gained, lost = (changed + total) // 2, (changed - total) // 2
    mid_p = mcnemar_mid_p(gained, lost)
    return max(mid_p, mcnemar_score(gained, lost)), mid_p


@lru_cache(maxsize=100_000)
def _several_trials(*times: int, total: int) -> tuple[float, float]:
    """Return the p-values of flipped signs with ties that count half, and with whole ones.

    Args:
        times: How many tasks changed by no trial, by one, by two, ...
        total: By how many trials all tasks changed together.
    """
    chances = np.ones(1)
    for change, number in enumerate(times[1:], 1):
        step = np.zeros(2 * change * number + 1)
        step[:: 2 * change] = binom.pmf(np.arange(number + 1), number, 0.5)
        chances = np.convolve(chances, step)
    sums = np.arange(len(chances)) - len(chances) // 2
    whole = float(chances[abs(sums) >= total].sum())
    return whole - float(chances[sums == total].sum()) if total else whole, whole
