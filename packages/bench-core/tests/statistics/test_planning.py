from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import NotEstimableError
from bench_core.statistics import Variability, plan, plans_for, power_of, tasks_needed

# Smallest detectable paired difference in points, measured by simulation, for 1, 3, 5, 10 trials.
PAIRED = {
    7: (66.2, 41.2, 34.1, 27.6),
    30: (27.7, 17.2, 14.2, 11.5),
    68: (18.0, 11.2, 9.3, 7.5),
    154: (11.9, 7.4, 6.1, 4.9),
    258: (9.2, 5.7, 4.7, 3.8),
    812: (5.1, 3.2, 2.6, 2.1),
}
UNPAIRED = {68: (24.2, 19.6, 18.6, 17.8), 154: (15.9, 12.9, 12.2, 11.7), 812: (6.9, 5.6, 5.3, 5.1)}


@pytest.mark.parametrize("tasks", PAIRED)
def test_paired_designs_detect_what_was_measured(tasks: int) -> None:
    found = [100 * plan(tasks, trials).detectable for trials in (1, 3, 5, 10)]
    assert found == pytest.approx(PAIRED[tasks], abs=0.15)


@pytest.mark.parametrize("tasks", UNPAIRED)
def test_unpaired_designs_detect_what_was_measured(tasks: int) -> None:
    found = [100 * plan(tasks, trials, design="unpaired").detectable for trials in (1, 3, 5, 10)]
    assert found == pytest.approx(UNPAIRED[tasks], abs=0.35)


@given(st.floats(0.03, 0.4), st.integers(1, 10))
def test_the_fewest_tasks_are_enough_and_one_less_is_not(difference: float, trials: int) -> None:
    tasks = tasks_needed(difference, trials)
    assert plan(tasks, trials).detectable <= difference
    if tasks > 2:
        assert plan(tasks - 1, trials).detectable > difference


@given(st.integers(3, 500), st.integers(1, 10), st.sampled_from(["paired", "unpaired"]))
def test_the_detectable_difference_is_found_with_the_power_asked_for(
    tasks: int, trials: int, design: str
) -> None:
    detectable = plan(tasks, trials, design=design).detectable
    assert power_of(detectable, tasks, trials, design=design) == pytest.approx(0.8, abs=0.01)


def test_more_trials_cannot_go_below_the_variance_between_tasks() -> None:
    floor = plan(100, 100_000).detectable
    assert floor == pytest.approx((1.9842 + 0.8453) * 0.148 / 10, rel=1e-3)
    assert tasks_needed(0.05, 100_000) > 60


def test_plans_trade_trials_against_tasks() -> None:
    plans = plans_for(0.1, trials=(1, 3, 5))
    assert [each.trials for each in plans] == [1, 3, 5]
    assert [each.tasks for each in plans] == sorted((each.tasks for each in plans), reverse=True)
    assert all(each.detectable <= 0.1 for each in plans)
    assert plans[1].runs == 2 * 3 * plans[1].tasks


def test_the_expected_half_width_is_that_of_one_agents_interval() -> None:
    known = Variability(rate=0.5, alike=0.0)
    assert plan(100, 4, variability=known).half_width == pytest.approx(
        1.9842 * math.sqrt(0.25 / 400), rel=1e-3
    )


def test_no_half_width_reaches_beyond_all_rates() -> None:
    assert plan(2, 1).half_width == 0.5
    assert plan(2, 1).detectable > 1.0


def test_a_pilot_of_scores_that_are_no_rates_is_refused() -> None:
    with pytest.raises(NotEstimableError, match=r"mean score is -0\.5"):
        Variability.of({"a": [-3.0, 2.0], "b": [-3.0, 2.0]})


def test_a_pilot_gives_rate_and_likeness() -> None:
    pilot = {"a": [1, 1, 1], "b": [1, 1, 0], "c": [0, 0, 0], "d": [0, 0, 1], "e": [1]}
    found = Variability.of(pilot)
    assert found.rate == pytest.approx(3 / 5)
    assert 0.2 < found.alike < 0.8
    assert Variability.of({"a": [1, 0], "b": [0, 1], "c": [1, 0]}).alike == 0.0
    assert Variability.of({"a": [1, 1], "b": [0, 0]}).alike == 1.0


@pytest.mark.parametrize("pilot", [{"a": [1], "b": [0]}, {"a": [1, 0]}, {"a": [1, 1], "b": [1, 1]}])
def test_a_pilot_that_shows_nothing_is_refused(pilot: dict[str, list[float]]) -> None:
    with pytest.raises(NotEstimableError, match="pilot"):
        Variability.of(pilot)


def test_designs_that_cannot_be_are_refused() -> None:
    with pytest.raises(NotEstimableError, match="at least 2 tasks"):
        plan(1)
    with pytest.raises(NotEstimableError, match="out of reach"):
        tasks_needed(1e-6)
    with pytest.raises(ValueError, match="at least one trial"):
        plan(10, 0)
    with pytest.raises(ValueError, match="power"):
        plan(10, power=1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tasks_needed(5)


def test_agents_without_noise_show_any_difference() -> None:
    sure = Variability(rate=0.0, task_effect_sd=0.0)
    assert power_of(0.1, 10, variability=sure) == 1.0
    assert power_of(0.0, 10, variability=sure) == 0.0
