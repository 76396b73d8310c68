"""Run folders that were cut, changed or written by a newer bench-core."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planned_runs import NOW, TASKS

from bench_core.errors import RunFolderError, SchemaVersionError
from bench_core.records import Event, Status, TrialResult
from bench_core.run_folder import RunFolder, read_lines, read_run
from bench_core.testing import make_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


CUTS = int(os.environ.get("RESULT_FILE_CUTS", "30"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "run"
    return make_run(path, tasks=TASKS, statuses={Status.COMPLETED: 1.0}, artifacts=False)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=CUTS
)
@given(data=st.data())
def test_cutting_the_file_at_any_byte_loses_at_most_the_line_cut(
    whole: Path,
    tmp_path_factory: pytest.TempPathFactory,
    as_given: Callable[[TrialResult], TrialResult],
    data: st.DataObject,
) -> None:
    content = (whole / "results.jsonl").read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path = tmp_path_factory.mktemp("cut")
    for name in ("run.json", "tasks.jsonl"):
        (path / name).write_bytes((whole / name).read_bytes())
    (path / "results.jsonl").write_bytes(content[:cut])
    # a record is complete with its last brace, the line feed adds nothing
    complete = content[:cut].count(b"\n") + (content[cut : cut + 1] == b"\n")
    expected = dict(list(read_run(whole).results.items())[:complete])
    assert read_run(path).results == expected
    with RunFolder.resume(path) as run:
        assert run.results() == expected
        for result in read_run(whole).results.values():
            if result.key in run.remaining():
                run.append(result)
        assert [as_given(each) for each in run.results().values()] == [
            as_given(each) for each in read_run(whole).latest
        ]
    torn = [each.read_bytes() for each in path.glob("results.jsonl.torn-*")]
    lines = content[:cut].split(b"\n")
    assert torn == ([lines[-1]] if lines[-1] and complete == len(lines) - 1 else [])


def test_a_record_whose_line_feed_was_cut_off_stays_whole_when_another_follows(
    whole: Path, run_path: Path
) -> None:
    content = (whole / "results.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    (run_path / "results.jsonl").write_bytes(b"".join(lines[:2]).rstrip(b"\n"))
    with RunFolder.resume(run_path) as run:
        for result in read_run(whole).latest[2:]:
            run.append(result)
    assert (run_path / "results.jsonl").read_bytes().count(b"\n") == len(lines)
    assert read_run(run_path).results == read_run(whole).results


def test_a_torn_line_is_told_and_kept(run_path: Path) -> None:
    with (run_path / "results.jsonl").open("ab") as file:
        file.write(b'{"schema_version":1,"benchm')
    view = read_run(run_path)
    assert len(view.results) == 4
    assert [(each.file, each.line) for each in view.problems] == [("results.jsonl", 5)]
    RunFolder.resume(run_path).close()
    assert (run_path / "results.jsonl.torn-1").read_bytes() == b'{"schema_version":1,"benchm'
    view = read_run(run_path)
    assert [(each.file, each.line) for each in view.problems] == [("results.jsonl.torn-1", None)]
    assert view.events[-1].kind == "set_aside"
    assert view.events[-1].data["moved_to"] == "results.jsonl.torn-1"


def test_zeros_that_a_power_loss_leaves_are_torn(run_path: Path) -> None:
    with (run_path / "results.jsonl").open("ab") as file:
        file.write(b"\0" * 4096)
    with RunFolder.resume(run_path) as run:
        assert len(run.results()) == 4


def test_a_torn_event_is_set_aside_too(run_path: Path) -> None:
    with (run_path / "events.jsonl").open("ab") as file:
        file.write(b'{"time":')
    RunFolder.resume(run_path).close()
    assert [each.kind for each in read_run(run_path).events] == ["started", "set_aside"]


def damage(path: Path, number: int, line: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = line
    path.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize("opener", [read_run, RunFolder.resume])
@pytest.mark.parametrize("line", [b"\0\0\0", b'{"schema_version":1}', b"[]", b'{"a":'])
def test_damage_in_the_middle_is_an_error_with_file_line_and_way_out(
    run_path: Path, opener: Callable[[Path], object], line: bytes
) -> None:
    damage(run_path / "results.jsonl", 2, line)
    with pytest.raises(RunFolderError) as refusal:
        opener(run_path)
    assert f"{run_path / 'results.jsonl'}, line 2 is damaged" in str(refusal.value)
    assert f"`bench-core repair {run_path}`" in str(refusal.value)


@pytest.mark.parametrize(("lines", "more"), [([2], ""), ([1, 2], " (and 1 more)")])
def test_of_several_damaged_lines_the_first_is_shown_and_how_many_follow(
    run_path: Path, lines: list[int], more: str
) -> None:
    for number in lines:
        damage(run_path / "results.jsonl", number, b"[]")
    with pytest.raises(RunFolderError) as refusal:
        read_run(run_path)
    shown, _, _ = str(refusal.value).partition("; restore the file")
    assert f"line {lines[0]} is damaged" in shown
    assert shown.endswith(more)
    assert ("more)" in shown) is bool(more)


def test_a_result_that_was_changed_while_the_run_went_on_is_refused_at_its_end(
    run_path: Path,
) -> None:
    with RunFolder.resume(run_path) as folder:
        folder.verify()
        results = run_path / "results.jsonl"
        results.write_bytes(results.read_bytes().replace(b'"score":1.0', b'"score":0.5', 1))
        with pytest.raises(RunFolderError, match=r"results\.jsonl, line 1 is damaged"):
            folder.verify()


def test_results_that_are_read_share_the_names_of_their_fields(run_path: Path) -> None:
    first, second, *_ = read_lines(run_path / "results.jsonl", TrialResult).records
    assert first.model_fields_set is second.model_fields_set
    assert first.usage.model_fields_set is second.usage.model_fields_set
    assert first.model_fields_set is not first.usage.model_fields_set


def test_damaged_events_stop_nobody(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        run.event(Event(time=NOW, kind="second"))
    damage(run_path / "events.jsonl", 1, b"{}")
    view = read_run(run_path)
    assert [each.kind for each in view.events] == ["second"]
    assert [(each.file, each.line) for each in view.problems] == [("events.jsonl", 1)]


def test_damaged_tasks_are_an_error(run_path: Path) -> None:
    damage(run_path / "tasks.jsonl", 1, b"{")
    with pytest.raises(RunFolderError, match=r"tasks\.jsonl, line 1 is damaged"):
        read_run(run_path)


def test_a_damaged_run_json_is_an_error(run_path: Path) -> None:
    (run_path / "run.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"run\.json is not JSON"):
        read_run(run_path)


def test_a_run_of_a_newer_bench_core_says_which_one_reads_it(run_path: Path) -> None:
    run = json.loads((run_path / "run.json").read_text())
    run["versions"]["bench-core"] = "0.7.0"
    (run_path / "run.json").write_text(json.dumps(run))
    damage(run_path / "results.jsonl", 2, b'{"schema_version":3,"planet":"Mars"}')
    with pytest.raises(SchemaVersionError, match=r"use bench-core 0\.7\.0 or newer"):
        read_run(run_path)


def test_a_newer_run_json_says_which_bench_core_reads_it(run_path: Path) -> None:
    run = json.loads((run_path / "run.json").read_text())
    run |= {"schema_version": 3, "planet": "Mars", "versions": {"bench-core": "0.7.0"}}
    del run["checksum"]  # how it makes its own is not known
    (run_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(SchemaVersionError, match=r"use bench-core 0\.7\.0 or newer"):
        read_run(run_path)


def test_blank_lines_are_no_damage(run_path: Path) -> None:
    content = (run_path / "results.jsonl").read_bytes()
    (run_path / "results.jsonl").write_bytes(content.replace(b"\n", b"\n\n") + b" \n")
    assert len(read_run(run_path).results) == 4


def test_reading_changes_nothing(run_path: Path) -> None:
    with (run_path / "results.jsonl").open("ab") as file:
        file.write(b"torn")
    before = {path: path.read_bytes() for path in run_path.rglob("*") if path.is_file()}
    view = read_run(run_path)
    assert view.problems
    assert {path: path.read_bytes() for path in run_path.rglob("*") if path.is_file()} == before
