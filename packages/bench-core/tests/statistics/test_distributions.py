from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.statistics.distributions import (
    beta_cdf,
    beta_quantile,
    binomial_cdf,
    binomial_pmf,
    normal_cdf,
    normal_quantile,
    t_cdf,
    t_quantile,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PROBABILITIES = (1e-6, 0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9999)
SHAPES = (0.5, 1.0, 2.5, 7.0, 50.5, 812.0, 5000.0)
DEGREES = (1, 2, 3, 6, 29, 67, 189, 811, 100_000)


@pytest.fixture(scope="module")
def scipy_stats() -> Any:
    return pytest.importorskip("scipy.stats", reason="scipy is the oracle here")


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_beta_agrees_with_scipy(scipy_stats: Any, a: float, b: float) -> None:
    for probability in PROBABILITIES:
        expected = scipy_stats.beta.ppf(probability, a, b)
        assert beta_quantile(probability, a, b) == pytest.approx(expected, abs=1e-10)
        assert beta_cdf(expected, a, b) == pytest.approx(
            scipy_stats.beta.cdf(expected, a, b), abs=1e-10
        )


@pytest.mark.parametrize("df", DEGREES)
def test_t_agrees_with_scipy(scipy_stats: Any, df: float) -> None:
    for probability in PROBABILITIES:
        expected = scipy_stats.t.ppf(probability, df)
        assert t_quantile(probability, df) == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert t_cdf(expected, df) == pytest.approx(scipy_stats.t.cdf(expected, df), abs=1e-10)


def test_normal_agrees_with_scipy(scipy_stats: Any) -> None:
    for probability in PROBABILITIES:
        expected = scipy_stats.norm.ppf(probability)
        assert normal_quantile(probability) == pytest.approx(expected, abs=1e-12)
        assert normal_cdf(expected) == pytest.approx(probability, abs=1e-12)


def test_binomial_agrees_with_scipy(scipy_stats: Any) -> None:
    for successes in range(21):
        assert binomial_pmf(successes, 20, 0.3) == pytest.approx(
            scipy_stats.binom.pmf(successes, 20, 0.3), abs=1e-12
        )
        assert binomial_cdf(successes, 20, 0.3) == pytest.approx(
            scipy_stats.binom.cdf(successes, 20, 0.3), abs=1e-12
        )


@given(st.floats(0.001, 0.999), st.floats(0.1, 1000, allow_nan=False), st.floats(0.5, 1000))
def test_beta_quantile_inverts_its_cdf(probability: float, a: float, b: float) -> None:
    x = beta_quantile(probability, a, b)
    assert 0.0 <= x <= 1.0
    # Where the density is steep the nearest float to x may be a whole step of probability away.
    below, above = math.nextafter(x, 0.0), math.nextafter(x, 1.0)
    assert beta_cdf(below, a, b) - 1e-9 <= probability <= beta_cdf(above, a, b) + 1e-9


@given(st.floats(0.001, 0.999), st.floats(0.5, 1e6))
def test_t_quantiles_are_symmetric(probability: float, df: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(
        -t_quantile(1.0 - probability, df), rel=1e-9, abs=1e-9
    )


def test_ends_of_the_scale_are_exact() -> None:
    assert beta_cdf(0.0, 2, 3) == 0.0
    assert beta_cdf(1.0, 2, 3) == 1.0
    assert beta_quantile(0.0, 2, 3) == 0.0
    assert beta_quantile(1.0, 2, 3) == 1.0
    assert t_quantile(0.0, 3) == -math.inf
    assert t_quantile(1.0, 3) == math.inf
    assert t_cdf(math.inf, 3) == 1.0
    assert t_cdf(0.0, 3) == 0.5
    assert t_quantile(0.5, 3) == 0.0
    assert normal_quantile(1.0) == math.inf
    assert binomial_cdf(-1, 5, 0.5) == 0.0
    assert binomial_pmf(5, 5, 1.0) == 1.0


@pytest.mark.parametrize("call", [lambda: t_quantile(1.2, 3), lambda: beta_cdf(0.5, 0, 1)])
def test_values_outside_the_domain_are_refused(call: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=r"probability|positive"):
        call()
