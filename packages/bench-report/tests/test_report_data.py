from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from bench_core.errors import InputError, RunFolderError, SchemaVersionError
from bench_core.records import AgentCode, Record
from bench_core.run_folder import schema_text
from bench_core.testing import make_tasks
from bench_report import IncomparableRunsError, Report, read_runs, report_of
from bench_report.run_data.sources import told_apart
from bench_report.study_model import StudyReport

if TYPE_CHECKING:
    from conftest import Builds, Built, Results, Runs


SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schemas"


def codes(built: Built) -> set[str]:
    return {caveat.code for caveat in built.report.caveats}


def test_the_report_fits_its_published_schema(run: Runs, build: Builds) -> None:
    built = build(run("a", trials=2), run("b", trials=2, seed=1))

    jsonschema.validate(built.json, json.loads(schema_text(Report)))


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the documentation is not part of this checkout")
@pytest.mark.parametrize(
    ("name", "record", "command"),
    [("report", Report, "schema"), ("study-report", StudyReport, "schema study")],
)
def test_the_published_schema_is_that_of_the_record(
    name: str, record: type[Record], command: str
) -> None:
    assert (SCHEMAS / f"{name}.json").read_text("utf-8") == schema_text(record), (
        f"write it again: bench-report {command} > docs/schemas/{name}.json"
    )


def test_the_report_survives_a_round_trip(run: Runs, build: Builds) -> None:
    built = build(run(trials=2))

    assert Report.model_validate(built.json) == built.report


