from __future__ import annotations

import math
import random

import pytest

from bench_core.errors import NotEstimableError
from bench_core.statistics import difference_limits, dirichlet_low, units_needed
from bench_core.statistics.dirichlet import dirichlet_high

np = pytest.importorskip("numpy", reason="the oracle here draws Dirichlet weights")


def drawn(totals: list[float], sizes: list[float], alpha: float, lowest: float) -> float:
    """The quantile by drawing the weights themselves."""
    largest = max(sizes)
    values, weights = np.array([*totals, lowest * largest]), np.array([*sizes, largest])
    gammas = np.random.default_rng(1).exponential(size=(200_000, len(values)))
    return float(np.quantile((gammas @ values) / (gammas @ weights), alpha))


@pytest.mark.parametrize("n", [1, 2, 7, 59, 812])
def test_outcomes_of_two_values_have_the_limit_of_clopper_and_pearson(n: int) -> None:
    beta = pytest.importorskip("scipy.stats", reason="scipy is the oracle here").beta
    for won in {0, 1, n // 2, n}:
        outcomes = [1.0] * won + [0.0] * (n - won)
        low = beta.ppf(0.05, won, n - won + 1) if won else 0.0
        high = beta.ppf(0.95, won + 1, n - won) if won < n else 1.0
        assert dirichlet_low(outcomes, lowest=0.0) == pytest.approx(low, abs=1e-9)
        assert dirichlet_high(outcomes, highest=1.0) == pytest.approx(high, abs=1e-9)


@pytest.mark.parametrize("n", [2, 7, 60, 400, 4_000])
def test_the_integral_agrees_with_the_closed_form_next_to_it(n: int) -> None:
    """A third value that hardly differs keeps the closed form from being used."""
    outcomes = [1.0] * (n // 2) + [0.0] * (n - n // 2)
    nearly = [*outcomes[:-1], 1e-8]
    assert dirichlet_low(nearly, lowest=0.0) == pytest.approx(
        dirichlet_low(outcomes, lowest=0.0), abs=1e-7
    )


@pytest.mark.parametrize(
    ("totals", "sizes"),
    [
        ([0.0, 0.0, 0.0, -1 / 3], [1.0] * 4),
        ([1.0, -0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0], [1.0] * 8),
        ([1.0, -2.0, 0.0, 3.0, -1.0, 0.0, 0.0], [1.0, 3.0, 5.0, 5.0, 2.0, 1.0, 4.0]),
        ([0.0] * 60 + [-1 / 3], [1.0] * 61),
    ],
    ids=["few", "mixed", "templates", "one loss"],
)
def test_any_values_agree_with_drawn_weights(totals: list[float], sizes: list[float]) -> None:
    assert dirichlet_low(totals, sizes) == pytest.approx(
        drawn(totals, sizes, 0.05, -1.0), abs=0.004
    )


@pytest.mark.parametrize("different", [3, 40], ids=["remembered", "too many to remember"])
def test_the_order_of_values_does_not_move_a_limit(different: int) -> None:
    totals = [n % different / different for n in range(80)]
    low = dirichlet_low(totals)
    assert dirichlet_low(totals[::-1]) == low
    assert dirichlet_low(totals, alpha=0.2) > low


def test_limits_enclose_the_mean_and_stay_in_range() -> None:
    chance = random.Random(1)  # noqa: S311 - inputs, not secrets
    for _ in range(500):
        sizes = [
            float(chance.choice([1, 1, 2, 5])) for _ in range(chance.choice([1, 2, 3, 10, 80]))
        ]
        values = [chance.choice([-1.0, -1 / 3, 0.0, 0.5, 1.0, chance.random()]) for _ in sizes]
        totals = [value * size for value, size in zip(values, sizes, strict=True)]
        low, high = dirichlet_low(totals, sizes), dirichlet_high(totals, sizes)
        assert -1.0 <= low <= sum(totals) / sum(sizes) + 1e-8
        assert sum(totals) / sum(sizes) - 1e-8 <= high <= 1.0
        assert low <= dirichlet_low(totals, sizes, alpha=0.2)


def test_with_fewer_than_so_many_units_nothing_can_be_ruled_out() -> None:
    for tolerance in (0.02, 0.05, 0.1):
        needed = units_needed(tolerance)
        assert dirichlet_low([0.0] * needed) > -tolerance
        assert dirichlet_low([0.0] * (needed - 1)) < -tolerance
    assert (units_needed(0.05), units_needed(0.1), units_needed(1.0)) == (59, 29, 1)


def test_what_cannot_be_bounded_is_refused() -> None:
    with pytest.raises(NotEstimableError, match="no value"):
        dirichlet_low([])
    with pytest.raises(ValueError, match="below"):
        dirichlet_low([-2.0])
    with pytest.raises(ValueError, match="below"):
        dirichlet_low([math.nan])
    with pytest.raises(ValueError, match="alpha"):
        dirichlet_low([0.0], alpha=1.5)
    with pytest.raises(NotEstimableError, match="every drop"):
        units_needed(0.0)
    with pytest.raises(NotEstimableError, match="outside of 0 to 1"):
        difference_limits({1: [3.0]}, {1: [1.0]})


def test_the_difference_on_these_tasks_counts_pairs_of_trials() -> None:
    new = {1: [1.0, 1.0], 2: [0.0, 1.0]}
    old = {1: [0.0, 1.0], 2: [0.0, 0.0]}
    found = difference_limits(new, old)
    assert (found.n, found.tasks, found.estimand, found.level) == (4, 2, "same_tasks", 0.9)
    assert found.low == dirichlet_low([1.0, 0.0, 0.0, 1.0])
    assert found.high == dirichlet_high([1.0, 0.0, 0.0, 1.0])


def test_tasks_with_trials_to_spare_share_them_out() -> None:
    found = difference_limits({1: [1.0, 0.0, 1.0, 1.0], 2: [1.0]}, {1: [0.0, 0.0], 2: [1.0]})
    # task 1: pairs (1 and 1 against 0) and (0 and 1 against 0); task 2 weighs as much as both
    assert found.low == dirichlet_low([0.5, 0.25, 0.0], [0.5, 0.5, 1.0])


def test_the_difference_on_new_tasks_counts_clusters() -> None:
    new = {1: [1.0, 1.0], 2: [0.0, 1.0], 3: [1.0]}
    old = {1: [0.0, 1.0], 2: [0.0, 0.0], 3: [1.0]}
    found = difference_limits(new, old, estimand="new_tasks", clusters={1: "t", 2: "t"})
    assert found.n == 2
    assert found.low == dirichlet_low([1.0, 0.0], [2.0, 1.0])


def test_limits_within_a_tolerance_match_and_beyond_it_differ() -> None:
    same = {n: [1.0] * 5 for n in range(20)}
    worse = {n: [0.0] * 5 for n in range(20)}
    assert difference_limits(same, same).within(0.05) is True
    assert difference_limits(same, same).within(0.01) is None
    assert difference_limits(worse, same).within(0.05) is False
    assert difference_limits(same, worse).within(0.05) is False
