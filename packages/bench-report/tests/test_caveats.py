from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import AgentCode, Attempt, LeftOut, Task
from bench_report.analysis.caveats import caveats
from bench_report.html_page.evidence import evidence_of
from bench_report.html_page.steps import StepReader
from bench_report.terminal import report_lines

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Builds, Built, Results, Runs


def text_of(built: Built, code: str) -> str:
    return next((each.text for each in built.report.caveats if each.code == code), "")


def change_info(folder: Path, **fields: Any) -> Path:
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info | fields))
    return folder


def test_a_built_in_world_is_labelled_in_every_format(run: Runs, build: Builds) -> None:
    built = build(run(world="built-in"))

    assert "proves plumbing, not agent quality" in text_of(built, "built_in_world")
    assert "Proves plumbing, not agent quality" in built.html
    assert "proves plumbing, not agent quality" in built.markdown
    assert "proves plumbing, not agent quality" in json.dumps(built.json)


def test_a_run_under_wine_is_labelled_as_one_that_is_not_on_windows(
    run: Runs, build: Builds
) -> None:
    built = build(run(world="wine"))
    for text in (text_of(built, "built_in_world"), built.html, built.markdown):
        assert "under Wine, which is not Windows" in text
    assert "real systems" not in text_of(built, "built_in_world")


def of_programs(scored_result: Results, digests: list[str | None]) -> list[Any]:
    return [
        scored_result(str(n), 1, 1.0, agent_code=digest and AgentCode(sha256=digest * 64))
        for n, digest in enumerate(digests)
    ]


