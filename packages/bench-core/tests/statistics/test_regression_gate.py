from __future__ import annotations

import pytest

from bench_core.errors import NotEstimableError
from bench_core.statistics import gate

Scores = dict[int, list[float]]


@pytest.fixture
def before() -> Scores:
    return {n: [1.0, 1.0, float(n % 2)] for n in range(200)}


def test_a_clear_drop_is_a_regression(before: Scores) -> None:
    now = {n: [1.0, float(n % 3 > 0), 0.0] for n in before}
    result = gate(now, before)
    assert (result.verdict, result.exit_code) == ("regression", 1)
    assert result.reason == "not the same agent on these tasks, and worse: all \u221227.8 pp"


def test_the_same_scores_are_fine_when_there_are_enough_tasks(before: Scores) -> None:
    result = gate(before, before)
    assert (result.verdict, result.exit_code) == ("fine", 0)
    assert result.reason == (
        "at worst \u22120.5 pp on these tasks, run again, within the tolerance of \u22125.0 pp"
    )


def test_a_drop_of_just_the_tolerance_is_not_ruled_out(before: Scores) -> None:
    worst = gate(before, before).checks[0].worst
    assert worst is not None
    assert gate(before, before, tolerance=-worst).verdict == "not_enough_evidence"
    assert gate(before, before, tolerance=-worst + 1e-9).verdict == "fine"


def test_the_same_scores_on_seven_tasks_are_not_enough_evidence(before: Scores) -> None:
    few = {n: before[n] for n in range(7)}
    result = gate(few, few)
    assert (result.verdict, result.exit_code) == ("not_enough_evidence", 3)
    assert "no drop beyond chance" in result.reason
    assert (
        "ruling out \u22125.0 pp takes at least 59 pairs of trials without a loss, there are 21"
        in result.reason
    )
    assert result.needed == 59


def test_an_agent_that_always_succeeds_is_not_said_to_leave_every_drop_unseen() -> None:
    same = {n: [1, 1, 1] for n in range(70)}
    halves = {"low": range(35), "high": range(35, 70)}
    assert gate(same, same).checks[0].power == pytest.approx(0.96, abs=0.02)
    assert gate(same, same, slices=halves).checks[0].power == pytest.approx(0.94, abs=0.02)
    small = {n: [1] for n in range(9)}
    assert "a true \u22125.0 pp would be found in 0% of runs" in gate(small, small).reason


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
    assert sliced.reason.startswith("not the same agent on these tasks, and worse: shop")
    assert [check.name for check in sliced.checks] == ["all", "shop", "mail"]


def test_slices_pay_for_being_several(before: Scores) -> None:
    now = {n: [1.0, float(n % 3 > 0), 0.0] for n in before}
    alone = gate(now, before).checks[0]
    among = gate(now, before, slices={"a": range(100), "b": range(100, 200)}).checks
    assert alone.p_adjusted == alone.p_value
    assert all(check.p_adjusted >= check.p_value for check in among)


def test_slices_too_small_to_be_significant_cost_the_others_nothing(before: Scores) -> None:
    now = {n: [0.0, 0.0, 0.0] if n < 4 else before[n] for n in before}
    pairs = {f"pair {n}": [2 * n, 2 * n + 1] for n in range(6, 46)}
    alone = gate(now, before, slices={"shop": range(12)}).checks[1]
    among = gate(now, before, slices={"shop": range(12), **pairs}).checks
    assert alone.p_adjusted == 2 * alone.p_value
    # of forty pairs of tasks, those with a failure among their trials could not fall below 0.02
    assert among[1].p_adjusted == alone.p_adjusted


def test_a_slice_without_a_shared_task_is_shown_but_not_tested(before: Scores) -> None:
    check = gate(before, before, slices={"none": [999]}).checks[1]
    assert (check.tasks, check.p_value) == (0, None)
    assert (check.tasks, check.pairs, check.clusters) == (0, 0, 0)
    assert check.reason == "no task of it has a score in both runs"


def test_two_tasks_that_fell_alike_are_no_regression() -> None:
    before = {"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]}
    now = {"a": [1.0, 1.0, 0.0], "b": [1.0, 0.0, 1.0]}
    result = gate(now, before)
    assert result.verdict == "not_enough_evidence"
    assert result.checks[0].p_value == pytest.approx(1 / 4)


def test_two_tasks_that_never_work_any_more_are_a_regression() -> None:
    before = {"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]}
    result = gate({"a": [0.0] * 3, "b": [0.0] * 3}, before)
    assert result.verdict == "regression"
    assert result.checks[0].p_value == pytest.approx(1 / 400)


def test_one_task_can_regress_though_nothing_is_known_of_others() -> None:
    result = gate({"a": [0.0] * 5}, {"a": [1.0] * 5})
    assert result.verdict == "regression"
    assert result.checks[0].p_value == pytest.approx(1 / 252)
    assert result.comparison is None


def test_seven_tasks_that_hardly_moved_are_not_called_fine() -> None:
    before = {n: [1.0, 1.0, float(n > 0)] for n in range(7)}
    now = {n: [1.0] * 3 for n in range(7)}
    result = gate(now, before)
    assert result.verdict == "not_enough_evidence"
    assert result.checks[0].worst < -0.05


def test_fine_says_of_what() -> None:
    before = {n: [1.0] * 3 for n in range(30)}
    same, new = gate(before, before), gate(before, before, estimand="new_tasks")
    assert (same.verdict, same.checks[0].pairs, same.estimand) == ("fine", 90, "same_tasks")
    assert (new.verdict, new.checks[0].clusters) == ("not_enough_evidence", 30)
    assert new.reason.startswith(
        "no drop beyond chance, but at worst \u22129.5 pp on new tasks of this kind; ruling out "
        "\u22125.0 pp takes at least 59 independent tasks or templates without a loss, there are 30"
    )


def test_the_limits_of_no_loss_are_those_of_clopper_and_pearson() -> None:
    scores = {n: [1.0] * 3 for n in range(40)}
    check = gate(scores, scores, clusters={n: n // 2 for n in scores}).checks[0]
    assert check.worst == pytest.approx(0.05 ** (1 / 120) - 1)
    assert check.worst_new_tasks == pytest.approx(0.05 ** (1 / 20) - 1)


def test_scores_beyond_one_are_tested_but_never_called_fine() -> None:
    before = {n: [10.0 + n % 3, 12.0] for n in range(40)}
    result = gate(before, before, tolerance=0.5)
    assert result.verdict == "not_enough_evidence"
    assert (result.checks[0].difference, result.checks[0].worst) == (0.0, None)
    assert "outside of 0 to 1" in result.checks[0].reason


def test_tasks_that_always_worked_and_never_do_now_are_named() -> None:
    before = {"a": [1.0, 1.0], "b": [1.0, 0.0], "c": [1.0, 1.0]}
    now = {"a": [0.0, 0.0], "b": [0.0, 0.0], "c": [1.0, 0.0]}
    assert gate(now, before).broken == ("a",)


def test_runs_without_a_common_task_are_refused() -> None:
    with pytest.raises(NotEstimableError, match="in common"):
        gate({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(ValueError, match="out of range"):
        gate({"a": [1.0]}, {"a": [1.0]}, alpha=5)
