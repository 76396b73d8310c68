from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.statistics import benjamini_hochberg, holm

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


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.2])