def test_rates_count_every_task_the_same(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": [1, 1, 1], "b": [0], "c": [1, 0]}))

    rate = built.report.runs[0].summary.success
    assert (rate.estimate, rate.tasks, rate.trials) == (0.5, 3, 6)


def test_a_run_without_results_says_so(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": []}))

    assert "no_results" in codes(built)
    assert built.report.runs[0].summary.success.estimate is None
    assert "There is no rate to report" in built.html
    assert "The run has no results yet" in built.markdown


def test_a_run_without_tasks_can_be_reported(run: Runs, build: Builds) -> None:
    assert build(run(tasks=0)).report.tasks == ()


def test_a_run_that_is_being_written_is_read_as_far_as_it_is(run: Runs, build: Builds) -> None:
    folder = run(tasks=4)
    info = json.loads((folder / "run.json").read_text())
    info["sessions"][-1] |= {"outcome": "running", "finished": None}
    (folder / "run.json").write_text(json.dumps(info))
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "results.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:40])

    built = build(folder)

    assert built.report.runs[0].state == "running"
    assert built.report.runs[0].summary.coverage.results == 3
    assert {"unfinished", "damaged"} <= codes(built)
    assert "is still being written: 3 of 4 trials" in built.html


def test_trials_come_in_the_order_of_the_tasks(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    results = [scored_result("b", 1, 1.0), scored_result("a", 2, 0.0), scored_result("a", 1, 1.0)]
    built = build(scored_run({"a": [1, 0], "b": [1]}, results=results))

    rows = [(row.task_id, row.trial) for row in built.report.runs[0].trials]
    assert rows == [("a", 1), ("a", 2), ("b", 1)]


def test_the_last_result_of_a_trial_counts(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    results = [scored_result("a", 1, None), scored_result("a", 1, 1.0)]
    built = build(scored_run({"a": [1]}, results=results))

    assert built.report.runs[0].summary.success.estimate == 1.0


def test_runs_of_one_agent_and_model_get_unique_labels(run: Runs, build: Builds) -> None:
    labels = [each.label for each in build(run("a", seed=1), run("b", seed=2)).report.runs]

    assert labels == ["scripted · openai:gpt-5.2 (a)", "scripted · openai:gpt-5.2 (b)"]


@pytest.mark.parametrize(
    ("codes", "folders", "told"),
    [
        ("a:Mine b:Mine", "x x", "mine (a:Mine)|mine (b:Mine)"),
        ("a:Mine a:Mine", "x y", "mine (x)|mine (y)"),
        ("a:Mine a:Mine", "x x", "mine #1|mine #2"),
        ("a:Mine=1 a:Mine=2", "x y", "mine (program 11111111, x)|mine (program 22222222, y)"),
        ("a:Mine=1 b:Mine=2", "x y", "mine (a:Mine, x)|mine (b:Mine, y)"),
        ("a:Mine -", "x x", "mine (a:Mine)|mine"),
    ],
)
def test_agents_of_one_name_that_are_two_programs_do_not_look_like_one(
    run: Runs, codes: str, folders: str, told: str
) -> None:
    (source,) = read_runs([run("a")])
    infos = []
    for each in codes.split():
        place, _, digit = each.partition("=")
        code = None if place == "-" else AgentCode(place=place, sha256=digit * 64 or None)
        infos.append(source.info.model_copy(update={"agent_code": code}))

    assert told_apart(["mine", "mine"], infos, folders.split()) == told.split("|")


def test_runs_of_several_benchmarks_are_named_after_theirs(run: Runs, build: Builds) -> None:
    first, second = run("a", model=None), run("b", benchmark="other", model=None)
    labels = [each.label for each in build(first, second, mix=True).report.runs]

    assert labels == ["demo · scripted", "other · scripted"]


def test_a_folder_given_twice_is_refused(run: Runs, build: Builds) -> None:
    folder = run()

    with pytest.raises(InputError, match="given twice"):
        build(folder, folder / ".." / folder.name)


def test_no_folder_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        read_runs([])


def test_a_missing_folder_is_named(tmp_path: Path, build: Builds) -> None:
    with pytest.raises(RunFolderError, match="nowhere is not a run folder"):
        build(tmp_path / "nowhere")


def test_damaged_results_are_refused_with_their_line(run: Runs, build: Builds) -> None:
    folder = run(tasks=3)
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "results.jsonl").write_bytes(lines[0] + b"{damaged\n" + lines[2])

    with pytest.raises(RunFolderError, match="line 2 is damaged"):
        build(folder)


def test_a_newer_schema_is_refused(run: Runs, build: Builds) -> None:
    folder = run()
    info = json.loads((folder / "run.json").read_text())
    del info["checksum"]  # how the newer one makes its own is not known
    (folder / "run.json").write_text(json.dumps(info | {"schema_version": 99}))

    with pytest.raises(SchemaVersionError, match="schema version 99"):
        build(folder)


def test_an_unknown_format_is_refused(run: Runs, build: Builds) -> None:
    with pytest.raises(InputError, match="unknown format 'pdf'"):
        build(run(), formats=["pdf"])


def test_a_report_that_cannot_be_written_is_an_input_error(
    run: Runs, tmp_path: Path, build: Builds
) -> None:
    (tmp_path / "report").write_text("in the way")

    with pytest.raises(InputError, match="cannot write the report"):
        build(run())


def test_only_the_formats_asked_for_are_written(run: Runs, build: Builds) -> None:
    folder = build(run(), formats=["md"]).folder

    assert [each.name for each in folder.iterdir()] == ["report.md"]


def test_the_same_runs_give_the_same_report(run: Runs, tmp_path: Path) -> None:
    runs = read_runs([run(trials=2)])
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)

    assert report_of(runs, out=tmp_path, now=now) == report_of(runs, out=tmp_path, now=now)


def test_errors_can_count_as_failures(scored_run: Runs, build: Builds) -> None:
    folder = scored_run({"a": [1], "b": [None]})

    usual, strict = build(folder), build(folder, name="strict", count_errors_as_failures=True)

    assert usual.report.runs[0].summary.success.estimate == 1.0
    assert strict.report.runs[0].summary.success.estimate == 0.5
    assert "Strict success rate" in strict.html
    assert "Strict success rate" in strict.markdown


MISMATCHES: dict[str, tuple[dict[str, Any], str]] = {
    "another task set": ({"tasks": make_tasks(4, per_template=1)}, "task set"),
    "no task in common": ({"tasks": make_tasks(900)[880:]}, "task set"),
    "another world": ({"world": "built-in"}, "world"),
}


@pytest.mark.parametrize(("settings", "aspect"), MISMATCHES.values(), ids=MISMATCHES)
def test_runs_that_cannot_be_compared_are_refused(
    settings: dict[str, Any], aspect: str, run: Runs, build: Builds
) -> None:
    with pytest.raises(IncomparableRunsError, match=rf"{aspect}: [\s\S]*--mix") as caught:
        build(run("a"), run("b", **settings))

    assert aspect in [each.aspect for each in caught.value.mismatches]


def test_parts_of_one_task_set_are_compared_on_what_they_share(run: Runs, build: Builds) -> None:
    tasks = make_tasks(30)
    built = build(run("a", tasks=tasks[:20], trials=2), run("b", tasks=tasks[5:], trials=2, seed=3))

    (found,) = built.report.comparison.differences
    assert 10 < found.shared_tasks <= 15
    assert [run.summary.coverage.tasks for run in built.report.runs] == [20, 25]
    (told,) = [each for each in built.report.caveats if each.code == "task_subsets"]
    assert "15 are in all of them" in told.text
    assert "different tasks of one task set" in built.html
    assert "different tasks of one task set" in built.markdown


def test_runs_of_one_agent_are_told_to_use_more_trials(run: Runs, build: Builds) -> None:
    first, again, other = run("a"), run("b"), run("c", agent="other")
    told = [
        [each.text for each in build(*runs).report.caveats if each.code == "same_agent"]
        for runs in ((first, again), (first, other), (first,))
    ]

    assert [len(each) for each in told] == [1, 0, 0]
    assert (
        "(b) are runs of the same agent, model, settings and tasks: runs are not pooled"
        in told[0][0]
    )
    assert "use -k" in told[0][0]


def test_another_version_of_the_evaluator_is_refused(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    newer = [scored_result("a", 1, 1.0, method="exact match 2.0")]

    with pytest.raises(IncomparableRunsError, match="version of exact match"):
        build(scored_run({"a": [1]}), scored_run({"a": [1]}, name="newer", results=newer))


def test_another_evaluator_is_refused(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    judged = [scored_result("a", 1, 1.0, method="llm-judge")]

    with pytest.raises(IncomparableRunsError, match="evaluator"):
        build(scored_run({"a": [1]}), scored_run({"a": [1]}, name="judged", results=judged))


def test_a_run_may_use_one_evaluator_more(
    scored_run: Runs, build: Builds, scored_result: Results
) -> None:
    both = [scored_result("a", 1, 1.0), scored_result("b", 1, 1.0, method="llm-judge 1.0")]
    first = scored_run({"a": [1], "b": [1]})

    assert build(first, scored_run({"a": [1], "b": [1]}, name="both", results=both)).report.runs


def test_mixed_runs_are_labelled_in_every_format(run: Runs, build: Builds) -> None:
    built = build(run("a"), run("b", tasks=5), mix=True)

    assert [each.aspect for each in built.report.mismatches] == ["task set"]
    assert "mixed" in codes(built)
    assert "Mixed runs" in built.html
    assert "These runs differ in: task set" in built.markdown
    assert "These runs differ in: task set" in str(built.json["caveats"])
