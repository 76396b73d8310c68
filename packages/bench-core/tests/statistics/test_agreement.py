from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import NotEstimableError
from bench_core.statistics import (
    accuracy,
    calibration,
    cohen_kappa,
    wilson,
)

label_pairs = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1)


def test_kappa_agrees_with_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="the oracle here")
    table = [[20, 5, 3], [2, 30, 1], [4, 0, 15]]
    pairs = [(r, c) for r in range(3) for c in range(3) for _ in range(table[r][c])]
    expected = inter_rater.cohens_kappa(table)
    found = cohen_kappa([r for r, _ in pairs], [c for _, c in pairs])
    assert found.estimate == pytest.approx(expected.kappa, abs=1e-12)
    assert found.low == pytest.approx(expected.kappa_low, abs=1e-9)
    assert found.high == pytest.approx(expected.kappa_upp, abs=1e-9)


@given(label_pairs)
def test_kappa_does_not_depend_on_who_is_first(pairs: list[tuple[str, str]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    if len({*first, *second}) == 1:
        return
    there, back = cohen_kappa(first, second), cohen_kappa(second, first)
    assert there.estimate == pytest.approx(back.estimate)
    assert there.low == pytest.approx(back.low)
    assert -1.0 <= there.low <= there.high <= 1.0


def test_perfect_agreement_is_not_certain() -> None:
    found = cohen_kappa("abababab", "abababab")
    assert found.estimate == 1.0
    assert found.low == pytest.approx((wilson(8, 8).low - 0.5) / 0.5)
    assert found.notes == ("perfect agreement: low end by Wilson",)


def test_one_label_leaves_agreement_beyond_chance_undefined() -> None:
    with pytest.raises(NotEstimableError, match="one label only"):
        cohen_kappa("aaa", "aaa")
    with pytest.raises(NotEstimableError, match="no case"):
        cohen_kappa("", "")
    with pytest.raises(ValueError, match="labelled 2 and 3 cases"):
        cohen_kappa("ab", "abb")


def test_a_judge_is_held_against_the_known_cases() -> None:
    rated = {"a": True, "b": True, "c": False, "d": False, "e": True, "x": True}
    truth = {"a": True, "b": False, "c": True, "d": False, "e": True, "y": False}
    found = accuracy(rated, truth)
    assert (found.true_positive, found.false_positive) == (2, 1)
    assert (found.false_negative, found.true_negative) == (1, 1)
    assert found.disagreements == ("b", "c")
    assert found.agreement == wilson(3, 5)
    assert found.sensitivity == wilson(2, 3)
    assert found.specificity == wilson(1, 2)
    assert found.kappa.estimate == pytest.approx(1 / 6)


def test_truth_of_one_kind_leaves_the_other_rate_open() -> None:
    found = accuracy({"a": True, "b": True}, {"a": True, "b": True})
    assert found.sensitivity == wilson(2, 2)
    assert found.specificity is None
    assert found.kappa is None
    with pytest.raises(NotEstimableError, match="both rated and known"):
        accuracy({"a": True}, {"b": True})


def test_calibration_by_hand() -> None:
    found = calibration([0.95, 0.85, 0.85, 0.15], [True, True, False, False])
    assert found.n == 4
    assert found.brier.estimate == pytest.approx((0.0025 + 0.0225 + 0.7225 + 0.0225) / 4)
    assert [(each.low, each.n) for each in found.bins] == [(0.1, 1), (0.8, 2), (0.9, 1)]
    assert found.expected_error == pytest.approx((0.15 + 2 * 0.35 + 0.05) / 4)
    assert found.largest_error == pytest.approx(0.35)
    assert found.bins[1].accuracy == wilson(1, 2)


def test_full_confidence_is_in_the_last_bin() -> None:
    found = calibration([1.0, 1.0], [True, True], bins=5)
    assert [(each.low, each.high, each.n) for each in found.bins] == [(0.8, 1.0, 2)]
    assert found.expected_error == 0.0


@pytest.mark.parametrize(("confidences", "correct"), [([0.5], [True, False]), ([1.5], [True])])
def test_confidences_that_cannot_be_are_refused(
    confidences: list[float], correct: list[bool]
) -> None:
    with pytest.raises(ValueError, match="confidences"):
        calibration(confidences, correct)
