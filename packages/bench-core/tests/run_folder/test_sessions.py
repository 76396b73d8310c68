"""Processes that write a run folder: one at a time, and each is a session."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError, RunFolderBusyError, RunFolderError
from bench_core.run_folder import RunFolder, read_run

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import RunInfo, Task, TrialResult


def test_every_process_that_worked_on_a_run_is_a_session(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        assert [each.outcome for each in run.info.sessions] == ["interrupted", "running"]
    first, second = read_run(run_path).info.sessions
    assert (first.pid, second.outcome) == (os.getpid(), "interrupted")
    assert second.versions["bench-core"]


def test_a_session_that_was_killed_counts_as_aborted(run_path: Path) -> None:
    RunFolder.resume(run_path).close()
    assert read_run(run_path).info.sessions[-1].outcome == "running"
    with RunFolder.resume(run_path) as run:
        assert [each.outcome for each in run.info.sessions][-2:] == ["aborted", "running"]


def test_a_run_with_all_results_ends_finished(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...], completed: list[TrialResult]
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        for result in completed:
            run.append(result)
    info = read_run(tmp_path).info
    assert info.sessions[-1].outcome == "finished"
    assert info.finished == info.sessions[-1].finished


def test_a_run_that_lacks_results_is_not_finished(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        run.finish("finished")  # all that this session was to do is done
    info = read_run(run_path).info
    assert (info.sessions[-1].outcome, info.finished) == ("finished", None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (KeyboardInterrupt, "interrupted"),
        (asyncio.CancelledError, "interrupted"),
        (ValueError, "aborted"),
    ],
)
def test_the_way_a_session_ended_is_recorded(
    run_path: Path, error: type[BaseException], outcome: str
) -> None:
    with pytest.raises(error), RunFolder.resume(run_path):
        raise error
    info = read_run(run_path).info
    assert (info.sessions[-1].outcome, info.finished) == (outcome, None)


def test_the_scheduler_can_say_how_it_ended(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run:
        run.finish("budget_exceeded")
        run.finish("finished")  # closed already: the first word counts
    assert read_run(run_path).info.sessions[-1].outcome == "budget_exceeded"


def test_an_unknown_outcome_is_refused(run_path: Path) -> None:
    with RunFolder.resume(run_path) as run, pytest.raises(InputError, match="unknown outcome"):
        run.finish("tired")


# one writer


def test_a_second_writer_is_refused_with_who_holds_the_folder(run_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bench_core.run_folder.folder import RunFolder\n"
        "RunFolder.resume(Path(sys.argv[1]))"
    )
    with RunFolder.resume(run_path):
        done = subprocess.run(
            [sys.executable, "-c", code, str(run_path)], capture_output=True, text=True, check=False
        )
        assert f"is being written by process {os.getpid()} on " in done.stderr
        assert "RunFolderBusyError" in done.stderr
        with pytest.raises(RunFolderBusyError):
            RunFolder.resume(run_path)
    with RunFolder.resume(run_path) as run:
        assert run.remaining()


def test_a_refused_start_leaves_the_folder_free(run_path: Path) -> None:
    (run_path / "results.jsonl").write_bytes(b"not a record\n{}\n")
    with pytest.raises(RunFolderError):
        RunFolder.resume(run_path)
    (run_path / "results.jsonl").write_bytes(b"")
    with RunFolder.resume(run_path) as run:
        assert len(run.remaining()) == 6


@pytest.mark.parametrize("changed", ["results.jsonl", "events.jsonl", "tasks.jsonl", "run.json"])
def test_what_was_read_before_the_lock_is_read_again_once_a_file_has_changed(
    run_path: Path, changed: str
) -> None:
    known = read_run(run_path)
    assert known.is_current()
    file = run_path / changed
    text, status = file.read_bytes(), file.stat()
    file.write_bytes(text.replace(b'"demo"', b'"damo"', 1).replace(b"started", b"storted", 1))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert not known.is_current()
    with pytest.raises(RunFolderError, match="restore"):
        RunFolder.resume(run_path, known=known)


def test_results_that_another_process_added_are_not_run_again(
    run_path: Path, completed: list[TrialResult]
) -> None:
    known = read_run(run_path)
    with RunFolder.resume(run_path, known=known) as run:
        assert run.before is known
        run.append(completed[4])
    with RunFolder.resume(run_path, known=known) as run:
        assert run.remaining() == [completed[5].key]
