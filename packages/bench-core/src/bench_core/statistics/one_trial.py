"""One trial of each task before and now, and all tasks in one test: exact on average over what changed.

A test that is exact given the number of tasks that changed wastes most of its error where few did: of
three tasks that changed all three must be worse, at a chance of an eighth, so that it never rejects. Only the mean
over that number has to be right. If an agent is unchanged, each task changes with a chance of its own of at
most one half; the error is linear in each of these chances, so that it is largest where every one is
0 or one half. That leaves one number to try: of how many tasks it is one half.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

MOST_TASKS = 400
"""Beyond, the conditional test loses nothing worth the quadratic time."""
_TIE = 1e-9


@lru_cache(maxsize=4096)
def one_trial_p_value(worse: int, changed: int, tasks: int) -> float:
    """Return the one-sided p-value of so many tasks that were solved before and are not now.

    Outcomes are ordered by McNemar's mid-p; the p-value is the largest chance of this one or a more
    extreme one that an unchanged agent can have, whatever its chances of success are. Suissa and
    Shuster (1991), Biometrics 47:361, with another order and the supremum over unequal chances, too.

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
    """Return the chance of more heads of so many coins, and half that of just as many.

    >>> mid_p(4, 4)
    0.03125
    """
    tail, chance = 1.0, 0.5**changed
    for heads in range(worse):
        tail -= chance
        chance *= (changed - heads) / (heads + 1)
    return max(0.0, tail - 0.5 * chance)


def _level(order: float, tasks: int) -> float:
    """Return the largest chance that an unchanged agent has a mid-p of `order` or less."""
    # Return, given each number of changes, the chance of a mid-p of `order` or less
    least, tail, chance = 0, 1.0, 1.0  # with no change: 0 worse, P(at least that), P(just that)
    extreme: list[float] = []
    for changed in range(tasks + 1):
        while least <= changed and tail - 0.5 * chance > order:
            tail -= chance
            chance *= (changed - least) / (least + 1)
            least += 1
        extreme.append(max(0.0, tail) if least <= changed else 0.0)
        # of one more fair coin; `before` is the chance of one head less
        before = chance * least / (changed - least + 1) if least <= changed else 0.5**changed
        tail += 0.5 * before
        chance = 0.5 * (chance + before)
    highest = extreme[0]
    while len(extreme) > 1:  # the mean over one more task that changes with a chance of one half
        extreme = [0.5 * (left + right) for left, right in pairwise(extreme)]
        highest = max(highest, extreme[0])
    return highest
