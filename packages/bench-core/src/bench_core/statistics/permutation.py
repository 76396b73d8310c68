"""Is the agent unchanged on these tasks? The exact test that permutes trials within each task.

If nothing changed, it is chance which of a task's trials were run before and which now: given the
task's total, the successes among the new trials are hypergeometric, for any chance of success. So
the test is exact for any number of tasks and trials and needs no clusters: given their chances,
tasks of one template are independent.
"""

from __future__ import annotations

import cmath
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

from bench_core.errors import NotEstimableError
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.clustering import Key, Scores, finite
from bench_core.statistics.distributions import (
    binomial_cdf,
    binomial_pmf,
    normal_cdf,
    normal_quantile,
)
from bench_core.statistics.one_trial import MOST_TASKS, one_trial_p_value

DRAWS = 9_999
_STEPS = 12
"""Lattice steps of the smallest weight, to which the others are rounded: a multiple of 2, 3 and 4,
the usual ratios of numbers of trials."""
TIE_STEPS, TIED_TASKS = 24, 60
"""The same if ties are broken, and the most tasks with both outcomes for which they are: more leave
few ties. The roots of unity grow with the steps; from 24 on, more use no more of the error."""
MISSED = 42.0
"""-ln of the chance that the window of the distribution may miss (Hoeffding): 1e-18."""
_TIE = 1e-9
_PAIR = 2
_SOME_COINS, _MANY_COINS, _MOST_COINS = 10.0, 40.0, 90
"""Mean numbers of coins above which the normal distribution will do, with ties broken and not, and a
number that is never exceeded below that."""


_Kind: TypeAlias = "tuple[int, int, int]"
"""New trials, baseline trials, successes in all."""


class WithinTask(NamedTuple):
    """The result of permuting trials within tasks.

    Attributes:
        p_drop: One-sided, small when new does worse.
        p_rise: One-sided, small when new does better.
        attainable: The smallest `p_drop` these totals could have given; more extreme outcomes of
            the same totals do not exist.
        kinds: Number of tasks by new trials, old trials and all successes; `None` for fractional
            scores.
        conditional: Whether the level is right given every task's total, as `tarone` requires.
    """

    p_drop: float
    p_rise: float
    attainable: float
    kinds: Counter[_Kind] | None
    conditional: bool = True

    @property
    def p_value(self) -> float:
        """The two-sided p-value, twice the smaller one."""
        return min(1.0, 2.0 * min(self.p_drop, self.p_rise))

    def power(self, drop: float, alpha: float) -> float | None:
        """Return about how likely a true fall of the mean by `drop` gives `p_drop` <= `alpha`.

        By a binomial or normal distribution, with the totals that such a fall would leave; `None` for
        fractional scores.
        """
        if self.kinds is None:
            return None
        return power_of_counts(self.kinds, drop, alpha, conditional=self.conditional)


def within_task(
    new: Scores[Key],
    baseline: Scores[Key],
    *,
    conditional: bool = True,
    draws: int = DRAWS,
    seed: int = 0,
) -> WithinTask:
    """Test whether `new` and `baseline` come from one agent unchanged on the tasks they share.

    Given the totals, the mean difference orders outcomes by the sum over tasks of (1/n + 1/b) X: X of
    its S successes are among n new trials, b are the baseline's. Many outcomes tie, and a test wastes
    the error that falls between ties. So with up to `TIED_TASKS` tasks of both outcomes, X gets a
    further weight of S / `TIE_STEPS` times the smallest one: of equal means, the one that lost on
    tasks solved more often is worse. The test stays exact, as any statistic is. Outcomes of 0 and 1
    are tested by the product of the hypergeometric generating functions on roots of unity, other
    scores by random permutations. Pitman (1937), JRSS Supplement 4:119; Mehta and Patel (1983), JASA
    78:427.

    Args:
        new: Task id to the scores of its trials (numbers of trials may differ; tasks without a score
            in both are left out).
        baseline: The same for the run compared with.
        conditional: Whether the level must be right given every task's total. If not, and every task
            has one trial before and now, the test is `one_trial_p_value`, exact as well and sharper.
        draws: Permutations drawn for scores other than 0 and 1.
        seed: Seed of numpy's PCG64 for these.

    Raises:
        NotEstimableError: No task has scores for both.
        MissingExtraError: Scores are fractional and numpy is not installed.

    >>> found = within_task({"a": [0, 0, 0], "b": [0, 0, 0]}, {"a": [1, 1, 1], "b": [1, 1, 1]})
    >>> round(found.p_drop, 6), round(found.attainable, 6)
    (0.0025, 0.0025)
    """
    shared, scores = shared_trials(new, baseline)
    pairs = list(shared.values())
    if not scores <= {0, 1}:
        return _drawn(pairs, draws, seed)
    kinds: Counter[_Kind] = Counter()
    won: Counter[_Kind] = Counter()
    for now, before in pairs:
        successes = round(sum(now))
        kind = (len(now), len(before), successes + round(sum(before)))
        kinds[kind] += 1
        won[kind] += successes
    if not conditional and one_trial_each(kinds):
        tasks, changed, better = kinds.total(), kinds[1, 1, 1], won[1, 1, 1]
        return WithinTask(
            p_drop=one_trial_p_value(changed - better, changed, tasks),
            p_rise=one_trial_p_value(better, changed, tasks),
            attainable=one_trial_p_value(changed, changed, tasks),
            kinds=kinds,
            conditional=False,
        )
    return exact(kinds, won)