def test_one_rate_over_two_programs_of_the_agent_is_marked_in_every_format(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = of_programs(scored_result, ["a", "a", "b"])
    folder = scored_run({str(n): [1] for n in range(3)}, results=results)
    built = build(folder, formats=("html", "md", "json", "latex", "csv", "junit"))

    (found,) = [each for each in built.report.caveats if each.code == "mixed_programs"]
    assert found.severity == "critical"
    assert "aaaaaaaaaaaa (2), bbbbbbbbbbbb (1)" in found.text
    assert "Mixed programs" in built.html
    assert "mixes 2 programs of the agent" in built.markdown.partition("## ")[0]
    assert "mixes 2 programs" in json.dumps(built.json)
    written = {
        each.name: each.read_text("utf-8", "replace")
        for each in built.folder.rglob("*")
        if each.is_file()
    }
    assert "mixes several programs of the agent" in written["report.tex"]
    assert "mixes 2 programs of the agent" in written["junit.xml"]
    assert "agent's program,aaaa" in written["counts.csv"]
    assert any("mixes 2 programs" in line for line in report_lines(built.report))


def test_results_of_one_program_and_those_without_a_digest_mix_nothing(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = of_programs(scored_result, ["a", None, "a"])
    built = build(scored_run({str(n): [1] for n in range(3)}, results=results))
    assert not text_of(built, "mixed_programs")


def test_a_real_world_is_not_labelled(run: Runs, build: Builds) -> None:
    built = build(run())

    assert not text_of(built, "built_in_world")
    assert "plumbing" not in built.html + built.markdown


def test_left_out_trials_bound_the_rate(scored_run: Runs, build: Builds) -> None:
    outcomes = {"a": [1], "b": [0], "c": [None], "d": [1]}

    assert text_of(build(scored_run(outcomes)), "excluded") == (
        "1 of 4 trials (25.0%) have no score and are left out. Had all of them failed, 50.0% of "
        "all trials would be successes; had all succeeded, 75.0%."
    )


def test_few_tasks_are_reported(scored_run: Runs, build: Builds) -> None:
    few = {f"t{n}": [1.0] for n in range(29)}
    enough = few | {"t29": [0.0]}

    assert "Only 29 tasks have a score" in text_of(build(scored_run(few)), "few_tasks")
    assert not text_of(build(scored_run(enough, name="enough"), name="enough"), "few_tasks")


@pytest.mark.parametrize(("more_clusters", "said"), [(1, 1), (0, 0)])
def test_notes_on_the_template_average_are_said_where_its_clusters_are_its_own(
    scored_run: Runs, build: Builds, more_clusters: int, said: int
) -> None:
    (run,) = build(scored_run({str(n): [n % 2] for n in range(40)}), formats=()).report.runs
    rate = run.summary.success
    assert rate.new_tasks is not None
    noted = rate.new_tasks.model_copy(update={"notes": ("few templates",)})
    macro = {"new_tasks": noted, "clusters": rate.clusters + more_clusters}
    summary = run.summary.model_copy(update={"macro_average": rate.model_copy(update=macro)})
    found = caveats([run.model_copy(update={"summary": summary})], ())
    assert [each.text for each in found].count("Few templates.") == said


def test_one_trial_per_task_is_reported(scored_run: Runs, build: Builds) -> None:
    assert "One trial per task" in text_of(build(scored_run({"a": [1], "b": [0]})), "one_trial")


def test_uneven_trials_are_reported(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": [1, 1], "b": [0, None]}))

    assert "between 1 and 2 scored trials" in text_of(built, "uneven_trials")


def test_partial_scores_are_reported_with_their_mean(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": [0.5], "b": [1]}))

    assert "the mean score is 75.0%" in text_of(built, "partial_scores")


def test_retries_are_reported(scored_run: Runs, build: Builds, scored_result: Results) -> None:
    attempts = [
        Attempt(number=n, status=s, started="2026-01-01T00:00:00Z", duration_s=1)
        for n, s in ((1, "environment_error"), (2, "completed"))
    ]
    results = [scored_result("a", 1, 1.0, attempts=attempts)]

    built = build(scored_run({"a": [1]}, results=results))

    assert "1 trial needed more than one attempt" in text_of(built, "retries")


def test_tasks_without_any_score_are_reported(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": [1, 0], "b": [None, None], "c": [None, 1]}))

    (found,) = [each for each in built.report.caveats if each.code == "unscored_tasks"]
    assert found.text.startswith("1 task ended without a score")


def test_flags_are_reported(scored_run: Runs, scored_result: Results, build: Builds) -> None:
    results = [scored_result(task, 1, 1.0, flags=["disagree"]) for task in "ab"]
    built = build(scored_run({"a": [1], "b": [1]}, results=results))

    (found,) = [each for each in built.report.caveats if each.code == "flags"]
    assert "disagree (2)" in found.text


def test_suspects_are_reported_in_every_format_with_the_rate_without_them(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = [
        scored_result("a", 1, 0.0, suspect=["site_error"], failure_mode="site_error"),
        scored_result("b", 1, 1.0),
    ]
    built = build(scored_run({"a": [0], "b": [1]}, results=results))
    run = built.report.runs[0]
    assert (run.summary.success.estimate, run.summary.suspects) == (0.5, {"site_error": 1})
    assert run.summary.without_suspects is not None
    assert run.summary.without_suspects.estimate == 1.0
    assert "Without them the rate is 100%" in text_of(built, "suspects")
    assert "site error (1)" in text_of(built, "suspects")
    for text in (built.markdown, built.html):
        assert "Without suspects" in text


def test_a_run_without_suspects_does_not_speak_of_them(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    built = build(scored_run({"a": [1]}, results=[scored_result("a", 1, 1.0)]))
    assert built.report.runs[0].summary.without_suspects is None
    assert [each for each in built.report.caveats if each.code == "suspects"] == []


def test_evaluation_errors_are_reported(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    results = [scored_result("a", 1, None, status="evaluation_error")]

    built = build(scored_run({"a": [None]}, results=results))

    assert "In 1 trial the evaluator could not decide" in text_of(built, "evaluation_errors")


def test_several_reported_models_are_reported(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    results = [scored_result(t, 1, 1.0, model_reported=f"gpt-{t}") for t in ("a", "b")]

    built = build(scored_run({"a": [1], "b": [1]}, results=results))

    assert "gpt-a, gpt-b" in text_of(built, "several_models")


def test_unknown_costs_are_reported(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    results = [scored_result("a", 1, 1.0, cost_usd=1.0), scored_result("b", 1, 1.0)]

    run = scored_run({"a": [1], "b": [1]}, results=results)
    built = build(run, formats=["html", "md", "json", "latex"])

    assert "The cost of 1 trial is unknown" in text_of(built, "cost_incomplete")
    (found,) = (each.cost for each in built.report.runs)
    assert (found.mean, found.low, found.high, found.known, found.trials) == (1.0, None, None, 1, 2)
    for text in (built.html, built.markdown):
        assert "1 of 2 trials (50.0%)" in text
        assert "of one task or template" in text


SESSIONS = {
    "versions_changed": ({"versions": {"x": "1"}}, {"versions": {"x": "2"}}),
    "hosts_changed": ({"host": "one"}, {"host": "two"}),
}


@pytest.mark.parametrize(("code", "fields"), SESSIONS.items(), ids=SESSIONS)
def test_sessions_that_differ_are_reported(
    code: str, fields: tuple[dict[str, Any], ...], run: Runs, build: Builds
) -> None:
    sessions = [
        {"started": "2026-01-01T00:00:00Z", "outcome": "finished", **each} for each in fields
    ]

    assert text_of(build(change_info(run(), sessions=sessions)), code)


def test_uncommitted_changes_are_reported(run: Runs, build: Builds) -> None:
    git = {"commit": "0" * 40, "dirty": True}

    assert text_of(build(change_info(run(), git=git)), "uncommitted")


def test_the_most_serious_caveat_comes_first(run: Runs, build: Builds) -> None:
    order = [each.severity for each in build(run(world="built-in")).report.caveats]

    assert order == sorted(order, key=["critical", "warning", "info"].index)


def test_results_that_were_replaced_are_counted(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = [scored_result("a", 1, 0.0), scored_result("a", 1, 1.0), scored_result("b", 1, 1.0)]
    built = build(scored_run({"a": [1], "b": [1]}, results=results))

    assert built.report.runs[0].superseded == 1
    assert text_of(built, "superseded").startswith("1 result was replaced by a later one")


def ended(scored_result: Results, *ways: dict[str, Any]) -> list[Any]:
    return [scored_result(str(n), 1, way.pop("score", 0.0), **way) for n, way in enumerate(ways)]


MALFORMED = {"steps": 9, "failure_mode": "malformed_answer"}
UNFIT = {"steps": 4, "failure_mode": "wrong_answer", "flags": ("malformed_ending",)}
IDLE = {"steps": 1, "failure_mode": "unclassified"}
WRONG = {"steps": 9, "failure_mode": "wrong_answer"}
QUICK = {"steps": 1, "score": 1.0}


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        ([MALFORMED, UNFIT, WRONG], "Of 3 scored trials, 2 ended in an answer of another form"),
        (
            [IDLE, IDLE, MALFORMED, WRONG],
            "2 ended at the first step or before it and 1 ended in an answer",
        ),
        ([IDLE, IDLE, WRONG, WRONG], None),
        ([QUICK, QUICK, QUICK, IDLE], None),
        ([MALFORMED, MALFORMED], None),
    ],
    ids=["malformed", "both", "half", "solved at once", "too few"],
)
def test_a_run_whose_agent_perhaps_did_not_receive_its_task_says_so_first(
    scored_run: Runs, scored_result: Results, build: Builds, ways: list[Any], words: str | None
) -> None:
    results = ended(scored_result, *(dict(each) for each in ways))
    built = build(scored_run({str(n): [1] for n in range(len(ways))}, results=results))

    shown = text_of(built, "task_not_received")
    assert bool(shown) == (words is not None)
    if words is not None:
        assert words in shown
        assert "may not have received its task" in shown
        assert 'class="banner not-received"' in built.html
        assert shown in built.markdown.partition("## ")[0].replace("\\", "")
        assert any(shown in line for line in report_lines(built.report))


@pytest.mark.parametrize(
    ("files", "told", "shown"),
    [
        (1, "1 file that agents left in 1 trial is not kept", "Not kept: 1 file, a/b (is a link)."),
        (3, "3 files that agents left in 1 trial are not kept", "Not kept: 3 files, such as a/b (is a link)."),
    ],
)  # fmt: skip
def test_files_that_are_not_kept_are_told_in_every_format_and_with_their_trial(
    files: int, told: str, shown: str, scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    left_out = (LeftOut(why="is a link", first="a/b", files=files),)
    results = [scored_result("0", 1, 1.0, left_out=left_out), scored_result("1", 1, 1.0)]
    built = build(scored_run({"0": [1], "1": [1]}, results=results), formats=("html", "md", "json"))

    assert told in text_of(built, "files_left_out")
    assert told in built.html
    assert told in built.markdown
    assert any(told in line for line in report_lines(built.report))
    assert [row["left_out"] for row in built.json["runs"][0]["trials"]] == [files, 0]
    assert [evidence_of(each, None, StepReader(lambda *_: "")).get("note") for each in results] == [
        shown,
        None,
    ]


def test_passes_that_a_checker_may_have_given_wrongly_are_told_in_every_format(
    run: Runs, scored_result: Results, build: Builds
) -> None:
    accepts = {
        "a": ("also-deleted",),
        "b": ("also-deleted", "nothing-done"),
        "c": ("also-deleted",),
        "d": (),
        "e": None,
    }
    watched = {"unneeded_acts": [], "watched_for": ["also-deleted"]}
    acts = {**watched, "unneeded_acts": ["deleted: POST http://shop/x"]}
    results = [
        scored_result("a", 1, 1.0, details=acts),
        scored_result("b", 1, 1.0, details=watched),
        scored_result("c", 1, 0.0, details=acts),
        scored_result("d", 1, 1.0, details=watched),
        scored_result("e", 1, 1.0),
    ]
    tasks = [
        Task(benchmark="demo", task_id=name, goal="Do it.", accepts=each)
        for name, each in accepts.items()
    ]
    built = build(run(tasks=tasks, results=results), formats=("html", "md", "json"))
    found = built.report.runs[0].checkers
    assert (found.solved, found.shown, found.possible, found.unknown) == (4, 1, 1, 1)
    assert found.operators == {"nothing-done": 1}
    assert [(each.task_id, each.acts, each.accepts) for each in found.listed] == [
        ("a", ("deleted: POST http://shop/x",), ()),
        ("b", (), ("nothing-done",)),
    ]
    text = text_of(built, "checkers")
    assert text.startswith("Of 4 solved trials, 1 has an act that no right solution needs")
    assert "Counted as failures, the rate is 60.0% and 40.0%, not 80.0%" in text
    assert "No one has looked at the checkers of 1." in text
    assert built.report.runs[0].summary.success.estimate == 0.8
    assert text in built.html
    assert any(text in line for line in report_lines(built.report))
    assert text in built.markdown.replace("\\", "")
    assert "deleted: POST" in built.markdown
    assert "Doubted passes as failures" in built.markdown
    assert "its checker accepts nothing-done" in built.html
    kept = built.json["runs"][0]["checkers"]
    assert kept["all_as_failures"]["interval"]["estimate"] == 0.4


def test_without_an_audit_or_a_watched_act_nothing_is_said_of_checkers(
    run: Runs, build: Builds
) -> None:
    built = build(run())
    assert built.report.runs[0].checkers is None
    assert text_of(built, "checkers") == ""


def test_an_act_that_no_right_solution_needs_is_told_without_an_audit(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    acts = {"unneeded_acts": ["sent 2 times: POST x"]}
    results = [scored_result("a", 1, 1.0, details=acts), scored_result("b", 1, 1.0)]
    built = build(scored_run({"a": [1], "b": [1]}, results=results))
    assert "Counted as failures, the rate is 50.0%, not 100%" in text_of(built, "checkers")
