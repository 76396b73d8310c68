from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import NotEstimableError
from bench_core.statistics import (
    pass_at_k,
    pass_at_k_interval,
    pass_hat_k,
    pass_hat_k_interval,
    success_rate_interval,
)

tries = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.lists(st.booleans(), min_size=n, max_size=n), st.integers(1, n))
)


@given(tries)
def test_both_equal_the_average_over_all_subsets_of_k_trials(case: tuple[list[bool], int]) -> None:
    outcomes, k = case
    subsets = list(combinations(outcomes, k))
    successes, n = sum(outcomes), len(outcomes)
    assert pass_at_k(successes, n, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert pass_hat_k(successes, n, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


def test_k_of_one_is_the_success_rate() -> None:
    outcomes = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [0, 0, 0], "d": [1, 1, 1]}
    rate = success_rate_interval(outcomes)
    assert pass_at_k_interval(outcomes, 1).estimate == pytest.approx(rate.estimate)
    assert pass_hat_k_interval(outcomes, 1).high == pytest.approx(rate.high)


def test_tasks_with_fewer_trials_than_k_are_left_out() -> None:
    outcomes = {"a": [1, 0], "b": [0, 0], "c": [1]}
    interval = pass_at_k_interval(outcomes, 2)
    assert (interval.estimate, interval.tasks) == (0.5, 2)


def test_more_trials_than_there_are_is_refused() -> None:
    with pytest.raises(NotEstimableError, match="no task has 4 scored trials"):
        pass_at_k_interval({"a": [1, 0], "b": [1, 1]}, 4)
    with pytest.raises(NotEstimableError, match="k = 3"):
        pass_at_k(1, 2, 3)
    with pytest.raises(ValueError, match="successes"):
        pass_hat_k(3, 2, 1)


def test_a_success_is_a_score_of_one_as_everywhere() -> None:
    partial = {"a": [0.5, 1.0], "b": [0.99, 0.5], "c": [1.0, 2.0]}
    outcomes = {"a": [0, 1], "b": [0, 0], "c": [1, 1]}
    assert pass_at_k_interval(partial, 2) == pass_at_k_interval(outcomes, 2)
    assert pass_hat_k_interval(partial, 2) == pass_hat_k_interval(outcomes, 2)


def test_what_is_no_number_is_no_failure_either() -> None:
    with pytest.raises(ValueError, match="leave trials without a score out"):
        pass_at_k_interval({"a": [float("nan")], "b": [1.0]}, 1)
