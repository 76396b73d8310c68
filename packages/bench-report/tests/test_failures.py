"""Failures sorted by what they share, changes against the baseline, and how soon they are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import ErrorInfo, Step, Task, TrialResult
from bench_core.testing import make_run
from bench_report.analysis.failures import changes_of, clusters_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Built, Results, Runs, Visits


def test_failures_are_sorted_by_mode_and_status(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = [
        scored_result("a", 1, 0.0, failure_mode="wrong_answer", steps=9),
        scored_result("a", 2, 0.0, failure_mode="wrong_answer", steps=3),
        scored_result("b", 1, 0.0),
        scored_result("b", 2, None),
    ]
    report = build(scored_run({"a": [0, 0], "b": [0, None]}, results=results)).report
    found = clusters_of(report.runs[0])

    assert [(each.kind, each.name, each.trials, each.tasks) for each in found] == [
        ("failure mode", "wrong_answer", 2, 1),
        ("failure mode", "unclassified", 1, 1),
        ("status", "environment_error", 1, 1),
    ]
    assert found[0].example.trial == 2  # the shorter one


def test_a_provider_that_is_silent_is_not_called_the_environment(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    faults = {"timeout": "did not answer in time", "environment": "the environment failed"}
    results = [scored_result("a", 1, 1.0)] + [
        scored_result(
            "a", trial, None, error=ErrorInfo(kind="ModelError", message="no", fault=fault)
        )
        for trial, fault in enumerate(faults, start=2)
    ]
    built = build(scored_run({"a": [1, None, None]}, results=results), formats=["html", "md"])
    names = {each.name for each in clusters_of(built.report.runs[0])}
    assert names == {"the provider did not answer in time", "the environment failed"}
    assert [each.count for each in built.report.runs[0].summary.exclusions] == [1, 1]
    mode = built.table()["trials"]["mode"]
    ended = [mode["values"][n] if n >= 0 else None for n in mode["index"]]
    assert ended == [None, "the provider did not answer in time", "the environment failed"]
    for text in (built.markdown, built.html):
        assert all(what in text for what in faults.values())
    assert "environment error" not in built.markdown.split("Without a score")[1]


def test_failed_checks_are_counted_with_a_trial_to_look_at(shop: Built) -> None:
    (check,) = shop.report.runs[1].failed_checks

    assert (check.criterion, check.trials, check.tasks) == ("the order", 7, 4)
    assert (check.example.task_id, check.example.trial) == ("t1", 1)


def test_tasks_that_changed_are_named_by_kind(scored_run: Runs, build: Builds) -> None:
    before = {"a": [1, 1], "b": [0, 0], "c": [1, 1], "d": [1, 0], "e": [1, 1], "f": [None, None]}
    after = {"a": [0, 0], "b": [1, 1], "c": [1, 0], "d": [0, 0], "e": [1, 1], "f": [0, 0]}
    first, second = scored_run(before, "before"), scored_run(after, "after", agent="other")
    report = build(first, second).report
    found = changes_of(report.runs[1], report.runs[0])

    assert [(each.kind, each.task_id, each.before, each.after) for each in found] == [
        ("newly failing", "a", "2/2", "0/2"),
        ("no longer flaky, failing", "d", "1/2", "0/2"),
        ("flaky now", "c", "2/2", "1/2"),
        ("newly passing", "b", "0/2", "2/2"),
    ]
    assert all(each.new.success is not each.baseline.success for each in found)


@pytest.mark.browser
def test_scores_in_doubt_and_flags_have_their_own_list(
    scored_run: Runs, scored_result: Results, build: Builds, visit: Visits
) -> None:
    results = [
        scored_result("a", 1, 1.0, suspect=["login_lost"], flags=["gave_up"]),
        scored_result("b", 1, 0.0),
    ]
    page = visit().open(build(scored_run({"a": [1], "b": [0]}, results=results)))

    page.click(".doubts summary")
    assert "a #1 login lost" in page.inner_text(".doubts")
    page.click(".doubts a:text-is('gave up')")
    page.wait_for_selector("#shown:text-is('1 of 2 trials')")


def _click(element: str) -> dict[str, Any]:
    return {"kind": "click", "target": {"element": element}}


_RIGHT: list[dict[str, Any]] = [
    {"kind": "goto", "url": "http://shop.test/"},
    {"kind": "type", "text": "blue lamp", "target": {"x": 100, "y": 40}},
    _click("search"),
    _click("first result"),
    _click("add to cart"),
    _click("check out"),
    {"kind": "done", "answer": "17"},
]
# What the planted bug does to the right steps, and the step at which it happens.
BUGS: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "other_item": (4, [*_RIGHT[:3], _click("second result"), *_RIGHT[4:]]),
    "typo": (2, [_RIGHT[0], _RIGHT[1] | {"text": "blue lump"}, *_RIGHT[2:]]),
    "wrong_site": (1, [{"kind": "goto", "url": "http://shop.test/admin"}, *_RIGHT[1:]]),
    "twice": (6, [*_RIGHT[:5], _click("add to cart"), *_RIGHT[5:]]),
    "no_cart": (5, [*_RIGHT[:4], *_RIGHT[5:]]),
    "gave_up": (4, [*_RIGHT[:3], {"kind": "fail", "reason": "no lamps"}]),
    "wrong_answer": (7, [*_RIGHT[:6], {"kind": "done", "answer": "18"}]),
    "stuck": (3, [*_RIGHT[:2], *[{"kind": "scroll", "dx": 0, "dy": 500}] * 20]),
    "missed": (2, [_RIGHT[0], _RIGHT[1] | {"target": {"x": 700, "y": 500}}, *_RIGHT[2:]]),
    "early": (6, [*_RIGHT[:5], _RIGHT[6]]),
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, report_of_runs: Builds) -> Built:
    """Build the report of an agent with ten bugs, one in each of ten of its forty tasks, and of one without."""
    place = tmp_path_factory.mktemp("planted")
    runs = [_planted_run(place / name, bugs) for name, bugs in (("before", {}), ("after", BUGS))]
    return report_of_runs(runs, place / "report", formats=["html"])


def _planted_run(folder: Path, bugs: dict[str, tuple[int, list[dict[str, Any]]]]) -> Path:
    names = [*BUGS, *(f"task_{n}" for n in range(30))]
    tasks = [Task(benchmark="demo", task_id=name, goal=f"Order as in {name}.") for name in names]
    results = [
        TrialResult(benchmark="demo", task_id=name, agent=folder.name, status="completed", score=float(name not in bugs))
        for name in names
    ]  # fmt: skip
    make_run(folder, tasks=tasks, results=results, agent=folder.name)
    for name in names:
        actions = bugs[name][1] if name in bugs else _RIGHT
        steps = [Step(step=n, actions=(action,)) for n, action in enumerate(actions, 1)]
        trial = folder / "trials" / "1" / name
        trial.mkdir(parents=True, exist_ok=True)
        lines = "".join(step.model_dump_json() + "\n" for step in steps)
        (trial / "trajectory.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.mark.browser
@pytest.mark.parametrize("first", ["dialog", "link"])
def test_a_trial_opened_while_another_closes_is_shown(
    first: str, planted: Built, visit: Visits
) -> None:
    page = visit().open(planted)
    page.click("#failures .links a:text-is('typo')")
    page.wait_for_selector("dialog[open] .pair-list [aria-current]")

    # The browser tells of a closed dialog and of a followed link one after the other, in either order.
    page.evaluate(_CLOSE_AND_FOLLOW[first], "early")
    page.wait_for_selector("dialog[open] .pair-list [aria-current]")
    page.wait_for_selector("dialog[open] .dialog-bar:has-text('early')")
    assert "early" in page.evaluate("location.hash")


_CLOSE_AND_FOLLOW = {
    "dialog": """async (name) => {
        document.querySelector("dialog").close();
        [...document.querySelectorAll("#failures .links a")].find((each) => each.textContent === name).click();
        await new Promise((told) => setTimeout(told, 300));
    }""",
    "link": """async (name) => {
        const link = [...document.querySelectorAll("#failures .links a")].find((each) => each.textContent === name);
        history.replaceState(null, "", link.href);
        document.querySelector("dialog").close();
        dispatchEvent(new HashChangeEvent("hashchange"));
        await new Promise((told) => setTimeout(told, 300));
    }""",
}

MOST_INTERACTIONS = 4


@pytest.mark.browser
@pytest.mark.parametrize("hand", ["mouse", "keys"])
def test_a_planted_bug_is_seen_within_four_interactions(
    hand: str, planted: Built, visit: Visits
) -> None:
    page = visit().open(planted)
    needed = {}
    for name, (step, _) in BUGS.items():
        link = f"#failures .links a:text-is('{name}')"
        acts: list[Callable[[], Any]] = (
            [lambda link=link: page.click(link)]
            if hand == "mouse"
            else [lambda link=link: page.focus(link), lambda: page.keyboard.press("Enter")]
        )
        for act in acts:
            act()
        page.wait_for_selector(".side-by-side .pair-list [aria-current]")
        shown = page.inner_text(".pair-list [aria-current] td:first-child")
        other = page.inner_text(".pair-list [aria-current] td:last-child")
        assert str(step) in {shown.split()[0], other.split()[0]}, (name, shown, other)
        needed[name] = len(acts)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="hidden")

    assert len(needed) == 10
    assert max(needed.values()) <= MOST_INTERACTIONS
