"""What tests other than the gate's could find, where a paired t test finds more; for coverage_table.py.

Each of the agent's chances of success falls by one factor. The best permutation within tasks knows the agent and the
loss, and so does the best of all tests whose false alarms are at most 5% whatever the tasks' chances are.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import beta, binom

from bench_core.statistics.array_tests import drop_p_values, finds_in_one_trial
from bench_core.statistics.distributions import t_quantile
from bench_core.statistics.one_trial import MOST_TASKS
from bench_core.statistics.permutation import hypergeometric

if TYPE_CHECKING:
    import numpy.typing as npt

    from bench_core.statistics.simulation import Population

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

__all__ = ["Bounds", "power_bounds"]

ALPHA = 0.05
RUNS, DRAWS, SUMS = 600, 1_500, 100_000
NODES, CHANCES, ROUNDS = 2_000, 201, 3_000
TIE = 1e-9
COINS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)


class Bounds(NamedTuple):
    """Power of the gate, of the t test, and of what could be instead.

    Attributes:
        gate: What the gate finds.
        paired_t: What the one-sided paired t test finds.
        permutation: The permutation within tasks that is best for just this loss.
        with_lots: The same where it draws lots at its boundary, so that it errs in 5% exactly.
        mid_p: The permutation of the sum with its mid-p.
        mid_p_errs: How often that finds a drop of an unchanged agent, at worst among agents for which some
            tasks have one and the same chance and the others are certain.
        any_test: No test errs in at most 5% for all agents and finds more.
    """

    gate: float
    paired_t: float
    permutation: float
    with_lots: float
    mid_p: float
    mid_p_errs: float
    any_test: float


def power_bounds(  # noqa: PLR0913, PLR0917 - a cell is what its settings say
    agent: Population, tasks: int, trials: int, old: int, drop: float, seed: int
) -> Bounds:
    """Return what can be found at all when the chances of such an agent fall by `drop` in the mean."""
    chance = np.random.default_rng(seed)
    shape = 1.0 / agent.alike - 1.0
    chances = chance.beta(agent.rate * shape, (1.0 - agent.rate) * shape, (RUNS * 5, tasks))
    kept = 1.0 - drop / agent.rate
    now, before = chance.binomial(trials, kept * chances), chance.binomial(old, chances)
    if trials == old == 1 and tasks <= MOST_TASKS:
        found = finds_in_one_trial(now, before, ALPHA)
    else:
        found = drop_p_values(now, before, trials, old)[0] <= ALPHA
    fallen = _outcomes(agent, trials, old, kept)
    within = _within_tasks(now[:RUNS], before[:RUNS], trials, old, fallen, chance)
    return Bounds(
        float(found.mean()),
        float(_paired_t(now / trials - before / old).mean()),
        *within,
        _mid_p_errs(tasks, trials, old, seed),
        _any_test(fallen, tasks, trials, old, chance),
    )


def _paired_t(differences: Floats) -> npt.NDArray[np.bool_]:
    tasks = differences.shape[1]
    error = differences.std(axis=1, ddof=1) / math.sqrt(tasks)
    found: npt.NDArray[np.bool_] = (
        differences.mean(axis=1) + t_quantile(1.0 - ALPHA, tasks - 1) * error < 0.0
    )
    return found


def _outcomes(agent: Population, trials: int, old: int, kept: float) -> Floats:
    """Return how likely a task has so many successes now and before, shape (now, before)."""
    shape = 1.0 / agent.alike - 1.0
    middles = (np.arange(NODES) + 0.5) / NODES
    chances = beta.ppf(middles, agent.rate * shape, (1.0 - agent.rate) * shape)
    now = binom.pmf(np.arange(trials + 1)[:, None], trials, kept * chances)
    before = binom.pmf(np.arange(old + 1)[:, None], old, chances)
    found: Floats = now @ before.T / NODES
    return found


def _within_tasks(  # noqa: PLR0913, PLR0917 - private
    now: Whole, before: Whole, trials: int, old: int, fallen: Floats, chance: np.random.Generator
) -> tuple[float, float, float]:
    """Return the power of the best permutation, of that with lots, and of the sum's mid-p."""
    # Neyman and Pearson: given the totals, the best order is that of the likelihood ratio
    ratio = np.zeros((trials + 1, trials + old + 1))
    for total in range(trials + old + 1):
        places = range(max(0, total - old), min(trials, total) + 1)
        likely = np.array([fallen[n, total - n] for n in places])
        null = np.array(hypergeometric(trials, old, total))
        ratio[list(places), total] = np.log(likely / likely.sum() / null)
    found = np.zeros(3)
    for new, totals in zip(now, now + before, strict=True):
        drawn = chance.hypergeometric(totals, trials + old - totals, trials, (DRAWS, len(totals)))
        more, same = _tail(ratio[drawn, totals].sum(axis=1) - ratio[new, totals].sum())
        less, tied = _tail(new.sum() - drawn.sum(axis=1))
        lots = (ALPHA - more) / same if same else math.inf
        found += more + same <= ALPHA, min(1.0, max(0.0, lots)), less + 0.5 * tied <= ALPHA
    best, with_lots, mid = (found / len(now)).tolist()
    return best, with_lots, mid


