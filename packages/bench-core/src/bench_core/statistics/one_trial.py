"""Test all tasks of one trial before and one now, exactly on average over the number that changed.

Let C of n tasks change their outcome, W of them for the worse. Given C = c, an unchanged agent has
W ~ Bin(c, 1/2), so a test that is exact for every c wastes most of its error if c is small: even 3
worse of 3 changed tasks have a chance of 1/8. Only the mean over C has to be right. An unchanged
agent changes task i with chance q_i = 2 p_i (1 - p_i) <= 1/2, and errs with chance E f(C), with f(c)
the chance of rejection given c. This is linear in each q_i, so it is largest if every q_i is 0 or
1/2: the maximum over m <= n of E f(Bin(m, 1/2)).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

MOST_TASKS = 400
"""With more tasks the conditional test loses too little to be worth a time quadratic in them."""
_TIE = 1e-9


@lru_cache(maxsize=4096)
def one_trial_p_value(worse: int, changed: int, tasks: int) -> float:
    """Return the one-sided p-value of `worse` tasks that were solved before and are not now.

    Outcomes (W, C) are ordered by McNemar's mid-p; the p-value is the largest chance that an
    unchanged agent has of this outcome or a more extreme one, whatever its chances of success. Suissa
    and Shuster (1991), Biometrics 47:361, with another order and the supremum over unequal q_i, too.

    Args:
        worse: Tasks with a success before and a failure now.
        changed: Tasks whose outcome changed.
        tasks: All tasks.

    >>> round(one_trial_p_value(4, 4, 12), 4), 0.5**4
    (0.0268, 0.0625)
    """
    return _level(mid_p(worse, changed) * (1.0 + _TIE), tasks)


@lru_cache(maxsize=64)
def critical_mid_p(tasks: int, alpha: float) -> float:
    """Return the mid-p up to which outcomes have a `one_trial_p_value` of at most alpha.

    >>> round(critical_mid_p(154, 0.05), 3)
    0.049
    """
    low, high = 0.0, 1.0
    while high - low > _TIE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _level(middle, tasks) <= alpha else (low, middle)
    return low


@lru_cache(maxsize=4096)
def mid_p(worse: int, changed: int) -> float:
    """Return P(W > worse) + P(W = worse) / 2 for W ~ Bin(changed, 1/2).

    >>> mid_p(4, 4)
    0.03125
    """
    tail, chance = 1.0, 0.5**changed
    for heads in range(worse):
        tail -= chance
        chance *= (changed - heads) / (heads + 1)
    return max(0.0, tail - 0.5 * chance)


def _level(order: float, tasks: int) -> float:
    """Return the largest chance that an unchanged agent has of a mid-p of `order` or less.

    These are the outcomes W >= w(c); w(c) never falls as c grows, so f(c) = P(W >= w(c) | C = c)
    follows from f(c - 1) by one more coin. With f_0 = f and f_m(c) = (f_{m-1}(c) + f_{m-1}(c + 1)) / 2,
    the mean over C is f_m(0) = E f(Bin(m, 1/2)).
    """
    least, tail, chance = 0, 1.0, 1.0  # w(c), P(W >= w(c)) and P(W = w(c)), from c = 0
    rejected: list[float] = []  # f(c)
    for changed in range(tasks + 1):
        while least <= changed and tail - 0.5 * chance > order:
            tail -= chance
            chance *= (changed - least) / (least + 1)
            least += 1
        rejected.append(max(0.0, tail) if least <= changed else 0.0)
        # P(W = w(c) - 1), of which half moves up with the next coin
        before = chance * least / (changed - least + 1) if least <= changed else 0.5**changed
        tail += 0.5 * before
        chance = 0.5 * (chance + before)
    highest = rejected[0]
    while len(rejected) > 1:  # from f_{m-1} to f_m
        rejected = [0.5 * (left + right) for left, right in pairwise(rejected)]
        highest = max(highest, rejected[0])
    return highest
