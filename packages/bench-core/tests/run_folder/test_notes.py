"""Notes of people: none that was acknowledged is lost, and none changes the run."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bench_core.errors import InputError, RefusedFileError
from bench_core.records import Note, current_notes
from bench_core.run_folder import add_notes, check_run, read_info, read_notes, seal_of
from bench_core.run_folder.maintenance import repair_run
from bench_core.testing import make_run

NOON = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
WRITER = Path(__file__).parent / "note_writer.py"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", tasks=4, artifacts=False)


def note(run: Path, **fields: Any) -> Note:
    first = {"run_id": read_info(run).run_id, "at": NOON, "by": "ana", "trial": 1}
    task = (run / "tasks.jsonl").read_text().partition('"task_id":"')[2].partition('"')[0]
    return Note(**(first | {"task_id": task} | fields))


def test_the_last_note_of_a_place_holds_and_is_taken_back(run: Path) -> None:
    made = note(run, label="harness fault")
    later = NOON + timedelta(minutes=1)
    again = note(run, label="harness fault", text="the page was down", at=later)
    other = note(run, label="harness fault", by="ben")
    assert current_notes([again, made, other]) == [again, other]
    gone = again.model_copy(update={"removed": True, "at": later + timedelta(minutes=1)})
    assert current_notes([gone, again, made]) == []


def test_notes_change_neither_seal_nor_results_and_a_check_knows_them(run: Path) -> None:
    before = seal_of(run), (run / "results.jsonl").read_bytes()
    assert add_notes(run, [note(run, label="x"), note(run, text="y\n\u2028 </script>")]) == 2
    assert [each.text for each in read_notes(run).records] == ["", "y\n\u2028 </script>"]
    assert before == (seal_of(run), (run / "results.jsonl").read_bytes())
    assert not check_run(run).problems
    add_notes(run, [note(run, task_id="no such task", label="x")])
    (problem,) = check_run(run).problems
    assert "1 notes on tasks that this run does not have" in problem


def test_a_changed_line_is_found_and_set_aside(run: Path) -> None:
    add_notes(run, [note(run, label="x"), note(run, label="y")])
    file = run / "notes.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"x"', b'"z"'))
    assert any("notes.jsonl, line 1 is damaged" in each for each in check_run(run).problems)
    repair_run(run)
    assert [each.label for each in read_notes(run).records] == ["y"]
    assert not check_run(run).problems


def test_what_a_killed_writer_left_of_a_line_is_set_aside(run: Path) -> None:
    add_notes(run, [note(run, label="x")])
    with (run / "notes.jsonl").open("ab") as file:
        file.write(b'{"schema_version":1,"run_')
    assert read_notes(run).bad[0].torn
    add_notes(run, [note(run, label="y")])
    found = read_notes(run)
    assert [each.label for each in found.records] == ["x", "y"]
    assert not found.bad


def test_once_adds_what_is_not_there(run: Path) -> None:
    first, second = note(run, label="x"), note(run, label="y")
    add_notes(run, [first])
    assert add_notes(run, [*read_notes(run).records, second], once=True) == 1
    assert add_notes(run, [first, second], once=True) == 0


def test_a_note_of_another_run_and_a_link_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of the run 'other'"):
        add_notes(run, [note(run, run_id="other", label="x")])
    (tmp_path / "private").write_text("")
    (run / "notes.jsonl").symlink_to(tmp_path / "private")
    with pytest.raises(RefusedFileError):
        add_notes(run, [note(run, label="x")])
    assert not (tmp_path / "private").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_two_writers_that_are_killed_lose_nothing_they_acknowledged(run: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, WRITER, run, by, "100000"], stdout=subprocess.PIPE, text=True
        )
        for by in ("ana", "ben")
    ]
    said = []
    for number, each in enumerate(writers):
        said.append([each.stdout.readline() for _ in range(5 + 6 * number)])
        each.kill()
        said[-1] += each.communicate()[0].splitlines()
    add_notes(run, [note(run, label="after")])
    found = read_notes(run)
    assert not found.bad
    for by, lines in zip(("ana", "ben"), said, strict=True):
        steps = [each.step for each in found.records if each.by == by and each.step is not None]
        assert steps[: len(lines)] == list(range(len(lines)))
        assert len(steps) - len(lines) in {0, 1}  # killed between the disk and its word
