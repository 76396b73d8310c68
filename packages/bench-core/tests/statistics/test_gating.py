from __future__ import annotations

import pytest

from bench_core.errors import NotEstimableError
from bench_core.statistics import gate, paired_t
from bench_core.statistics.simulation import Population, simulate_gate

Scores = dict[int, list[float]]


@pytest.fixture
def before() -> Scores:
    return {n: [1.0, 1.0, float(n % 2)] for n in range(200)}


def test_a_clear_drop_is_a_regression(before: Scores) -> None:
    now = {n: [1.0, float(n % 3 > 0), 0.0] for n in before}
    result = gate(now, before)
    assert (result.verdict, result.exit_code) == ("regression", 1)
    assert result.reason == "dropped beyond chance: all -27.8 points"


def test_the_same_scores_are_fine_when_there_are_enough_tasks(before: Scores) -> None:
    result = gate(before, before)
    assert (result.verdict, result.exit_code) == ("fine", 0)
    assert result.reason == "at worst -1.3 points, within the tolerance of -5.0 points"


def test_the_same_scores_on_seven_tasks_are_not_enough_evidence(before: Scores) -> None:
    few = {n: before[n] for n in range(7)}
    result = gate(few, few)
    assert (result.verdict, result.exit_code) == ("not_enough_evidence", 3)
    assert "no drop beyond chance" in result.reason


def test_a_small_benchmark_prints_the_power_it_has() -> None:
    before = {n: [float(n % 2), 1.0] for n in range(30)}
    now = {n: [float(n // 2 % 2), 1.0] for n in range(30)}
    result = gate(now, before)
    assert result.verdict == "not_enough_evidence"
    whole = result.checks[0]
    assert f"would be found in {whole.power:.0%} of runs" in result.reason
    assert 0.05 < whole.power < 0.5


def test_a_significant_drop_within_the_tolerance_is_fine() -> None:
    before = {n: [1.0, 1.0] for n in range(800)}
    now = {n: [1.0, float(n % 50 > 0)] for n in before}
    result = gate(now, before)
    assert result.checks[0].p_value < 0.001
    assert result.verdict == "fine"
    assert gate(now, before, tolerance=0.005).verdict == "regression"


def test_one_slice_that_drops_is_a_regression(before: Scores) -> None:
    now = {n: [0.0, 0.0, 0.0] if n < 12 else before[n] for n in before}
    whole = gate(now, before, tolerance=0.15)
    assert whole.verdict == "fine"
    sliced = gate(now, before, tolerance=0.15, slices={"shop": range(12), "mail": range(12, 200)})
    assert sliced.verdict == "regression"
    assert sliced.reason.startswith("dropped beyond chance: shop")
    assert [check.name for check in sliced.checks] == ["all", "shop", "mail"]


def test_slices_pay_for_being_several(before: Scores) -> None:
    now = {n: [1.0, float(n % 3 > 0), 0.0] for n in before}
    alone = gate(now, before).checks[0]
    among = gate(now, before, slices={"a": range(100), "b": range(100, 200)}).checks
    assert alone.p_adjusted == alone.p_value
    assert all(check.p_adjusted >= check.p_value for check in among)


def test_a_slice_of_one_task_is_shown_but_not_tested(before: Scores) -> None:
    check = gate(before, before, slices={"one": [3]}).checks[1]
    assert (check.tasks, check.p_value) == (1, None)
    assert "two clusters" in check.reason


def test_tasks_that_always_worked_and_never_do_now_are_named() -> None:
    before = {"a": [1.0, 1.0], "b": [1.0, 0.0], "c": [1.0, 1.0]}
    now = {"a": [0.0, 0.0], "b": [0.0, 0.0], "c": [1.0, 0.0]}
    assert gate(now, before).broken == ("a",)


def test_the_limit_and_p_value_are_one_sided(before: Scores) -> None:
    now = {n: [1.0, float(n % 3 > 0), float(n % 2)] for n in before}
    check = gate(now, before).checks[0]
    test = paired_t({n: (sum(now[n]) - sum(before[n])) / 3 for n in before})
    assert check.p_value == test.p_drop
    # 1.65255 is the 95th percentile of t on 199 degrees of freedom.
    assert check.worst == pytest.approx(test.mean - 1.65255 * test.standard_error, rel=1e-5)


def test_runs_without_a_common_task_are_refused() -> None:
    with pytest.raises(NotEstimableError, match="in common"):
        gate({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(ValueError, match="out of range"):
        gate({"a": [1.0]}, {"a": [1.0]}, alpha=5)


AGENT = Population(rate=0.42, alike=0.485)


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "trials"), [(7, 3), (30, 1), (68, 1), (68, 3), (154, 3)])
def test_an_unchanged_agent_rarely_raises_an_alarm(tasks: int, trials: int) -> None:
    found = simulate_gate(AGENT, tasks=tasks, trials=trials, replications=1_500, seed=5)
    assert found.regression <= 0.06
    assert sum(found) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "trials", "least"), [(68, 3, 0.8), (154, 1, 0.7), (154, 3, 0.95)]
)
def test_a_clear_drop_is_mostly_found(tasks: int, trials: int, least: float) -> None:
    found = simulate_gate(AGENT, tasks=tasks, trials=trials, drop=0.106, replications=400, seed=5)
    assert found.regression >= least


@pytest.mark.slow
def test_a_drop_beyond_the_tolerance_is_rarely_called_fine() -> None:
    found = simulate_gate(AGENT, tasks=154, trials=3, drop=0.05, replications=1_000, seed=5)
    assert found.fine <= 0.06
