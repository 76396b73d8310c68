from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import NotEstimableError
from bench_core.statistics import Interval, clopper_pearson, jeffreys, wilson
from bench_core.statistics.distributions import binomial_pmf

Method = Callable[..., Interval]

VECTORS = [
    (wilson, 7, 7, 0.646, 1.0),
    (jeffreys, 7, 7, 0.708, 1.0),
    (clopper_pearson, 7, 7, 0.590, 1.0),
    (wilson, 0, 7, 0.0, 0.354),
    (wilson, 6, 7, 0.487, 0.974),
    (clopper_pearson, 6, 7, 0.421, 0.996),
    (wilson, 5, 20, 0.112, 0.469),
    (wilson, 1, 5, 0.036, 0.624),
    (wilson, 30, 154, 0.140, 0.264),
]

COVERAGE = [
    (wilson, 7, (0.956, 0.974, 0.969, 0.984), 0.893),
    (clopper_pearson, 7, (0.996, 0.997, 0.996, 0.984), 0.953),
    (jeffreys, 7, (0.956, 0.974, 0.969, 0.984), 0.886),
    (wilson, 30, (0.939, 0.974, 0.966, 0.957), 0.922),
    (clopper_pearson, 30, (0.984, 0.992, 0.966, 0.957), 0.954),
    (jeffreys, 30, (0.984, 0.932, 0.966, 0.957), 0.889),
    (wilson, 154, (0.962, 0.942, 0.947, 0.956), 0.936),
]

counts = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
methods = pytest.mark.parametrize("method", [wilson, clopper_pearson, jeffreys])


@pytest.mark.parametrize(("method", "successes", "n", "low", "high"), VECTORS)
def test_published_vectors_are_reproduced(
    method: Method, successes: int, n: int, low: float, high: float
) -> None:
    interval = method(successes, n)
    assert (round(interval.low, 3), round(interval.high, 3)) == (low, high)
    assert interval.n == n


@pytest.mark.parametrize(
    ("method", "name"), [(wilson, "wilson"), (clopper_pearson, "beta"), (jeffreys, "jeffreys")]
)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_agree_with_statsmodels(method: Method, name: str, level: float) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="the oracle here")
    for successes, n in [(1, 7), (3, 7), (30, 154), (811, 812), (5000, 100_000)]:
        low, high = proportion.proportion_confint(successes, n, alpha=1 - level, method=name)
        interval = method(successes, n, level=level)
        assert interval.low == pytest.approx(low, abs=1e-9)
        assert interval.high == pytest.approx(high, abs=1e-9)


@pytest.mark.parametrize(("method", "n", "expected", "least"), COVERAGE)
def test_exact_coverage_is_as_published(
    method: Method, n: int, expected: tuple[float, ...], least: float
) -> None:
    """Coverage by enumeration at true rates .05, .10, .195 and .5, and the least over a grid."""
    intervals = [method(successes, n) for successes in range(n + 1)]

    def covered(p: float) -> float:
        return sum(binomial_pmf(k, n, p) for k, each in enumerate(intervals) if p in each)

    assert tuple(round(covered(p), 3) for p in (0.05, 0.10, 0.195, 0.5)) == expected
    grid = [0.05 + 0.9 * step / 900 for step in range(901)]
    assert min(map(covered, grid)) == pytest.approx(least, abs=0.004)


@methods
@given(counts=counts)
def test_the_estimate_lies_inside_and_the_ends_are_rates(
    method: Method, counts: tuple[int, int]
) -> None:
    interval = method(*counts)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0


@methods
@given(counts=counts)
def test_failures_mirror_successes(method: Method, counts: tuple[int, int]) -> None:
    successes, n = counts
    interval, mirror = method(successes, n), method(n - successes, n)
    assert interval.low == pytest.approx(1.0 - mirror.high, abs=1e-12)
    assert interval.high == pytest.approx(1.0 - mirror.low, abs=1e-12)


@methods
@given(counts=counts)
def test_more_confidence_is_wider(method: Method, counts: tuple[int, int]) -> None:
    narrow, wide = method(*counts, level=0.8), method(*counts, level=0.99)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@methods
def test_no_trial_has_no_rate(method: Method) -> None:
    with pytest.raises(NotEstimableError, match="no trial was scored"):
        method(0, 0)


@methods
@pytest.mark.parametrize(("successes", "level"), [(8, 0.95), (-1, 0.95), (3, 95)])
def test_impossible_input_is_refused(method: Method, successes: int, level: float) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        method(successes, 7, level=level)


def test_an_interval_prints_with_its_ends() -> None:
    assert str(wilson(7, 7)) == "1.000 [0.646, 1.000]"
    assert wilson(7, 7).width == pytest.approx(0.354, abs=0.001)
