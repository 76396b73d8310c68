"""Tests and intervals for outcomes that come in pairs: the same tasks, two agents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.statistics.bootstrap import load_numpy
from bench_core.statistics.clustering import Clusters, Key, reduce_tasks, task_mean
from bench_core.statistics.distributions import (
    binomial_cdf,
    binomial_pmf,
    normal_cdf,
    normal_quantile,
    t_cdf,
)
from bench_core.statistics.intervals import Interval, require_level
from bench_core.statistics.proportions import wilson

FLIPS = 20_000
_FLIPS_AT_ONCE = 1_000
_EXACT_WORK = 3_000_000
_LARGEST_DENOMINATOR = 5_040
_TIE = 1e-9


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """Return the two-sided mid-p value of McNemar's test.

    Fagerland, Lydersen and Laake (2013), BMC Medical Research Methodology 13:91: close to its
    level where the exact test is far below it. For one trial per task and independent tasks.

    Args:
        gained: Tasks the new agent solves and the other does not.
        lost: Tasks the other way round.

    >>> round(mcnemar_mid_p(1, 8), 4)
    0.0215
    """
    if gained + lost == 0:
        return 1.0
    fewer, changed = min(gained, lost), gained + lost
    exact = 2.0 * binomial_cdf(fewer, changed, 0.5)
    return min(1.0, exact - binomial_pmf(fewer, changed, 0.5))


def mcnemar_score(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's score test, whose inversion is `tango`.

    >>> round(mcnemar_score(19, 5), 4)
    0.0043
    """
    if gained + lost == 0:
        return 1.0
    return 2.0 * normal_cdf(-abs(gained - lost) / math.sqrt(gained + lost))


def tango(gained: int, lost: int, n: int, *, level: float = 0.95) -> Interval:
    """Return Tango's score interval for the difference of two paired proportions.

    Tango (1998), Statistics in Medicine 17:891. Has a valid width even when no task differs.

    Args:
        gained: Tasks the new agent solves and the other does not.
        lost: Tasks the other way round.
        n: All shared tasks.
        level: Nominal confidence.

    Raises:
        NotEstimableError: `n` is 0.
        ValueError: `gained` and `lost` do not fit into `n`, or `level` is not between 0 and 1.

    >>> print(tango(12, 2, 50))
    0.200 [0.061, 0.345]
    """
    if n == 0:
        raise NotEstimableError(
            "no task was scored for both, so there is no difference to estimate"
        )
    if gained < 0 or lost < 0 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost do not fit into {n} tasks")
    critical = normal_quantile(0.5 + require_level(level) / 2.0)
    difference = (gained - lost) / n
    return Interval(
        estimate=difference,
        low=_where_score_is(critical, gained, lost, n, (-1.0, difference)),
        high=_where_score_is(-critical, gained, lost, n, (difference, 1.0)),
        level=level,
        method="Tango score for paired proportions",
        n=n,
        tasks=n,
        clusters=n,
        effective_n=n,
    )


def newcombe(successes: int, n: int, others: int, other_n: int, *, level: float = 0.95) -> Interval:
    """Return Newcombe's hybrid score interval for the difference of two independent proportions.

    Newcombe (1998), Statistics in Medicine 17:873, method 10: from the Wilson limits of each. For
    agents on tasks of their own; on shared tasks `tango` and the paired tests see far more.

    Args:
        successes: Of the first agent.
        n: Its tasks.
        others: Successes of the second agent.
        other_n: Its tasks.
        level: Nominal confidence.

    Raises:
        NotEstimableError: One of them has no task.

    >>> print(newcombe(56, 70, 48, 80))
    0.200 [0.052, 0.334]
    """
    first = wilson(successes, n, level=level)
    second = wilson(others, other_n, level=level)
    difference = first.estimate - second.estimate
    below = math.hypot(first.estimate - first.low, second.high - second.estimate)
    above = math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(
        estimate=difference,
        low=max(-1.0, difference - below),
        high=min(1.0, difference + above),
        level=level,
        method="Newcombe hybrid score for independent proportions",
        n=n + other_n,
        tasks=n + other_n,
        clusters=n + other_n,
    )


class PairedT(NamedTuple):
    """Mean over tasks of paired differences, with its standard error over clusters and p-values.

    `p_value` is two-sided; `p_drop` one-sided, small when the mean is below zero. `df` is the
    effective number of clusters - 1.
    """

    mean: float
    standard_error: float
    df: float
    p_value: float
    p_drop: float
    clusters: int


def paired_t(differences: Mapping[Key, float], *, clusters: Clusters[Key] | None = None) -> PairedT:
    """Test whether the mean over tasks of paired differences is zero.

    With a task per cluster this is the textbook paired t test; with templates the jackknife over
    them, on the effective number of clusters (Kish's, by their weights) - 1 degrees of freedom. If
    all clusters have the same difference, no variance is left to test by: the p-values are then
    those of the sign-flip test, 2^-clusters one-sided.

    Args:
        differences: Task id to new minus other, each a mean over trials.
        clusters: Task id to template.

    Raises:
        NotEstimableError: There are fewer than two clusters, or three carry most of the weight.

    >>> round(paired_t({"a": 0.5, "b": 1.0, "c": 0.0, "d": 0.5}).p_value, 4)
    0.0917
    """
    mean = task_mean(reduce_tasks({key: (each,) for key, each in differences.items()}, clusters))
    if mean.clusters == 1:
        raise NotEstimableError("a paired test needs at least two clusters of shared tasks")
    df = mean.effective_clusters - 1.0
    error = math.sqrt(mean.variance_over_new_tasks())
    if error <= _TIE:
        tail = math.ldexp(1.0, -mean.clusters)
        p_values = (2.0 * tail, tail if mean.estimate < 0.0 else 1.0)
        if abs(mean.estimate) <= _TIE:
            p_values = (1.0, 0.5)
        return PairedT(mean.estimate, 0.0, df, *p_values, mean.clusters)
    statistic = mean.estimate / error
    two_sided = 2.0 * t_cdf(-abs(statistic), df)
    return PairedT(mean.estimate, error, df, two_sided, t_cdf(statistic, df), mean.clusters)