def one_trial_each(kinds: Iterable[_Kind]) -> bool:
    """Whether every task has one trial before and now, and `one_trial_p_value` can take as many.

    >>> one_trial_each({(1, 1, 0): 3, (1, 1, 1): 5}), one_trial_each({(1, 1, 1): 5, (2, 1, 1): 1})
    (True, False)
    """
    known = Counter(kinds)
    return known.total() <= MOST_TASKS and all((now, old) == (1, 1) for now, old, _ in known)


def exact(kinds: Counter[_Kind], won: Counter[_Kind]) -> WithinTask:
    """Test outcomes of 0 and 1 that were counted already.

    Args:
        kinds: Number of tasks by new trials, baseline trials and successes in all.
        won: Successes among all new trials of the tasks of each kind.
    """
    null = NullDistribution(kinds)
    observed = null.position(won)
    floor = null.attainable
    return WithinTask(
        p_drop=min(1.0, max(floor, null.at_most(observed))),
        p_rise=min(1.0, max(0.0, 1.0 - null.at_most(observed - 1))),
        attainable=floor,
        kinds=kinds,
    )


def shared_trials(
    new: Scores[Key], baseline: Scores[Key]
) -> tuple[dict[Key, tuple[Sequence[float], Sequence[float]]], set[float]]:
    """Return both sides' scores of every task that has some in both, and the set of all scores.

    Raises:
        NotEstimableError: No task has scores in both.
        ValueError: A score is not finite.

    >>> shared_trials({"a": [1], "b": [0]}, {"b": [1, 1]})
    ({'b': ([0], [1, 1])}, {0, 1})
    """
    both = {key: (now, baseline.get(key, ())) for key, now in new.items()}
    pairs = {key: pair for key, pair in both.items() if len(pair[0]) and len(pair[1])}
    if not pairs:
        raise NotEstimableError("the two have no scored task in common")
    scores = set().union(*chain.from_iterable(pairs.values()))
    finite(tuple(scores))
    return pairs, scores


