"""The notes of people on a run: a file that only grows, which several processes write at once.

Notes come after a run and change none of its files, so its seal does not cover them; each line has its own checksum.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files.append_log import AppendLog, GroupSync
from bench_core.files.inside import open_inside
from bench_core.files.locks import FileLock
from bench_core.records.codec import encode_sealed
from bench_core.records.notes import Note
from bench_core.redaction import Redactor
from bench_core.run_folder.jsonl import Lines, read_lines, set_aside_lines, set_aside_torn
from bench_core.run_folder.view import read_info

NOTES = "notes.jsonl"


def read_notes(run: Path) -> Lines[Note]:
    """Read the notes of the run folder `run` in the order in which they were written; a missing file holds none.

    Raises:
        SchemaVersionError: A newer bench-core wrote one of them.
        RefusedFileError: The file is a link, a pipe, a device or of a size that no run has.
        RunFolderError: More than 10,000 lines are not notes.
    """
    return read_lines(run / NOTES, Note)


def add_notes(
    run: Path, notes: Iterable[Note], *, once: bool = False, redactor: Redactor | None = None
) -> int:
    """Add notes and return how many were added; they are on the disk then.

    Args:
        run: The run folder; its own writer may be at work.
        notes: Notes on trials of this run.
        once: Leave out those that are there already.
        redactor: Knows the keys that must not reach the disk; by default those in the environment.

    Raises:
        InputError: A note is of another run.
        RunFolderError: The run is missing, or the disk is full: only whole lines are in the file.
    """
    info = read_info(run)  # refuses links, too
    new = [each.model_copy(update={"checksum": None}) for each in notes]
    for each in new:
        if each.run_id != info.run_id:
            raise InputError(
                f"a note by {each.by!r} is of the run {each.run_id!r}, and {run} is {info.run_id!r}: "
                f"add it to a copy of its own run"
            )
    hidden = redactor or Redactor.from_environment()
    with _lock(run):
        lines: Lines[Note] = Lines(run / NOTES)
        if once or not _ends_whole(run):
            lines = read_notes(run)
            set_aside_torn(run / NOTES, lines.bad)
        known = {each.model_copy(update={"checksum": None}) for each in lines.records if once}
        added = [each for each in new if each not in known]
        sync = GroupSync()
        log = AppendLog(run / NOTES, sync)
        try:
            for each in added:
                log.append(encode_sealed(each, hidden))
        finally:
            log.close()
            sync.close()
    return len(added)


def note_problems(run: Path, run_id: str, tasks: Iterable[str]) -> list[str]:
    """Return the problems of `notes.jsonl`: lines that are not notes, or of tasks outside the run."""
    found = read_notes(run)
    known = frozenset(tasks)
    astray = sum(each.run_id != run_id or each.task_id not in known for each in found.records)
    problems = [str(line) for line in found.bad]
    if astray:
        problems.append(f"{NOTES} holds {astray} notes on tasks that this run does not have")
    return problems


def repair_notes(run: Path) -> tuple[Lines[Note], Path | None]:
    """Move the lines that are not notes to a file next to `notes.jsonl`."""
    with _lock(run):
        found = read_notes(run)
        return found, set_aside_lines(run / NOTES, found.bad)


def _lock(run: Path) -> FileLock:
    # not the lock of the run's writer, which may hold it all night
    return FileLock(run / ".notes.lock", queue=False)


def _ends_whole(run: Path) -> bool:
    """Whether the file ends with a whole line: no writer was killed in the middle of one."""
    try:
        with open_inside(run, NOTES) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return file.read(1) in {b"", b"\n"}
    except FileNotFoundError:
        return True