def sign_flip(differences: Sequence[float], *, draws: int = FLIPS, seed: int = 0) -> float:
    """Return the two-sided mid-p value of the sign-flip permutation test that the mean is zero.

    Flips that tie with the observed sum count half: means of a few trials tie often, and if all
    ties counted the test would err in 2 to 3% only and find up to 10 points less. For outcomes of 0
    and 1 it is `mcnemar_mid_p`.

    Exact for differences that are fractions with small denominators, as means of a few trials are
    (the distribution of the flipped sum is built up magnitude by magnitude); otherwise by `draws`
    seeded random flips, counting the observed one.

    Args:
        differences: One per independent cluster, shape (clusters,).
        draws: Random flips if the exact distribution is out of reach.
        seed: Seed of numpy's PCG64 for these.

    Raises:
        MissingExtraError: Random flips are needed and numpy is not installed.

    >>> sign_flip([1.0, 1.0, 1.0, 1.0, 0.0])
    0.0625
    """
    moved = [difference for difference in differences if abs(difference) > _TIE]
    if not moved:
        return 1.0
    lattice = _on_lattice(moved)
    if lattice is not None:
        magnitudes: Counter[int] = Counter()
        for value, times in lattice.items():
            magnitudes[abs(value)] += times
        work = magnitudes.total() * sum(value * times for value, times in magnitudes.items())
        if work <= _EXACT_WORK:
            observed = abs(sum(value * times for value, times in lattice.items()))
            return _exact_flips(magnitudes, observed)
    return _random_flips(moved, draws, seed)


def fisher_exact(successes: int, trials: int, other_successes: int, other_trials: int) -> float:
    """Return the two-sided p-value of Fisher's exact test for two independent proportions.

    For one task with several trials by each of two agents. Fisher (1935), JRSS 98:39.

    >>> round(fisher_exact(5, 5, 0, 5), 6)
    0.007937
    """
    total = successes + other_successes
    most = min(total, trials)
    least = max(0, total - other_trials)
    ways = [
        math.comb(trials, k) * math.comb(other_trials, total - k) for k in range(least, most + 1)
    ]
    observed = ways[successes - least]
    return sum(way for way in ways if way <= observed) / sum(ways)


def _where_score_is(
    target: float, gained: int, lost: int, n: int, bracket: tuple[float, float]
) -> float:
    """Find the difference at which the score statistic, which falls, equals `target`."""
    low, high = bracket
    if low >= high:
        return low
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if _score(middle, gained, lost, n) > target:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _score(difference: float, gained: int, lost: int, n: int) -> float:
    """Tango's statistic, with the nuisance probability at its constrained maximum."""
    b = -gained - lost + (2 * n - gained + lost) * difference
    c = -lost * difference * (1.0 - difference)
    nuisance = (math.sqrt(max(0.0, b * b - 8.0 * n * c)) - b) / (4.0 * n)
    variance = n * (2.0 * nuisance + difference * (1.0 - difference))
    excess = gained - lost - n * difference
    if variance <= 0.0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(variance)


def _on_lattice(differences: Sequence[float]) -> Counter[int] | None:
    """Count differences as whole multiples of one small fraction; `None` if they are not."""
    fractions = [Fraction(each).limit_denominator(_LARGEST_DENOMINATOR) for each in differences]
    scale = math.lcm(*(fraction.denominator for fraction in fractions))
    if scale > _LARGEST_DENOMINATOR:
        return None
    if any(abs(f - d) > _TIE for f, d in zip(fractions, differences, strict=True)):
        return None
    return Counter(int(fraction * scale) for fraction in fractions)


def _exact_flips(magnitudes: Counter[int], observed: int) -> float:
    chances = {0: 1.0}
    for magnitude, times in sorted(magnitudes.items()):
        flips = [
            (magnitude * (2 * k - times), binomial_pmf(k, times, 0.5)) for k in range(times + 1)
        ]
        following: dict[int, float] = {}
        for total, chance in chances.items():
            for step, weight in flips:
                following[total + step] = following.get(total + step, 0.0) + chance * weight
        chances = following
    beyond = math.fsum(chance for total, chance in chances.items() if total > observed)
    return min(1.0, chances[observed] + 2.0 * beyond)  # at both ends, and half of those just as far


def _random_flips(differences: Sequence[float], draws: int, seed: int) -> float:
    numpy = load_numpy("a sign-flip test of fractional scores")
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    values = numpy.array(differences)
    observed = abs(float(values.sum()))
    extreme = 0.5
    for start in range(0, draws, _FLIPS_AT_ONCE):
        rows = min(_FLIPS_AT_ONCE, draws - start)
        signs = generator.integers(0, 2, size=(len(values), rows), dtype=numpy.uint8)
        sums = (values[:, None] * (2.0 * signs - 1.0)).sum(axis=0)
        for threshold in (observed - _TIE, observed + _TIE):
            extreme += 0.5 * int(numpy.count_nonzero(abs(sums) >= threshold))
    return extreme / (draws + 1)
