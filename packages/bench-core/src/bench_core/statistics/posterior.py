"""The exact posterior of the latent-class model behind judge-corrected rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench_core.statistics.agreement import Accuracy
from bench_core.statistics.distributions import beta_cdf

PRIOR = 1.0
"""Both parameters of the Beta priors: uniform."""

_NEGLIGIBLE = 1e-14


def posterior_of_successes(known: Accuracy, passed: int, failed: int) -> list[float]:
    """Return the chance of 0, 1, ... successes among unknown cases, of which the judge passed and failed so many."""
    successes = known.true_positive + known.false_negative
    failures = known.true_negative + known.false_positive
    unknown = passed + failed
    logs: list[list[float]] = [[] for _ in range(unknown + 1)]
    ways_passed, ways_failed = _log_choices(passed), _log_choices(failed)
    gamma = [math.lgamma(PRIOR + k) for k in range(successes + failures + unknown + 1)]
    pair = [math.lgamma(2 * PRIOR + k) for k in range(successes + failures + unknown + 1)]
    for first in range(passed + 1):
        hits, alarms = known.true_positive + first, known.false_positive + passed - first
        fixed = ways_passed[first] + gamma[hits] + gamma[alarms]
        for second in range(failed + 1):
            missed, rejected = known.false_negative + second, known.true_negative + failed - second
            logs[first + second].append(
                fixed
                + ways_failed[second]
                + gamma[missed]
                + gamma[rejected]
                - pair[hits + missed]
                - pair[alarms + rejected]
            )
    chances = [
        _log_beta(successes + k, failures + unknown - k) + _log_sum(terms)
        for k, terms in enumerate(logs)
    ]
    total = _log_sum(chances)
    return [math.exp(each - total) for each in chances]


def rate_quantile(tail: float, counts: Sequence[tuple[int, float]], n: int) -> float:
    """Quantile of the rate: Beta distributions mixed by the chance of each number of successes."""
    parts = [(k, chance) for k, chance in counts if chance > _NEGLIGIBLE]
    low, high = 0.0, 1.0
    while high - low > _NEGLIGIBLE:
        middle = 0.5 * (low + high)
        below = math.fsum(
            chance * beta_cdf(middle, PRIOR + k, PRIOR + n - k) for k, chance in parts
        )
        low, high = (middle, high) if below < tail else (low, middle)
    return 0.5 * (low + high)


def discrete_quantile(tail: float, counts: Sequence[tuple[int, float]]) -> int:
    """Quantile of a number of successes given the chance of each.

    >>> discrete_quantile(0.5, [(0, 0.4), (1, 0.6)])
    1
    """
    below = 0.0
    for k, chance in counts:
        below += chance
        if below >= tail:
            return k
    return counts[-1][0]


def _log_beta(successes: int, failures: int) -> float:
    a, b = PRIOR + successes, PRIOR + failures
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_choices(n: int) -> list[float]:
    total = math.lgamma(n + 1)
    return [total - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]


def _log_sum(logs: Sequence[float]) -> float:
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(each - largest) for each in logs))
