"""Plots: what they draw is what the trials say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bench_core.records import Status
from bench_report.html_page.run_charts import cost_points, heat_map, pareto_plot, success_by_step
from bench_report.model import TrialRow

if TYPE_CHECKING:
    from conftest import Builds, Results, Runs


def rows_of(*ended: tuple[int, bool | None]) -> list[TrialRow]:
    return [
        TrialRow(f"t{n}", 1, Status.COMPLETED, success=success, steps=steps)
        for n, (steps, success) in enumerate(ended)
    ]


def test_success_by_step_counts_what_had_succeeded_by_then() -> None:
    rows = rows_of((3, True), (5, False), (3, True), (9, True), (1, None))

    assert success_by_step(rows) == [(0, 0.0), (3, 0.5), (9, 0.75)]
    assert success_by_step([]) == []


def test_runs_that_are_cheaper_and_better_make_the_front(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    made = {
        "cheap": (0.01, [1, 0, 0, 0]),
        "dominated": (0.05, [1, 0, 0, 0]),
        "dear": (0.5, [1, 1, 1, 0]),
    }
    runs = []
    for name, (cost, scores) in made.items():
        outcomes = {f"t{n}": [score] for n, score in enumerate(scores)}
        results = [
            scored_result(task, 1, score, agent=name, cost_usd=cost)
            for task, (score,) in outcomes.items()
        ]
        runs.append(scored_run(outcomes, name, agent=name, results=results))
    points = cost_points(build(*runs).report)

    assert [(p.label.split(" ")[0], p.front) for p in points] == [
        ("cheap", True),
        ("dominated", False),
        ("dear", True),
    ]
    drawn = pareto_plot(points)
    assert drawn.count("<circle") == 3
    assert "on the front (price known of all 4 trials)" in drawn


def test_the_heat_map_has_a_cell_for_every_trial(run: Runs, build: Builds) -> None:
    report = build(run(tasks=40, trials=3)).report
    drawn = str(heat_map(report.runs[0]))

    widths: dict[str, float] = {"pass": 0.0, "fail": 0.0, "void": 0.0}
    for kind, shapes in re.findall(r'class="part (\w+)" fill-opacity="1" d="([^"]*)"', drawn):
        widths[kind] += sum(int(width) for width in re.findall(r"h(\d+)v", shapes)) / 1000 * 40
    for kind, success in (("pass", True), ("fail", False), ("void", None)):
        expected = sum(each.success is success for each in report.runs[0].trials)
        assert widths[kind] == pytest.approx(expected, abs=0.5)


def test_the_heat_map_of_many_tasks_stays_small(run: Runs, build: Builds) -> None:
    report = build(run(tasks=1_000, trials=2, artifacts=False)).report

    assert len(heat_map(report.runs[0])) < 30_000
