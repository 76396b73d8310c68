"""After which step trials passed, in the forms of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import Step
from bench_core.redaction import Redactor
from bench_core.run_folder import StepScores, read_run, write_step_scores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Runs

STATES = (False, True, True, False)


@pytest.fixture
def known(run: Runs, add_trajectory: Callable[..., Path]) -> Callable[..., Path]:
    """Make a run of whose first trial it is known after which steps the state passed."""

    def maker(passed: tuple[bool | None, ...] = STATES, **changed: Any) -> Path:
        folder = run(tasks=6)
        add_trajectory(folder, "0", [Step(step=n) for n in range(1, len(passed) + 1)])
        first = next(each for each in read_run(folder).results.values() if each.task_id == "0")
        fields: dict[str, Any] = {
            "task_id": "0",
            "trial": 1,
            "result": first.checksum,
            "rules": "rules 1",
            "steps": tuple(range(1, len(passed) + 1)),
            "passed": passed,
            "tokens": (10, 10, 10, 10)[: len(passed)],
        }
        write_step_scores(folder, [StepScores(**{**fields, **changed})], Redactor())
        return folder

    return maker


@pytest.mark.parametrize(
    ("states", "first", "after", "undone"),
    [
        (STATES, 2, 2, True),
        ((True, False, True), 1, 2, False),
        ((False, True), 2, 0, False),
        ((True, None), 1, 1, False),
    ],
)
def test_a_report_says_when_a_trial_passed_and_whether_it_was_undone(
    states: tuple[bool | None, ...],
    first: int,
    after: int,
    undone: bool,
    known: Callable[..., Path],
    build: Builds,
) -> None:
    folder = known(states)
    built = build(folder)
    found = built.json["runs"][0]["when_passed"]
    (trial,) = found["trials"]
    assert (trial["first"], trial["steps_after"], trial["undone"]) == (first, after, undone)
    cost = read_run(folder).results[next(iter(read_run(folder).results))].cost_usd
    assert trial["cost_after"] == (
        None if cost is None else pytest.approx(cost * after / len(states))
    )
    assert ("destroyed again" in built.markdown) is (undone and after > 0)
    assert "When trials passed" in built.markdown
    assert "When it passed: 1 of 1 trial had" in built.html


def test_a_trial_that_never_passed_counts_and_has_no_row(
    known: Callable[..., Path], build: Builds
) -> None:
    found = build(known((False, False))).json["runs"][0]["when_passed"]
    assert (found["known"], found["trials"]) == (1, [])


@pytest.mark.parametrize(
    "changed", [{"result": "another"}, {"passed": (None,) * 4}, {"task_id": "unknown"}]
)
def test_what_is_unknown_or_of_another_result_is_not_shown(
    changed: dict[str, Any], known: Callable[..., Path], build: Builds
) -> None:
    built = build(known(**changed))
    assert built.json["runs"][0]["when_passed"] is None
    assert "When it passed" not in built.html
