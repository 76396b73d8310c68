from __future__ import annotations

import itertools

import pytest

from bench_core.statistics import gate, within_task
from bench_core.statistics.distributions import binomial_pmf
from bench_core.statistics.one_trial import critical_mid_p, mid_p, one_trial_p_value


def enumerated_level(tasks: int, alpha: float, chances: tuple[float, ...]) -> float:
    """Chance of a finding when each task changes with its own chance, gains and losses alike."""
    found = 0.0
    for outcome in itertools.product((-1, 0, 1), repeat=tasks):
        worse, changed = outcome.count(-1), tasks - outcome.count(0)
        if one_trial_p_value(worse, changed, tasks) <= alpha:
            probability = 1.0
            for each, chance in zip(outcome, chances, strict=True):
                probability *= 0.5 * chance if each else 1.0 - chance
            found += probability
    return found


GRID = (0.0, 0.1, 0.25, 0.4, 0.5)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_no_mixture_of_chances_exceeds_the_level(alpha: float) -> None:
    levels = [
        enumerated_level(6, alpha, chances)
        for chances in itertools.combinations_with_replacement(GRID, 6)
    ]
    assert alpha / 4 < max(levels) <= alpha


def test_a_p_value_is_the_worst_case_over_equal_chances() -> None:
    tasks, worse, changed = 9, 5, 6
    order = mid_p(worse, changed)
    worst = max(
        sum(
            binomial_pmf(d, even, 0.5) * binomial_pmf(w, d, 0.5)
            for d in range(even + 1)
            for w in range(d + 1)
            if mid_p(w, d) <= order
        )
        for even in range(tasks + 1)
    )
    assert one_trial_p_value(worse, changed, tasks) == pytest.approx(worst)


def test_more_losses_are_never_less_significant() -> None:
    for changed in range(1, 13):
        p_values = [one_trial_p_value(worse, changed, 12) for worse in range(changed + 1)]
        assert p_values == sorted(p_values, reverse=True)


def test_nothing_changed_is_no_finding() -> None:
    assert [one_trial_p_value(0, 0, tasks) for tasks in (0, 1, 30)] == [1.0, 1.0, 1.0]


def test_the_critical_mid_p_parts_findings_from_the_rest() -> None:
    limit = critical_mid_p(20, 0.05)
    for changed in range(21):
        for worse in range(changed + 1):
            found = one_trial_p_value(worse, changed, 20) <= 0.05
            assert found == (mid_p(worse, changed) <= limit)


def test_four_losses_of_twelve_single_trials_are_a_regression_unless_slices_compete() -> None:
    old = {n: [float(n < 8)] for n in range(12)}
    new = {n: [float(4 <= n < 8)] for n in range(12)}
    alone = gate(new, old)
    assert alone.verdict == "regression"
    assert alone.checks[0].p_value == pytest.approx(one_trial_p_value(4, 4, 12))
    among = gate(new, old, slices={"half": range(6)})
    assert among.verdict == "not_enough_evidence"
    assert among.checks[0].p_value == within_task(new, old).p_drop == 0.5**4


def test_rises_mirror_drops() -> None:
    old = {n: [float(n < 8)] for n in range(12)}
    new = {n: [float(n > 2)] for n in range(12)}
    drop, rise = (
        within_task(new, old, conditional=False),
        within_task(old, new, conditional=False),
    )
    assert (drop.p_drop, drop.p_rise) == (rise.p_rise, rise.p_drop)
    assert 0.0 < drop.attainable <= drop.p_drop
