from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bench_report.comparison.baselines import ComparedRun, side_of
from bench_report.comparison.differences import difference, distinct_slices
from bench_report.model import RunComparison
from bench_report.run_data.sources import read_runs
from bench_report.terminal import comparison_lines

if TYPE_CHECKING:
    from conftest import Builds, Built, Results, Runs

    from bench_report.model import Difference


FIRST = {"a": [1, 0], "b": [0, 0], "c": [1, 1], "d": [0, 1], "e": [0, 0]}
SECOND = {"a": [1, 1], "b": [1, 0], "c": [1, 1], "d": [0, 0], "e": [1, 0]}


def differences(built: Built) -> tuple[Difference, ...]:
    assert built.report.comparison is not None
    return built.report.comparison.differences


def test_a_single_run_is_compared_with_nothing(run: Runs, build: Builds) -> None:
    assert build(run()).report.comparison is None


def test_runs_are_paired_by_task(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run(FIRST), scored_run(SECOND, name="second"))

    (found,) = differences(built)
    gains = np.array([np.mean(SECOND[t]) - np.mean(FIRST[t]) for t in FIRST])
    half = 2.7764451052 * gains.std(ddof=1) / 5**0.5  # t quantile at 4 degrees of freedom
    assert found.value == pytest.approx(gains.mean())
    assert (found.low, found.high) == pytest.approx((gains.mean() - half, gains.mean() + half))
    assert found.shared_tasks == 5


def test_tasks_of_one_template_are_one_cluster(scored_run: Runs, build: Builds) -> None:
    templates = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"}
    built = build(
        scored_run(FIRST, templates=templates),
        scored_run(SECOND, name="second", templates=templates),
    )

    assert differences(built)[0].method == "paired t, sign-flip over 3 clusters"


def test_tasks_without_a_score_in_both_do_not_enter(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run(FIRST | {"b": [None, None]}), scored_run(SECOND, name="second"))

    assert differences(built)[0].shared_tasks == 4


