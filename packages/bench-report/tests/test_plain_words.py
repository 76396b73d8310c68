"""The first screen in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_report.model import Difference
from bench_report.text.plain_words import difference_sentence, run_sentence

if TYPE_CHECKING:
    from conftest import Builds, Runs, Visits

CASES = [
    ({"value": 0.12, "low": 0.02, "high": 0.22},
     "b solves more than a: +12 points on the tasks both did; on new tasks expect +2 to +22 points."),
    ({"value": -0.01, "low": -0.1, "high": 0.08},
     "These runs do not distinguish b from a: on new tasks the difference is \u221210 to +8 points."),
    ({"value": 0.1, "low": 0.01, "high": 0.19, "joint_low": -0.02, "joint_high": 0.22},
     "These runs do not distinguish b from a: on new tasks the difference is \u22122 to +22 points."),
    ({"value": 0.065}, "b is at +6.5 points against a; whether that is more than chance cannot be said."),
    ({"value": 0.1}, "b is at +10 points against a; whether that is more than chance cannot be said."),
    ({"note": "they share no task"}, "b cannot be compared with a: they share no task."),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected"), CASES)
def test_a_difference_in_one_sentence(fields: dict[str, object], expected: str) -> None:
    found = Difference.model_validate({"run": "b", "baseline": "a", "shared_tasks": 9} | fields)

    assert difference_sentence(found) == expected


def test_a_run_in_one_sentence(scored_run: Runs, build: Builds) -> None:
    outcomes = {f"t{n}": [float(n % 4 > 0)] * 2 for n in range(40)}
    run = build(scored_run(outcomes), formats=["json"]).report.runs[0]
    found = run.summary.success.new_tasks
    assert found is not None

    words = run_sentence(run)
    assert words.startswith("scripted · openai:gpt-5.2 solved 75% of 40 tasks (80 trials); on new")
    assert words.endswith(f"expect {100 * found.low:.0f} to {100 * found.high:.0f}%.")


def test_a_run_without_scores_says_so(scored_run: Runs, build: Builds) -> None:
    run = build(scored_run({"a": [None]}), formats=["json"]).report.runs[0]

    assert "no scored trial yet" in run_sentence(run)


@pytest.mark.browser
def test_the_first_screen_has_a_sentence_a_plot_and_a_warning(
    run: Runs, build: Builds, visit: Visits
) -> None:
    built = build(run("a", tasks=20), run("b", tasks=20, agent="other"))
    page = visit(height=900).open(built)

    sentences = page.locator("#result .sentence").all_inner_texts()
    assert [text.strip() for text in sentences] == [
        run_sentence(each) for each in built.report.runs
    ]
    axis = page.locator("#result .axis-labels").first.bounding_box()
    plot = page.locator("#result .plot").first.bounding_box()
    assert axis is not None
    assert plot is not None
    assert axis["y"] < plot["y"]  # the axis stands above the rows
    assert abs(axis["x"] - plot["x"]) < 2
    assert page.is_hidden("h3:text-is('Other readings')")
    warning = page.locator("#caveats").bounding_box()
    assert warning is not None
    assert warning["y"] < 900
