from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.statistics import benjamini_hochberg, holm, tarone
from bench_core.statistics.multiplicity import tarone_level

p_lists = st.lists(st.floats(0, 1), max_size=20)


@pytest.mark.parametrize(("adjust", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_values_agree_with_statsmodels(adjust: object, name: str) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="the oracle here")
    p_values = [0.01, 0.04, 0.03, 0.005, 0.5, 0.5, 0.9, 0.011]
    expected = multitest.multipletests(p_values, method=name)[1]
    assert adjust(p_values) == pytest.approx(list(expected), abs=1e-12)


@given(p_lists)
def test_adjusting_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    for adjusted in (holm(p_values), benjamini_hochberg(p_values)):
        assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
        assert all(a <= 1 for a in adjusted)
        pairs = sorted(zip(p_values, adjusted, strict=True))
        assert [a for _, a in pairs] == sorted(a for _, a in pairs)


@given(p_lists)
def test_controlling_any_false_finding_is_stricter_than_their_share(p_values: list[float]) -> None:
    for strict, lenient in zip(holm(p_values), benjamini_hochberg(p_values), strict=True):
        assert strict >= lenient - 1e-15


@given(p_lists)
def test_tests_that_could_all_be_significant_are_adjusted_as_by_holm(p_values: list[float]) -> None:
    assert tarone(p_values, [0.0] * len(p_values)) == pytest.approx(holm(p_values))


def test_tests_that_could_not_be_significant_cost_nothing() -> None:
    assert tarone([0.02, 0.3, 0.5], [0.001, 0.25, 0.1]) == [0.02, 0.6, 0.6]
    assert tarone([], []) == []


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12), st.floats(0.001, 0.5))
def test_the_level_is_the_highest_p_value_that_is_found(
    attainable: list[float], alpha: float
) -> None:
    """Tarone's own rule: the smallest k with at most k attainable at alpha / k."""
    level = tarone_level(attainable, alpha)
    competing = sum(each <= level for each in attainable)
    assert level * competing <= alpha * (1 + 1e-12)
    k = next(k for k in range(1, 99) if sum(each <= alpha / k for each in attainable) <= k)
    if any(each <= alpha / k for each in attainable):
        assert level >= alpha / k * (1 - 1e-12)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.2])
