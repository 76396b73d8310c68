from __future__ import annotations

from typing import Any

import pytest

from bench_core.errors import InputError, UnknownTaskError
from bench_core.records import ErrorInfo, Status, Task, TrialResult, Usage
from bench_core.statistics import (
    Summary,
    describe,
    ended_trials,
    success_rate_interval,
    summarise,
    task_scores,
)
from bench_core.statistics.scores import task_successes


def task(
    task_id: str,
    site: str | tuple[str, ...] = "gitlab",
    template: str | None = None,
    benchmark: str = "exam",
) -> Task:
    sites = (site,) if isinstance(site, str) else site
    return Task(
        benchmark=benchmark, task_id=task_id, goal="g", groups={"site": sites}, template=template
    )


def result(task_id: str, score: float | None, trial: int = 1, **fields: Any) -> TrialResult:
    status = fields.pop("status", Status.COMPLETED if score is not None else "environment_error")
    values = {"benchmark": "exam", "agent": "agent", "model": "p:m", **fields}
    return TrialResult(task_id=task_id, trial=trial, score=score, status=status, **values)


@pytest.fixture
def tasks() -> list[Task]:
    return [
        task("1", "gitlab", "t1"),
        task("2", "gitlab", "t1"),
        task("3", "reddit", "t2"),
        task("4", ("gitlab", "reddit"), "t3"),
    ]


@pytest.fixture
def results() -> list[TrialResult]:
    refused = ErrorInfo(kind="EnvironmentFaultError", message="connection refused")
    return [
        result("1", 1.0),
        result("1", 0.0, 2, failure_mode="wrong_answer"),
        result("2", 1.0),
        result("2", 1.0, 2),
        result("3", 0.0, status="step_limit"),
        result("3", None, 2, error=refused),
        result("4", None, error=refused),
        result("4", None, 2, status="cancelled"),
    ]


def test_only_scored_trials_enter_the_rate(tasks: list[Task], results: list[TrialResult]) -> None:
    summary = summarise(tasks, results)
    assert summary.success.estimate == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert (summary.success.tasks, summary.success.trials, summary.success.clusters) == (3, 5, 2)


