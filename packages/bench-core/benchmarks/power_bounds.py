"""What tests other than the gate's could find, where a paired t test finds more; for coverage_table.py.

Each of the agent's chances of success falls by one factor. The best permutation within tasks knows the agent and the
loss, and so does the best of all tests whose false alarms are at most 5% whatever the tasks' chances are.
"""

from __future__ import annotations

import math
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
    from simulations.populations import Population

    Floats = npt.NDArray[np.float64]
    Whole = npt.NDArray[np.int64]

__all__ = ["Bounds", "power_bounds", "t_errs"]

ALPHA = 0.05
RUNS, DRAWS, SUMS = 600, 1_500, 100_000
NODES, CHANCES, ROUNDS = 2_000, 201, 3_000
TIE = 1e-9
FEW = 12
COINS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)


class Bounds(NamedTuple):
    """Power of the gate, of the t test, and of what could be instead.

    Attributes:
        gate: What the gate finds.
        paired_t: What the one-sided paired t test finds.
        held_t: What it finds with the larger critical value of `t_errs`. No t test that errs in at most 5% finds more.
        permutation: The permutation within tasks that is best for just this loss.
        with_lots: The same where it draws lots at its boundary, so that it errs in 5% exactly.
        any_test: No test errs in at most 5% for all agents and finds more.
    """

    gate: float
    paired_t: float
    held_t: float
    permutation: float
    with_lots: float
    any_test: float


def power_bounds(
    agent: Population, tasks: int, trials: int, old: int, drop: float, needed: float, seed: int
) -> Bounds:
    """Return what can be found at all when the chances of such an agent fall by `drop` in the mean.

    `needed` is the critical value with which the t test keeps to 5%.
    """
    chance = np.random.default_rng(seed)
    shape = 1.0 / agent.alike - 1.0
    chances = chance.beta(agent.rate * shape, (1.0 - agent.rate) * shape, (RUNS * 5, tasks))
    kept = 1.0 - drop / agent.rate
    now, before = chance.binomial(trials, kept * chances), chance.binomial(old, chances)
    if trials == old == 1 and tasks <= MOST_TASKS:
        found = finds_in_one_trial(now, before, ALPHA)
    else:
        found = drop_p_values(now, before, trials, old)[0] <= ALPHA
    values = _t_values(now, before, trials, old, tasks)
    fallen = _outcomes(agent, trials, old, kept)
    within = _within_tasks(now[:RUNS], before[:RUNS], trials, old, fallen, chance)
    return Bounds(
        float(found.mean()),
        float((values > t_quantile(1.0 - ALPHA, tasks - 1)).mean()),
        float((values > needed).mean()),
        *within,
        _any_test(fallen, tasks, trials, old, chance),
    )


def _outcomes(agent: Population, trials: int, old: int, kept: float) -> Floats:
    """Return how likely a task has so many successes now and before, shape (now, before)."""
    shape = 1.0 / agent.alike - 1.0
    middles = (np.arange(NODES) + 0.5) / NODES
    chances = beta.ppf(middles, agent.rate * shape, (1.0 - agent.rate) * shape)
    now = binom.pmf(np.arange(trials + 1)[:, None], trials, kept * chances)
    before = binom.pmf(np.arange(old + 1)[:, None], old, chances)
    found: Floats = now @ before.T / NODES
    return found


def _within_tasks(
    now: Whole, before: Whole, trials: int, old: int, fallen: Floats, chance: np.random.Generator
) -> tuple[float, float]:
    """Return the power of the best permutation within tasks, and of that with lots."""
    # Neyman and Pearson: given the totals, the best order is that of the likelihood ratio
    ratio = np.zeros((trials + 1, trials + old + 1))
    for total in range(trials + old + 1):
        places = range(max(0, total - old), min(trials, total) + 1)
        likely = np.array([fallen[n, total - n] for n in places])
        null = np.array(hypergeometric(trials, old, total))
        ratio[list(places), total] = np.log(likely / likely.sum() / null)
    found = np.zeros(2)
    for new, totals in zip(now, now + before, strict=True):
        drawn = chance.hypergeometric(totals, trials + old - totals, trials, (DRAWS, len(totals)))
        more, same = _tail(ratio[drawn, totals].sum(axis=1) - ratio[new, totals].sum())
        lots = (ALPHA - more) / same if same else math.inf
        found += more + same <= ALPHA, min(1.0, max(0.0, lots))
    best, with_lots = (found / len(now)).tolist()
    return best, with_lots


def _tail(beyond: Floats) -> tuple[float, float]:
    return float((beyond > TIE).mean()), float((abs(beyond) <= TIE).mean())


def t_errs(tasks: int, trials: int, old: int, seed: int) -> tuple[float, float]:
    """Return how often the t test finds a drop of the unchanged agent that is worst for it, and the value it needs.

    Some tasks of these agents have one and the same chance, the others are certain. With the value returned instead
    of t's quantile it errs in at most 5% for that agent; other agents may ask for more.
    """
    chance = np.random.default_rng(seed)
    quantile = t_quantile(1.0 - ALPHA, tasks - 1)

    def unchanged(number: int, coin: float, runs: int) -> Floats:
        now = chance.binomial(trials, coin, (runs, number))
        return _t_values(now, chance.binomial(old, coin, now.shape), trials, old, tasks)

    numbers = {*range(2, min(tasks, FEW) + 1), *np.geomspace(2, tasks, FEW).astype(int).tolist()}
    agents = list(product(sorted(numbers), COINS))
    for runs, kept in ((RUNS * 5, FEW), (RUNS * 20, 1)):
        found = {each: (unchanged(*each, runs) > quantile).mean() for each in agents}
        agents = sorted(agents, key=found.__getitem__, reverse=True)[:kept]
    again = unchanged(*agents[0], RUNS * 20)  # of many agents the worst looks worse than it is
    needed = float(np.quantile(again, 1.0 - ALPHA, method="inverted_cdf"))
    return float((again > quantile).mean()), max(quantile, needed)


def _t_values(now: Whole, before: Whole, trials: int, old: int, tasks: int) -> Floats:
    """Return the paired t statistic of a drop, where tasks that are not given did not change."""
    changes = old * now - trials * before  # whole, so that equal outcomes have equal values
    total = changes.sum(axis=1)
    spread = tasks * (changes**2).sum(axis=1) - total**2
    with np.errstate(divide="ignore", invalid="ignore"):
        values: Floats = np.where(
            total == 0, 0.0, -total * math.sqrt(tasks - 1) / np.sqrt(spread.clip(0))
        )
    return values


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
