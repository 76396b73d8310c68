"""What the data leave open is said to be open."""

from __future__ import annotations

import pytest

from bench_core.statistics import Interval, gate


@pytest.mark.parametrize(
    ("low", "high", "within"),
    [
        (-0.04, 0.05, True),
        (-0.2, 0.01, None),
        (-0.01, 0.2, None),
        (0.06, 0.2, False),
        (-0.2, -0.06, False),
    ],
    ids=["all within", "reaches below", "reaches above", "all above", "all below"],
)
def test_a_difference_that_reaches_across_is_neither_within_nor_beyond(
    low: float, high: float, *, within: bool | None
) -> None:
    found = Interval(
        estimate=(low + high) / 2, low=low, high=high, level=0.95, method="by hand", n=9
    )
    assert found.within(0.05) is within


def test_a_slice_without_a_shared_task_is_no_regression() -> None:
    scores = {f"t{number}": [1.0, 0.0, 1.0] for number in range(40)}
    found = gate(scores, scores, slices={"absent": ["elsewhere"]})
    assert found.verdict != "regression"
    assert found.checks[1].reason == "no task of it has a score in both runs"