class NullDistribution:
    """The weighted number of new successes, given every task's total.

    Positions count lattice steps from the fewest successes these totals allow. Weights are those of
    `within_task`, rounded to whole steps of 1/`_STEPS` or 1/`TIE_STEPS` of the smallest, which keeps
    the test exact (any statistic does) and the sum short.
    """

    def __init__(self, kinds: Counter[_Kind]) -> None:
        self._kinds = {
            kind: times for kind, times in kinds.items() if 0 < kind[2] < kind[0] + kind[1]
        }
        self._weight = _lattice(self._kinds)
        self._top = 0
        mean = spread = 0.0
        log_floor = 0.0
        for (now, before, total), times in self._kinds.items():
            weight = self._weight[now, before, total]
            least, most = max(0, total - before), min(total, now)
            width = weight * (most - least)
            self._top += times * width
            mean += times * weight * (now * total / (now + before) - least)
            spread += times * width**2
            log_floor += times * math.log(hypergeometric(now, before, total)[0])
        self.attainable = math.exp(log_floor)
        reach = math.sqrt(0.5 * MISSED * spread)
        self._low = max(0, math.floor(mean - reach))
        self._size = min(self._top, math.ceil(mean + reach)) - self._low + 1
        self._transform: list[complex] | None = None

    def position(self, won: Counter[_Kind]) -> int:
        """Return the position of `won` new successes of each kind of task."""
        return sum(
            self._weight[kind] * (won[kind] - times * max(0, kind[2] - kind[1]))
            for kind, times in self._kinds.items()
        )

    def at_most(self, position: int) -> float:
        """Return the probability of this position or a lower one."""
        if position <= 0:
            return self.attainable if position == 0 else 0.0
        if position < self._low:
            return 0.0
        if position >= self._low + self._size - 1:
            return 1.0
        if self._transform is None:
            self._transform = self._roots()
        terms = position - self._low + 1
        total = 0.5 * terms  # of the root 1, whose two halves meet in the doubling below
        for k, value in enumerate(self._transform, start=1):
            turn = -2.0 * math.pi * k / self._size
            series = (1.0 - cmath.rect(1.0, turn * terms % (2.0 * math.pi))) / (
                1.0 - cmath.rect(1.0, turn)
            )
            total += (value * series).real
        return min(1.0, max(0.0, 2.0 * total / self._size))

    def _roots(self) -> list[complex]:
        """Evaluate the generating function, moved to the window, on the upper roots of unity.

        Positions are real, so the lower half holds the conjugates; for an even size the last root
        is its own conjugate and weighs half.
        """
        kinds = [
            (self._weight[kind], hypergeometric(*kind), times)
            for kind, times in self._kinds.items()
        ]
        found: list[complex] = []
        for k in range(1, self._size // 2 + 1):
            turn = 2.0 * math.pi * k / self._size
            value = cmath.rect(1.0, -turn * self._low % (2.0 * math.pi))
            for weight, chances, times in kinds:
                root = cmath.rect(1.0, turn * weight % (2.0 * math.pi))
                at = 0j
                for chance in reversed(chances):
                    at = at * root + chance
                value *= at**times
            found.append(value)
        if self._size % 2 == 0:
            found[-1] *= 0.5
        return found


def _lattice(kinds: Mapping[_Kind, int]) -> dict[_Kind, int]:
    """Return the weight of a new success of each kind of task, in steps without a common divisor."""
    if not kinds:
        return {}
    breaks_ties = _breaks_ties(kinds)
    smallest = TIE_STEPS if breaks_ties else _STEPS
    sizes = {kind: 1.0 / kind[0] + 1.0 / kind[1] for kind in kinds}
    least = min(sizes.values())
    steps = {
        kind: round(smallest * size / least) + breaks_ties * kind[2] for kind, size in sizes.items()
    }
    common = math.gcd(*steps.values())
    return {kind: each // common for kind, each in steps.items()}


def power_of_counts(
    kinds: Mapping[_Kind, int], drop: float, alpha: float, *, conditional: bool = True
) -> float:
    """Return about how likely a fall of the mean by `drop` is significant at `alpha`; see `exact`.

    Every task's chance of success is assumed to fall by the same factor.
    """
    tasks = sum(kinds.values())
    rate = sum(times * total / (now + old) for (now, old, total), times in kinds.items()) / tasks
    lost = min(1.0, drop / rate) if rate else 0.0
    tied = conditional and not _breaks_ties(kinds)
    least = min(1.0 / now + 1.0 / old for now, old, _ in kinds)
    given = spread = linear = shift = 0.0
    for (now, old, total), times in kinds.items():
        trials = now + old
        weight = (1.0 / now + 1.0 / old) / least
        if _breaks_ties(kinds):
            weight = TIE_STEPS * weight + total - now * total / trials * lost
        # of two trials: one success and one failure, and two successes
        mixed = total * (trials - total) / (trials * (trials - 1))
        both = total * (total - 1) / (trials * (trials - 1))
        fallen = (1.0 - lost) * (mixed + lost * both)
        pairs = now * (now - 1) * fallen + old * (old - 1) * mixed
        pairs += now * old * ((2.0 - lost) * mixed + lost * both)
        exchange = times * now * old / (trials**2 * (trials - 1)) * pairs
        given += weight**2 * exchange
        linear += weight * exchange
        spread += times * weight**2 * now * old * (old * fallen + now * mixed) / trials**2
        shift += times * weight * now * old / trials**2 * total * lost
    if alpha <= 0.0 or given <= 0.0:
        return 0.0
    step = given / linear  # of a typical exchange of two trials
    coins = 4.0 * given / step**2
    if coins <= (_SOME_COINS if _breaks_ties(kinds) else _MANY_COINS):
        return _power_of_coins(coins, shift / step, alpha, tied=tied)
    # positions are whole: with ties the critical one lies on average half a step beyond the normal's
    critical = normal_quantile(alpha) * math.sqrt(given) - 0.5 * tied * step
    return normal_cdf((shift + critical) / math.sqrt(spread))


def _breaks_ties(kinds: Mapping[_Kind, int]) -> bool:
    several = any(now + old > _PAIR for now, old, _ in kinds)
    of_both_outcomes = sum(t for (now, old, total), t in kinds.items() if 0 < total < now + old)
    return several and of_both_outcomes <= TIED_TASKS


def _power_of_coins(number: float, shift: float, alpha: float, *, tied: bool) -> float:
    """Return the power if a Poisson number of fair coins decides, `number` on average.

    With one trial per task these are the tasks that changed. Otherwise the coins have the variance
    and the steps of the permutation distribution. If ties are broken, or totals are not given, the
    mid-p stands in for the p-value.
    """
    chance = max(0.0, 0.5 - shift / number)
    return sum(
        math.exp(coins * math.log(number) - number - math.lgamma(coins + 1))
        * binomial_cdf(critical, coins, chance)
        for coins in range(_MOST_COINS)
        if (critical := _critical_heads(coins, alpha, tied=tied)) >= 0
    )


@lru_cache(maxsize=1024)
def _critical_heads(coins: int, alpha: float, *, tied: bool) -> int:
    """Return the largest significantly small number of heads of `coins` fair coins; -1 for none."""
    heads = -1
    while heads < coins:
        spared = 0.0 if tied else 0.5 * binomial_pmf(heads + 1, coins, 0.5)
        if binomial_cdf(heads + 1, coins, 0.5) - spared > alpha:
            break
        heads += 1
    return heads


@lru_cache(maxsize=4096)
def hypergeometric(now: int, before: int, total: int) -> tuple[float, ...]:
    """Return the probability of each number of new successes, from the fewest to the most.

    >>> hypergeometric(1, 1, 1)
    (0.5, 0.5)
    """
    least, most = max(0, total - before), min(total, now)
    ways = [math.comb(now, k) * math.comb(before, total - k) for k in range(least, most + 1)]
    whole = math.comb(now + before, total)
    return tuple(way / whole for way in ways)


def _drawn(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], draws: int, seed: int
) -> WithinTask:
    """Permute scores at random; the observed order counts as one of the draws."""
    numpy = load_numpy("a permutation test of fractional scores")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    observed = 0.0
    drawn = numpy.zeros(draws)
    log_floor = 0.0
    for now, before in pairs:
        pooled = numpy.array([*now, *before], dtype=float)
        weight = 1.0 / len(now) + 1.0 / len(before)
        observed += weight * float(numpy.sum(now))
        if len(set(pooled.tolist())) == 1:
            drawn += weight * float(numpy.sum(now))
            continue
        order = generator.random((draws, len(pooled))).argsort(axis=1)[:, : len(now)]
        drawn += weight * pooled[order].sum(axis=1)
        log_floor += _log_chance_of_least(pooled.tolist(), len(now))
    below = (int(numpy.count_nonzero(drawn <= observed + _TIE)) + 1) / (draws + 1)
    above = (int(numpy.count_nonzero(drawn >= observed - _TIE)) + 1) / (draws + 1)
    floor = max(math.exp(log_floor), 1.0 / (draws + 1))
    return WithinTask(max(floor, below), above, floor, None)


def _log_chance_of_least(pooled: Sequence[float], taken: int) -> float:
    """Return ln of the chance that a random choice holds the lowest scores."""
    highest = sorted(pooled)[taken - 1]
    below = sum(each < highest for each in pooled)
    alike = sum(each == highest for each in pooled)
    return math.log(math.comb(alike, taken - below) / math.comb(len(pooled), taken))