def _tail(beyond: Floats) -> tuple[float, float]:
    return float((beyond > TIE).mean()), float((abs(beyond) <= TIE).mean())


@lru_cache(maxsize=100)
def _mid_p_errs(tasks: int, trials: int, old: int, seed: int) -> float:
    """Return the worst false alarms of the mid-p, over numbers of tasks with one chance."""
    numbers = sorted({tasks, tasks // 2, 2})
    return max(
        _mid_p_level(number, trials, old, coin, seed) for number, coin in product(numbers, COINS)
    )


def _mid_p_level(tasks: int, trials: int, old: int, coin: float, seed: int) -> float:
    chance = np.random.default_rng(seed)
    now = chance.binomial(trials, coin, (RUNS * 5, tasks))
    totals = now + chance.binomial(old, coin, now.shape)
    least = np.maximum(0, totals - old).sum(axis=1)
    return float(
        np.mean(
            [
                _mid_p(tuple(sorted(row)), trials, old, int(won)) <= ALPHA
                for row, won in zip(totals.tolist(), now.sum(axis=1) - least, strict=True)
            ]
        )
    )


@lru_cache(maxsize=100_000)
def _mid_p(totals: tuple[int, ...], trials: int, old: int, won: int) -> float:
    null = np.ones(1)
    for total in totals:
        null = np.convolve(null, hypergeometric(trials, old, total))
    return float(null[:won].sum() + 0.5 * null[won])


def _any_test(
    fallen: Floats, tasks: int, trials: int, old: int, chance: np.random.Generator
) -> float:
    """Return what the likelihood ratio against an unchanged agent finds that looks most alike.

    That agent's chances are drawn, so that no test with at most 5% false alarms for every agent finds
    more than this one (Lehmann and Romano, Testing Statistical Hypotheses, theorem 3.8.1).
    """
    coins = np.linspace(0.0, 1.0, CHANCES)
    now = binom.pmf(np.arange(trials + 1)[:, None], trials, coins)
    before = binom.pmf(np.arange(old + 1)[:, None], old, coins)
    each = (now[:, None, :] * before[None, :, :]).reshape(-1, CHANCES)
    seen = fallen.reshape(-1)
    share = np.full(CHANCES, 1.0 / CHANCES)
    for _ in range(
        ROUNDS
    ):  # expectation-maximisation of the likelihood of what the fallen agent shows
        share *= each.T @ (seen / np.maximum(each @ share, 1e-300))
    null = each @ share
    ratio = np.log(np.maximum(seen, 1e-300) / np.maximum(null, 1e-300))
    same = chance.multinomial(tasks, null / null.sum(), SUMS) @ ratio
    lost = chance.multinomial(tasks, seen / seen.sum(), SUMS) @ ratio
    limit = np.quantile(same, 1.0 - ALPHA, method="higher")
    beyond, at = _tail(same - limit)
    found, found_at = _tail(lost - limit)
    return found + (found_at * (ALPHA - beyond) / at if at else 0.0)
