"""The same figures in page, Markdown and JSON, recomputed here by other means."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Builds, Built, Runs


@pytest.fixture
def built(run: Runs, build: Builds) -> Built:
    settings: dict[str, Any] = {"tasks": 40, "trials": 3}
    return build(
        run("a", seed=1, **settings), run("b", seed=2, agent="other", success_rate=0.7, **settings)
    )


def rate_of(rows: list[dict[str, Any]]) -> float:
    by_task = defaultdict(list)
    for row in rows:
        if row["score"] is not None:
            by_task[row["task_id"]].append(row["score"] >= 1)
    return fmean(fmean(values) for values in by_task.values())


def test_the_page_embeds_the_figures_of_the_json(built: Built) -> None:
    embedded, full = built.embedded("report-data"), built.json

    assert embedded.pop("runs") == [
        {name: value for name, value in each.items() if name != "trials"} for each in full["runs"]
    ]
    assert embedded == {
        name: value for name, value in full.items() if name not in {"runs", "tasks"}
    }


def test_the_table_has_every_trial_of_the_json(built: Built) -> None:
    table = built.table()
    trials, ids = table["trials"], table["tasks"]["id"]

    shown = [
        (run, ids[task], trial, score, steps)
        for run, task, trial, score, steps in zip(
            *(trials[name] for name in ("run", "task", "trial", "score", "steps")), strict=True
        )
    ]
    assert shown == [
        (run, row["task_id"], row["trial"], row["score"], row["steps"])
        for run, each in enumerate(built.json["runs"])
        for row in each["trials"]
    ]


def test_the_headline_is_that_of_the_trials(built: Built) -> None:
    for run in built.json["runs"]:
        assert run["summary"]["success"]["estimate"] == pytest.approx(rate_of(run["trials"]))


def test_every_format_shows_every_rate_and_interval(built: Built) -> None:
    for run in built.report.runs:
        summary = run.summary
        rates = [summary.success, summary.macro_average, summary.strict]
        rates += [row.success for rows in summary.groups.values() for row in rows]
        for rate in rates:
            assert rate is not None
            assert rate.new_tasks is not None
            for text in (built.html, built.markdown):
                assert f"{rate.estimate:.1%}" in text
                assert f"{rate.new_tasks.low:.1%} to {rate.new_tasks.high:.1%}" in text


def test_every_format_shows_the_differences(built: Built) -> None:
    assert built.report.comparison is not None
    (found,) = built.report.comparison.differences
    assert found.value == pytest.approx(
        rate_of(built.json["runs"][1]["trials"]) - rate_of(built.json["runs"][0]["trials"]), abs=0.1
    )
    for text in (built.html, built.markdown):
        assert f"{100 * (found.value or 0):+.1f} pp".replace("-", "\N{MINUS SIGN}") in text


def test_every_format_shows_totals(built: Built) -> None:
    for run in built.report.runs:
        cost = sum(row.cost_usd or 0 for row in run.trials)
        tokens = sum(row.input_tokens + row.output_tokens for row in run.trials)
        assert run.summary.cost_usd.total == pytest.approx(cost)
        for text in (built.html, built.markdown):
            assert f"{cost:,.2f}" in text
            assert f"{tokens / 1e6:.1f}".removesuffix(".0") + "M" in text


def test_slices_are_those_of_their_trials(built: Built) -> None:
    tasks = {each["task_id"]: each["groups"] for each in built.json["tasks"]}
    for run in built.json["runs"]:
        for row in run["summary"]["groups"]["site"]:
            members = [r for r in run["trials"] if row["name"] in tasks[r["task_id"]]["site"]]
            assert row["success"]["estimate"] == pytest.approx(rate_of(members))


def test_no_rate_stands_alone(built: Built) -> None:
    for line in built.markdown.splitlines():
        if line.startswith("| scripted") and "**" in line:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert " to " in cells[2]
            assert cells[3].isdigit()
            assert cells[4].isdigit()