def test_the_strict_rate_counts_the_rest_as_failures(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    summary = summarise(tasks, results)
    assert summary.strict.estimate == pytest.approx((0.5 + 1.0 + 0.0 + 0.0) / 4)
    strict = summarise(tasks, results, count_errors_as_failures=True)
    assert strict.success == strict.strict == summary.strict
    assert strict.groups["site"][1].success.estimate == 0.0
    assert strict.errors_count_as_failures


def test_what_has_no_score_is_open_between_proven_and_not_disproven(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    found = summarise(tasks, results).bounds
    assert found is not None
    # task 1 won one of two, 2 both, 3 lost one of one scored, 4 has no score
    assert found.proven == pytest.approx((0.5 + 1.0 + 0.0 + 0.0) / 4)
    assert found.not_disproven == pytest.approx((0.5 + 1.0 + 0.5 + 1.0) / 4)
    assert found.unknown == pytest.approx((0.0 + 0.0 + 0.5 + 1.0) / 4)
    strict = summarise(tasks, results, count_errors_as_failures=True)
    assert strict.bounds == found
    waiting = summarise(tasks, results, trials=4).bounds
    assert waiting is not None
    assert waiting.unknown == pytest.approx((0.5 + 0.5 + 0.75 + 1.0) / 4)
    nothing = summarise([], [])
    assert nothing.bounds is None


def test_suspects_stay_in_the_headline_and_have_a_rate_without_them(tasks: list[Task]) -> None:
    suspect = result("1", 0.0, suspect=("login_lost",))
    found = summarise(tasks, [suspect, result("2", 1.0)])
    assert (found.success.estimate, found.suspects) == (0.5, {"login_lost": 1})
    assert found.without_suspects is not None
    assert found.without_suspects.estimate == 1.0


def test_coverage_says_what_was_planned_and_what_was_scored(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    coverage = summarise(tasks, results, trials=3).coverage
    assert coverage.model_dump() == {
        "tasks": 4, "tasks_scored": 3, "trials": 12, "results": 8, "scored": 5, "missing": 4,
    }  # fmt: skip
    assert coverage.share == pytest.approx(5 / 12)


def test_exclusions_are_counted_with_their_reason(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    first, second = summarise(tasks, results).exclusions
    assert (first.status, first.kind, first.count) == (
        Status.ENVIRONMENT_ERROR, "EnvironmentFaultError", 2,
    )  # fmt: skip
    assert first.message == "connection refused"
    assert [(key.task_id, key.trial) for key in first.examples] == [("3", 2), ("4", 1)]
    assert (second.status, second.count) == (Status.CANCELLED, 1)


def test_statuses_and_failure_modes_are_counted(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    summary = summarise(tasks, results)
    assert summary.statuses == {
        Status.COMPLETED: 4, Status.ENVIRONMENT_ERROR: 2, Status.CANCELLED: 1, Status.STEP_LIMIT: 1,
    }  # fmt: skip
    assert summary.failure_modes == {"unclassified": 1, "wrong_answer": 1}


def test_a_task_of_two_sites_is_in_both_slices(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    gitlab, reddit = summarise(tasks, results).groups["site"]
    assert (gitlab.name, gitlab.coverage.tasks, gitlab.success.estimate) == ("gitlab", 3, 0.75)
    assert (reddit.name, reddit.coverage.tasks, reddit.success.estimate) == ("reddit", 2, 0.0)
    assert gitlab.excluded == {Status.CANCELLED: 1, Status.ENVIRONMENT_ERROR: 1}


def test_a_slice_of_one_cluster_gives_its_reason_instead_of_an_interval(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    reddit = summarise(tasks, results).groups["site"][1].success
    assert reddit.new_tasks is None
    assert "one cluster" in reddit.refused["new_tasks"]
    assert "two trials" in reddit.refused["same_tasks"]


def test_templates_are_slices_whose_tasks_are_the_clusters(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    first, second, third = summarise(tasks, results).templates
    assert (first.name, first.success.estimate, first.success.clusters) == ("t1", 0.75, 2)
    assert first.success.new_tasks is not None
    assert second.success.estimate == 0.0
    assert third.success.estimate is None
    assert third.success.refused["new_tasks"] == "no trial was scored"


def test_the_macro_average_weighs_templates_alike(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    macro = summarise(tasks, results).macro_average
    assert macro.estimate == pytest.approx((0.75 + 0.0) / 2)
    assert macro.new_tasks.notes == ("insufficient clusters: 2, at least 5 are needed",)


def test_without_templates_there_is_no_macro_average() -> None:
    summary = summarise([task("1"), task("2")], [result("1", 1.0), result("2", 0.0)])
    assert summary.macro_average is None
    assert summary.templates == ()


def test_a_single_trial_per_task_refuses_the_same_tasks_interval() -> None:
    rate = summarise([task("1"), task("2")], [result("1", 1.0), result("2", 0.0)]).success
    assert rate.same_tasks is None
    assert "at least two trials per task" in rate.refused["same_tasks"]
    assert rate.new_tasks == success_rate_interval({"1": [1.0], "2": [0.0]})


def test_partial_scores_have_a_mean_beside_the_success_rate() -> None:
    summary = summarise([task("1"), task("2")], [result("1", 0.5), result("2", 1.0)])
    assert summary.success.estimate == 0.5
    assert summary.score.estimate == 0.75
    assert summary.groups["site"][0].score.estimate == 0.75


def test_outcomes_of_zero_and_one_have_no_second_rate(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    summary = summarise(tasks, results)
    assert summary.score is None
    assert summary.macro_score is None


def test_pass_rates_go_up_to_the_number_of_trials(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    rates = summarise(tasks, results).pass_rates
    assert [rate.k for rate in rates] == [1]
    both = [result(each.task_id, 1.0, trial) for each in tasks for trial in (1, 2)]
    assert [rate.k for rate in summarise(tasks, both).pass_rates] == [1, 2]


def test_the_last_result_of_a_trial_wins(tasks: list[Task]) -> None:
    results = [result("1", None), result("1", 1.0)]
    summary = summarise(tasks, results)
    assert summary.success.estimate == 1.0
    assert summary.coverage.results == 1
    assert summary.exclusions == ()


def test_ended_trials_summarise_like_the_results_they_were_taken_from(
    tasks: list[Task], results: list[TrialResult]
) -> None:
    again = result("3", 1.0, cost_usd=0.5, usage=Usage(input_tokens=7), timings_s={"agent": 2.0})
    ended = ended_trials([*results, again])
    assert len(ended) == len(results)
    assert ended_trials(ended) is ended
    assert summarise(tasks, ended) == summarise(tasks, [*results, again])


def test_built_in_and_real_results_are_not_averaged(tasks: list[Task]) -> None:
    mixed = [result("1", 1.0), result("2", 0.0, world="built-in")]
    with pytest.raises(InputError, match="different worlds cannot be averaged: built-in, real"):
        summarise(tasks, mixed)
    summary = summarise(tasks, mixed, allow_mixed={"world"})
    assert summary.identity["world"] == ("built-in", "real")
    assert summary.success.estimate == 0.5


@pytest.mark.parametrize("field", ["agent", "model", "profile"])
def test_other_configurations_are_not_averaged_unless_allowed(
    tasks: list[Task], field: str
) -> None:
    mixed = [result("1", 1.0), result("1", 0.0, **{field: "other"})]
    with pytest.raises(InputError, match=f"different {field}s"):
        summarise(tasks, mixed)
    assert summarise(tasks, mixed, allow_mixed={field}).success.estimate == 0.5


def test_a_result_without_a_model_is_not_of_the_same_model(tasks: list[Task]) -> None:
    with pytest.raises(InputError, match="p:m, unspecified"):
        summarise(tasks, [result("1", 1.0), result("2", 1.0, model=None)])


def test_a_result_of_a_task_that_was_not_planned_is_refused(tasks: list[Task]) -> None:
    with pytest.raises(UnknownTaskError, match="no task '9'"):
        summarise(tasks, [result("9", 1.0)])


def test_no_results_give_a_summary_that_says_so(tasks: list[Task]) -> None:
    summary = summarise(tasks, [])
    assert summary.success.estimate is None
    assert summary.coverage.missing == 4
    assert summary.tokens.total is None


def test_no_tasks_give_a_summary_of_nothing() -> None:
    assert summarise([], []).coverage.share is None


def test_costs_cover_excluded_trials_and_count_the_unknown(tasks: list[Task]) -> None:
    results = [
        result("1", 1.0, usage=Usage(requests=1, input_tokens=10, output_tokens=2), cost_usd=0.5,
               timings_s={"total": 4.0}, steps=3),
        result("2", None, usage=Usage(requests=2, input_tokens=30), cost_usd=1.5,
               timings_s={"agent": 1.0, "evaluation": 1.0}),
        result("3", 0.0),
    ]  # fmt: skip
    summary = summarise(tasks, results)
    assert summary.usage == Usage(requests=3, input_tokens=40, output_tokens=2)
    assert (summary.cost_usd.total, summary.cost_usd.median, summary.cost_usd.unknown) == (2, 1, 1)
    assert (summary.time_s.total, summary.time_s.known) == (6.0, 2)
    assert summary.tokens.largest == 30.0
    assert summary.steps.total == 3.0


def test_methods_flags_and_reported_models_are_listed(tasks: list[Task]) -> None:
    results = [
        result("1", 1.0, method="query", flags=("slow",), model_reported="m-2026"),
        result("2", None, method="judge", flags=("slow", "odd")),
    ]
    summary = summarise(tasks, results)
    assert summary.methods == {"query": 1}
    assert summary.flags == {"slow": 2, "odd": 1}
    assert summary.models_reported == ("m-2026",)


def test_a_summary_survives_json(tasks: list[Task], results: list[TrialResult]) -> None:
    summary = summarise(tasks, results)
    assert Summary.model_validate_json(summary.model_dump_json()) == summary


def test_scores_are_listed_by_task_in_the_order_of_trials() -> None:
    results = [result("1", 0.25, 2), result("1", 1.0, 1), result("2", None)]
    assert task_scores(results) == {"1": [1.0, 0.25]}
    assert task_successes(results) == {"1": [1.0, 0.0]}
    assert task_scores(results, errors_as_failures=True) == {"1": [1.0, 0.25], "2": [0.0]}


def test_medians_and_percentiles_interpolate() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is the oracle here")
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    found = describe([*values, None])
    assert found.median == pytest.approx(numpy.median(values))
    assert found.p90 == pytest.approx(numpy.quantile(values, 0.9))
    assert (found.mean, found.unknown) == (pytest.approx(numpy.mean(values)), 1)


def test_groups_that_part_the_tasks_alike_are_one() -> None:
    tasks = [
        Task(
            benchmark="demo",
            task_id=str(n),
            goal="g",
            groups={"app": (f"app {n % 2}",), "domain": (f"its {n % 2}",), "site": (f"{n // 2}",)},
        )
        for n in range(4)
    ]
    assert list(summarise(tasks, []).groups) == ["app", "site"]