def test_equal_runs_have_an_interval_of_honest_width(scored_run: Runs, build: Builds) -> None:
    (found,) = differences(build(scored_run(FIRST), scored_run(FIRST, name="second")))

    assert (found.value, found.p_value) == (0.0, 1.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.1 < 0.1 < found.high


def test_single_trials_of_tasks_on_their_own_are_tested_by_mcnemar(
    scored_run: Runs, build: Builds
) -> None:
    ones = {f"t{n}": [float(n % 3 > 0)] for n in range(30)}
    others = {f"t{n}": [float(n % 2)] for n in range(30)}

    (found,) = differences(build(scored_run(others), scored_run(ones, name="second")))

    assert "McNemar mid-p" in found.method
    assert (found.better, found.worse, found.equal) == (10, 5, 15)
    assert found.p_value == pytest.approx(0.2101, abs=1e-4)  # statsmodels, exact minus half a point


def test_slices_are_compared_each_and_all_together(run: Runs, build: Builds) -> None:
    built = build(run("a", tasks=60, trials=2), run("b", tasks=60, trials=2, seed=3, agent="new"))
    (found,) = differences(built)
    rates = [each.summary.groups for each in built.report.runs]

    for each in found.slices:
        (old,), (new,) = ([s for s in r[each.group] if s.name == each.value] for r in rates)
        assert each.shared_tasks <= min(old.success.tasks, new.success.tasks)
        assert each.difference == pytest.approx((each.new or 0) - (each.baseline or 0))
    assert any(each.new and each.baseline for each in found.slices)
    assert {each.group for each in found.slices} == {"site", "type"}
    tested = [each for each in found.slices if each.p_value is not None]
    for each in tested:
        assert each.adjusted_p_value == min(1.0, len(found.slices) * (each.p_value or 0))
        assert (each.low > 0 or each.high < 0) == (each.p_value < 0.05)
        assert (each.joint_low > 0 or each.joint_high < 0) == (each.adjusted_p_value < 0.05)


def test_slices_of_the_same_tasks_are_one() -> None:
    slices = {
        ("app", "chrome"): ["a", "b"], ("app", "edge"): ["c"], ("domain", "web"): ["a", "b", "c"],
        ("kind", "long"): ["a", "b", "d"], ("kind", "short"): ["d"],
    }  # fmt: skip
    assert distinct_slices(slices, {"a", "b", "c"}) == {
        (("app", "chrome"), ("kind", "long")): ["a", "b"],
        (("app", "edge"),): ["c"],
        (("domain", "web"),): ["a", "b", "c"],
    }


def test_tasks_that_changed_come_clearest_first(scored_run: Runs, build: Builds) -> None:
    before = {"same": [1, 1, 1], "slight": [1, 1, 0], "broken": [1, 1, 1]}
    after = {"same": [1, 1, 1], "slight": [1, 1, 1], "broken": [0, 0, 0]}

    (found,) = differences(build(scored_run(before), scored_run(after, name="second")))

    assert [each.task_id for each in found.tasks] == ["broken", "slight"]
    assert found.tasks[0].p_value == pytest.approx(0.1)


def test_runs_without_a_shared_score_say_so(scored_run: Runs, build: Builds) -> None:
    first, second = {"a": [1], "b": [None]}, {"a": [None], "b": [1]}
    (found,) = differences(build(scored_run(first), scored_run(second, name="second")))

    assert (found.value, found.shared_tasks) == (None, 0)
    assert "share no task" in (found.note or "")


def test_runs_of_different_benchmarks_are_not_paired(run: Runs, build: Builds) -> None:
    built = build(run("a"), run("b", benchmark="other"), mix=True)

    assert differences(built)[0].note == "runs of different benchmarks have no tasks in common"


def test_p_values_of_several_runs_are_adjusted(run: Runs, build: Builds) -> None:
    runs = [run(name, tasks=40, seed=seed) for seed, name in enumerate("abcd")]
    found = differences(build(*runs))

    for each in found:
        assert each.adjusted_p_value == min(1.0, 3 * (each.p_value or 0))
        assert each.joint_low < each.low


def test_runs_of_one_provider_at_different_times_come_with_a_warning(
    run: Runs, build: Builds
) -> None:
    (early,), (late,) = (
        read_runs([run(name, tasks=20, trials=2, seed=seed)]) for seed, name in enumerate("ab")
    )
    sides = [side_of(early), side_of(late)]

    def at(begin: int, end: int | None, model: str | None = "openai:gpt-5.2") -> ComparedRun:
        day = datetime(2026, 3, 1, tzinfo=timezone.utc)
        info = sides[1].info.model_copy(
            update={
                "started": day + timedelta(hours=begin),
                "finished": None if end is None else day + timedelta(hours=end),
                "model": model,
            }
        )
        return sides[1]._replace(info=info)

    warned = difference(at(20, 22), at(9, 12))
    assert "2026-03-01 12:00" in (warned.timing or "")
    assert "in turns" in (warned.timing or "")
    assert "in turns" in " ".join(
        comparison_lines(RunComparison(baseline="a", differences=(warned,)))
    )
    for other in (at(9, 21), at(9, None), at(9, 12, "anthropic:claude"), at(9, 12, None)):
        assert difference(at(20, 22), other).timing is None


@pytest.mark.parametrize("cells", [80, 120])
def test_a_terminal_shows_differences_without_breaking_a_row(
    run: Runs, build: Builds, cells: int
) -> None:
    built = build(*(run(name, tasks=20, seed=seed) for seed, name in enumerate("abc")))
    assert built.report.comparison is not None

    whole, fitted = (
        "\n".join(comparison_lines(built.report.comparison, most)) for most in (None, cells)
    )

    rows = [line for line in fitted.splitlines() if "  " in line.strip()]
    assert max(map(len, rows)) <= cells < max(map(len, whole.splitlines()))
    assert set(fitted.split()) == set(whole.split())


def test_every_report_has_the_rates_by_trial_number_and_start(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    day = datetime(2026, 3, 1, tzinfo=timezone.utc)
    outcomes = {f"t{n}": [1, int(n < 3)] for n in range(20)}
    results = [
        scored_result(task, trial, score, started=day + timedelta(hours=trial, minutes=n))
        for n, (task, scores) in enumerate(outcomes.items())
        for trial, score in enumerate(scores, 1)
    ]
    built = build(scored_run(outcomes, results=results), formats=["html", "md", "json", "latex"])

    assert built.report.runs[0].drift.alarm
    assert "drift" in {each.code for each in built.report.caveats}
    texts = [built.html, built.markdown, (built.folder / "report.tex").read_text("utf-8")]
    for text in texts:
        assert "changes while it goes on" in text
        assert "trial 2" in text
        assert "15.0" in text
    assert 'aria-label="Success by start time.' in built.html
