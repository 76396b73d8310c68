"""Looks: what is fixed before the first trial, and what follows from stored outcomes alone."""

from __future__ import annotations

import pytest

from bench_core.errors import NotEstimableError
from bench_core.records import Task
from bench_core.statistics import paired_t
from bench_core.statistics.boundaries import critical_values
from bench_core.statistics.distributions import normal_cdf, t_quantile
from bench_core.statistics.looks import LookPlan, look_at, plan_looks

FIVE = [0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.fixture
def tasks() -> list[Task]:
    return [
        Task(benchmark="exam", task_id=f"{n:03d}", goal="", template=f"t{n // 3}")
        for n in range(120)
    ]


@pytest.fixture
def before(tasks: list[Task]) -> dict[str, list[float]]:
    return {task.task_id: [1.0, float(n % 3 > 0)] for n, task in enumerate(tasks)}


@pytest.fixture
def rule(tasks: list[Task], before: dict[str, list[float]]) -> LookPlan:
    return plan_looks(tasks, before, looks=5, trials=2, seed=4)


def test_boundaries_are_those_published() -> None:
    """Lan and DeMets' O'Brien-Fleming boundaries, as in every textbook."""
    two_sided = [4.877, 3.357, 2.680, 2.290, 2.031]
    assert critical_values(FIVE, 0.025) == pytest.approx(two_sided, abs=0.001)
    assert critical_values([1.0], 0.05) == pytest.approx([1.6449], abs=1e-3)


@pytest.mark.parametrize(
    "shares", [[0.5, 0.5], [0.6, 0.4], [0.0, 1.0]], ids=["equal", "falling", "none"]
)
def test_shares_that_do_not_rise_have_no_boundaries(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="must rise"):
        critical_values(shares, 0.05)


def test_batches_hold_every_task_once_and_no_template_in_two(
    rule: LookPlan, tasks: list[Task]
) -> None:
    ids = [key for batch in rule.batches for key in batch]
    assert sorted(ids) == [task.task_id for task in tasks]
    homes = [{rule.clusters[key] for key in batch} for batch in rule.batches]
    assert sum(map(len, homes)) == len(set().union(*homes)) == 40
    assert [len(batch) for batch in rule.batches] == [24] * 5


def test_the_seed_draws_the_batches(
    tasks: list[Task], before: dict[str, list[float]], rule: LookPlan
) -> None:
    assert plan_looks(tasks, before, looks=5, trials=2, seed=4) == rule
    assert plan_looks(tasks, before, looks=5, trials=2, seed=5).batches != rule.batches


def test_a_stored_rule_is_read_back_as_it_was(rule: LookPlan) -> None:
    assert LookPlan.model_validate(rule.model_dump(mode="json")) == rule


def test_a_clear_drop_stops_at_the_first_look_that_may(
    rule: LookPlan, before: dict[str, list[float]]
) -> None:
    worse = {key: [0.0, 0.0] for key in before}
    found = look_at(rule, 1, worse)
    # eight clusters that all fell alike: 2^-8 is no 0.00001
    assert (found.clusters, found.reason) == (8, "continue")
    assert look_at(rule, 2, worse).reason == "regression"
    assert look_at(rule, 2, worse).stops


def test_the_same_again_is_futile_before_the_end(
    rule: LookPlan, before: dict[str, list[float]]
) -> None:
    noisy = {key: [float((int(key) * 7 + k) % 4 > 0) for k in range(2)] for key in before}
    better = {key: [1.0, float(int(key) % 5 > 0)] for key in before}
    reasons = [look_at(rule, n, better).reason for n in range(1, 6)]
    assert "futility" in reasons
    assert "regression" not in reasons
    assert look_at(rule, 5, noisy).stops


def test_without_futility_only_the_last_look_ends_it(
    tasks: list[Task], before: dict[str, list[float]]
) -> None:
    rule = plan_looks(tasks, before, looks=3, futility=None)
    better = {key: [1.0, float(int(key) % 5 > 0)] for key in before}
    assert [look_at(rule, n, better).reason for n in (1, 2, 3)] == [
        "continue",
        "continue",
        "complete",
    ]


def test_a_rise_ends_only_a_run_that_looks_for_differences(
    tasks: list[Task], before: dict[str, list[float]]
) -> None:
    low = {key: [0.0, float(int(key) % 7 == 0)] for key in before}
    high = {key: [1.0, float(int(key) % 5 > 0)] for key in before}
    one, two = (plan_looks(tasks, low, looks=3, sides=sides) for sides in ("drop", "difference"))
    assert two.futility is None
    assert two.drop > one.drop  # two sides share the error, so less of it is left for a drop
    assert look_at(one, 2, high).reason in {"futility", "continue"}
    assert look_at(two, 2, high).reason == "difference"


def test_the_repeated_interval_uses_the_critical_value_of_its_look(
    rule: LookPlan, before: dict[str, list[float]]
) -> None:
    now = {key: [float(int(key) % 4 > 0), 1.0] for key in before}
    found = look_at(rule, 3, now)
    seen = {key for batch in rule.batches[:3] for key in batch}
    test = paired_t(
        {key: sum(now[key]) / 2 - sum(before[key]) / 2 for key in seen}, clusters=rule.clusters
    )
    critical = -t_quantile(normal_cdf(-rule.critical[2]), test.df)
    assert found.difference == pytest.approx(test.mean)
    assert found.low == pytest.approx(test.mean - critical * test.standard_error)
    assert found.high == pytest.approx(test.mean + critical * test.standard_error)
    assert found.share == pytest.approx(0.6)


def test_a_look_does_not_look_at_later_batches(
    rule: LookPlan, before: dict[str, list[float]]
) -> None:
    first = {key: before[key] for key in rule.batches[0]}
    assert look_at(rule, 1, before) == look_at(rule, 1, first)


def test_a_look_without_a_score_goes_on(rule: LookPlan) -> None:
    assert look_at(rule, 1, {}).reason == "continue"
    assert look_at(rule, 5, {}).reason == "complete"


def test_too_few_clusters_for_so_many_looks_are_refused(tasks: list[Task]) -> None:
    with pytest.raises(NotEstimableError, match="5 looks need at least 10"):
        plan_looks(tasks[:24], {task.task_id: [1.0] for task in tasks}, looks=5)


@pytest.mark.slow
def test_looking_at_planned_batches_keeps_the_level_and_saves_trials() -> None:
    pytest.importorskip("numpy", reason="simulations need the extra 'statistics'")
    from simulations.looks import simulate_looks
    from simulations.populations import Population

    how = {"sizes": [1] * 68, "trials": 3, "replications": 400, "seed": 3}
    agent, name = Population(0.42, 0.5), "O'Brien-Fleming, 5 looks"
    same, planned, twice = (simulate_looks(agent, times=times, **how) for times in (0.0, 1.0, 2.0))
    assert same[name].found <= 0.07
    assert same["t at every cluster"].found > 0.15
    assert min(each[name].covered for each in (same, planned, twice)) >= 0.93
    assert planned[name].share < 0.87
    assert twice[name].share < 0.59
    futile = simulate_looks(agent, times=0.0, one_sided=True, **how)[name]
    assert futile.found <= 0.07
    assert futile.share <= 0.69
