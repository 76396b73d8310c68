"""Whether a run's success changes while it goes on."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_core.statistics import TimedOutcome, drift_of
from bench_core.statistics.distributions import chi_square_tail

BEGAN = datetime(2026, 3, 1, tzinfo=timezone.utc)


def run_of(generator: np.random.Generator, *, tasks: int, shock: float, fall: float) -> object:
    """Draw a run of three rounds, whose rate falls linearly or differs by round."""
    chances = np.log(1 / generator.beta(0.5, 0.5, tasks).clip(1e-9, 1 - 1e-9) - 1)
    outcomes = []
    for trial, moved in enumerate(generator.normal(0.0, shock, 3) if shock else (0.0,) * 3, 1):
        for place, task in enumerate(generator.permutation(tasks).tolist()):
            at = (trial - 1) * tasks + place
            chance = 1 / (1 + np.exp(chances[task] - moved)) + fall * (0.5 - at / (3 * tasks))
            started = BEGAN + timedelta(minutes=at)
            outcomes.append(
                TimedOutcome(str(task), trial, bool(generator.random() < chance), started)
            )
    return drift_of(outcomes)


@pytest.mark.parametrize(
    ("shock", "fall", "least", "most"), [(0.0, 0.0, 0.0, 0.1), (1.0, 0.0, 0.7, 1.0), (0.0, 0.25, 0.7, 1.0)]
)  # fmt: skip
def test_a_drift_is_found_and_none_is_seldom_seen(
    shock: float, fall: float, least: float, most: float
) -> None:
    generator = np.random.default_rng(2)
    found = [run_of(generator, tasks=154, shock=shock, fall=fall).alarm for _ in range(60)]
    assert least <= sum(found) / 60 <= most


def test_rates_are_given_by_trial_number_and_by_start() -> None:
    outcomes = [
        TimedOutcome(str(task), trial, trial == 1, BEGAN + timedelta(hours=10 * trial + task))
        for task in range(10)
        for trial in (1, 2)
    ]
    found = drift_of(outcomes)
    assert [(each.name, each.rate, each.trials) for each in found.by_trial] == [
        ("trial 1", 1.0, 10),
        ("trial 2", 0.0, 10),
    ]
    assert [each.rate for each in found.by_time] == [1.0] * 5 + [0.0] * 5
    # with two trials the trend is McNemar's (10 - 0)^2 / 10, and a fall has most of the error
    falls = chi_square_tail(10.0, 1) / 2
    assert falls < found.p_value < 1.2 * falls
    assert found.change == -1.0  # a line through a step would fall by more
    assert found.alarm


def test_a_rise_is_weaker_evidence_than_a_fall() -> None:
    fallen, risen = (
        drift_of(
            [
                TimedOutcome(str(task), trial, (trial == right) != (task < 2), BEGAN)
                for task in range(10)
                for trial in (1, 2)
            ]
        )
        for right in (1, 2)
    )
    assert fallen.alarm
    assert fallen.p_value < risen.p_value / 2


def test_one_trial_of_each_task_is_not_tested() -> None:
    found = drift_of([TimedOutcome(str(n), 1, n < 10, BEGAN) for n in range(20)])
    assert (found.p_value, found.alarm) == (None, False)
    assert "one trial per task" in found.refused


@pytest.mark.parametrize(("mixed", "said"), [(0, "there are none"), (9, "there are 9"), (10, None)])
def test_a_drift_is_tested_where_ten_tasks_have_trials_that_differ(
    mixed: int, said: str | None
) -> None:
    """Nine tasks that all fell are no evidence by a normal law, and ten are."""
    found = drift_of(
        [TimedOutcome(str(n), k, n >= mixed or k == 1, BEGAN) for n in range(20) for k in (1, 2)]
    )
    assert (said in found.refused) if said else (found.refused is None)
    assert (found.p_value is None, found.alarm) == (bool(said), not said)


def test_nothing_is_said_of_no_outcome() -> None:
    assert drift_of([]) is None


@pytest.mark.parametrize(("x", "df"), [(3.841459, 1), (7.814728, 3), (9.487729, 4)])
def test_the_tail_of_chi_square_is_that_of_tables(x: float, df: int) -> None:
    assert chi_square_tail(x, df) == pytest.approx(0.05, abs=1e-6)
    assert chi_square_tail(0.0, df) == 1.0


@given(
    st.lists(
        st.tuples(
            st.integers(0, 14),
            st.integers(1, 4),
            st.booleans(),
            st.sampled_from([None, 0, 0, 1, 7]),
        ),
        min_size=1,
        max_size=90,
    )
)
@settings(max_examples=150, deadline=None)
def test_whatever_numbers_and_starts_trials_have_they_are_tested_or_refused(
    drawn: list[tuple[int, int, bool, int | None]],
) -> None:
    """Numbers that repeat, and starts that do or are unknown, in whichever order results are listed."""
    outcomes = [
        TimedOutcome(f"{task}", trial, won, None if at is None else BEGAN + timedelta(hours=at))
        for task, trial, won, at in drawn
    ]
    found, turned = drift_of(outcomes), drift_of(outcomes[::-1])
    assert (found.p_value is None) == (found.refused is not None)
    assert found.refused == turned.refused
    assert (found.p_value or 0.0) == pytest.approx(turned.p_value or 0.0, rel=1e-6)


@pytest.mark.parametrize("start", [None, BEGAN])
def test_trials_of_a_task_of_which_none_is_later_are_not_tested(start: datetime | None) -> None:
    outcomes = [
        TimedOutcome(str(task), 1 + task % 2, won, start)
        for task in range(20)
        for won in (True, False)
    ]
    found = drift_of(outcomes)
    assert (found.p_value, found.alarm) == (None, False)
    assert "none is the later one" in found.refused
