from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_core.errors import NotEstimableError
from bench_core.statistics import mcnemar_mid_p, within_task
from bench_core.statistics.distributions import binomial_pmf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Scores = dict[int, list[float]]


def enumerated(new: Scores, old: Scores, *, ties: bool = True) -> tuple[float, float]:
    """Both p-values by going through every way to share out the trials of every task.

    Successes count by the mean difference, in twenty-fourths of the smallest weight, and with `ties`
    one more for each success that their task has in all.
    """
    shared = [key for key in new if new[key] and old.get(key)]
    pooled = {key: [*new[key], *old[key]] for key in shared}
    sizes = {key: Fraction(1, len(new[key])) + Fraction(1, len(old[key])) for key in shared}
    least = min((sizes[key] for key in shared if len(set(pooled[key])) > 1), default=Fraction(1))
    weights = [
        round(24 * sizes[key] / least) + int(sum(pooled[key])) if ties else sizes[key]
        for key in shared
    ]

    def statistic(choice: Iterable[Sequence[float]]) -> Fraction:
        pairs = zip(weights, choice, strict=True)
        return sum((Fraction(w) * sum(map(Fraction, now)) for w, now in pairs), Fraction(0))

    observed = statistic([new[key] for key in shared])
    ways = [list(itertools.combinations(pooled[key], len(new[key]))) for key in shared]
    found = [statistic(way) for way in itertools.product(*ways)]
    below = sum(each <= observed for each in found) / len(found)
    return below, sum(each >= observed for each in found) / len(found)


outcomes = st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=2))
def test_equal_numbers_of_trials_agree_with_enumeration(
    tasks: list[tuple[list[float], list[float]]],
) -> None:
    new = {n: now for n, (now, _) in enumerate(tasks)}
    old = {n: before for n, (_, before) in enumerate(tasks)}
    found = within_task(new, old)
    assert (found.p_drop, found.p_rise) == pytest.approx(enumerated(new, old), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_unequal_numbers_of_trials_agree_with_enumeration(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - inputs, not secrets
    sizes = [chance.choice([(3, 3), (3, 2), (2, 2), (1, 3), (2, 3)]) for _ in range(3)]
    new = {n: [float(chance.random() < 0.5) for _ in range(k)] for n, (k, _) in enumerate(sizes)}
    old = {n: [float(chance.random() < 0.6) for _ in range(k)] for n, (_, k) in enumerate(sizes)}
    found = within_task(new, old)
    assert (found.p_drop, found.p_rise) == pytest.approx(enumerated(new, old), abs=1e-12)


def test_any_input_gives_probabilities_that_cover_everything() -> None:
    chance = random.Random(1)  # noqa: S311 - inputs, not secrets

    def run(tasks: int, trials: int) -> Scores:
        rate = chance.choice([0.0, 0.05, 0.5, 1.0])
        return {
            n: [float(chance.random() < rate) for _ in range(chance.randint(1, trials))]
            for n in range(tasks)
        }

    for _ in range(500):
        design = chance.choice([1, 2, 5, 40]), chance.choice([1, 3, 5])
        found = within_task(run(*design), run(*design))
        assert 0.0 < found.attainable <= found.p_drop <= 1.0
        assert 0.0 <= found.p_rise <= 1.0
        assert found.p_drop + found.p_rise >= 1.0 - 1e-9
        assert 0.0 <= found.power(0.05, 0.05) <= 1.0


def test_one_trial_each_is_the_exact_mcnemar_test() -> None:
    new = {n: [float(n < 4)] for n in range(30)}
    old = {n: [float(4 <= n < 15)] for n in range(30)}
    expected = mcnemar_mid_p(4, 11) + binomial_pmf(4, 15, 0.5)
    assert within_task(new, old).p_value == pytest.approx(expected)


def test_of_outcomes_with_one_mean_that_with_losses_on_better_tasks_is_worse() -> None:
    """Totals of 5 and 2 of 6: one loss more on the one or on the other."""
    often = within_task(
        {"often": [1.0, 1.0, 0.0], "seldom": [1.0, 0.0, 0.0]},
        {"often": [1.0, 1.0, 1.0], "seldom": [1.0, 0.0, 0.0]},
    )
    seldom = within_task(
        {"often": [1.0, 1.0, 1.0], "seldom": [0.0, 0.0, 0.0]},
        {"often": [1.0, 1.0, 0.0], "seldom": [1.0, 1.0, 0.0]},
    )
    assert often.p_drop == pytest.approx(0.5 * (0.2 + 0.6))
    assert seldom.p_drop == pytest.approx(0.5 * (0.2 + 0.6) + 0.5 * 0.2)


def test_tasks_that_never_vary_say_nothing() -> None:
    found = within_task({1: [1.0, 1.0], 2: [0.0]}, {1: [1.0], 2: [0.0]})
    assert (found.p_drop, found.p_rise, found.attainable, found.p_value) == (1.0, 1.0, 1.0, 1.0)


def test_the_smallest_attainable_value_is_that_of_the_worst_outcome() -> None:
    old = {n: [1.0, 1.0, 1.0] for n in range(4)}
    worst = within_task({n: [0.0] * 3 for n in old}, old)
    assert worst.p_drop == worst.attainable == pytest.approx(20**-4)


def test_a_large_run_keeps_its_digits_far_out() -> None:
    old = {n: [1.0] * 3 for n in range(200)}
    new = {n: [float(n % 4 > 0), 1.0, 1.0] for n in old}
    found = within_task(new, old)
    # each of 50 tasks lost one of six: half of the ways put the failure among the new trials
    assert found.p_drop == pytest.approx(0.5**50, rel=1e-3)


def test_fractional_scores_are_permuted_at_random_by_seed() -> None:
    new = {n: [0.25, 0.5, 0.0] for n in range(2)}
    old = {n: [0.75, 1.0, 0.5] for n in range(2)}
    below, above = enumerated(new, old, ties=False)
    found = within_task(new, old, seed=3)
    assert found == within_task(new, old, seed=3)
    assert found.p_drop == pytest.approx(below, abs=0.005)
    assert found.p_rise == pytest.approx(above, abs=0.005)
    assert found.attainable <= found.p_drop


def test_nothing_shared_is_refused() -> None:
    with pytest.raises(NotEstimableError, match="in common"):
        within_task({1: [1.0]}, {1: [], 2: [1.0]})


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="leave trials without a score out"):
        within_task({1: [math.nan]}, {1: [1.0]})
