"""Checking run folders, sealing them, and setting aside lines that make them unreadable."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_core.errors import RefusedFileError, RunFolderError
from bench_core.files.checksums import file_sha256
from bench_core.files.inside import file_inside, refuse_linked
from bench_core.files.locks import lock_for_writing
from bench_core.records import TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder.artifacts import changed_artifacts
from bench_core.run_folder.checked_log import LOGS, CheckedLines, seals_of, unsealed
from bench_core.run_folder.folder import write_info
from bench_core.run_folder.jsonl import BadLine, set_aside_lines, walk_lines
from bench_core.run_folder.notes import note_problems, repair_notes
from bench_core.run_folder.rescore_folder import rescore_problems
from bench_core.run_folder.stored import changed_objects
from bench_core.run_folder.view import (
    changed_files,
    kept_of_result,
    read_info,
    read_tasks,
    survey_run,
    trial_path,
)

_ASTRAY = "it does not fit the lines around it: it was doubled, moved or exchanged, or another process wrote it"


@dataclass(frozen=True)
class RunCheck:
    """The findings of `check_run`.

    Attributes:
        path: The run folder.
        run_id: The run's name.
        planned: Trials in the plan.
        statuses: Trials by status of their last result.
        problems: The problems found, one sentence each; empty if there are none.
    """

    path: Path
    run_id: str
    planned: int
    statuses: dict[str, int]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class SetAside:
    """Lines that `repair_run` moved from a file to another next to it."""

    lines: tuple[BadLine, ...]
    moved_to: Path


def check_run(path: Path, *, told: Callable[[int, int], None] | None = None) -> RunCheck:
    """Read everything in the run folder `path` and return the problems, changing nothing.

    Args:
        path: The run folder.
        told: Called with how many results were compared with their files, and their total.

    Raises:
        RunFolderError: The folder does not hold a run.
        SchemaVersionError: A newer bench-core wrote it.
        EnvironmentFaultError: The object store that has files of its trials cannot be read.
        MissingExtraError: The package that reads it is not installed.
    """
    view = survey_run(path)
    problems = [each.reason for each in view.damaged_records]
    standings, known = view.standings, view.bad_lines("results.jsonl")
    read = TrialResult.__pydantic_validator__.validate_json
    bad: list[BadLine] = []
    lines = walk_lines(path / "results.jsonl", TrialResult, read, bad)
    for done, (_, start, result) in enumerate(lines, start=1):
        if standings.get(result.key) is not None:
            problems += _changed_in(path, result, current=start == standings.start(result.key))
        if told is not None:
            told(done, view.logs[0].count)
    # a checksum computed elsewhere, of a line that is not a result
    problems += [str(line) for line in bad if line not in known]
    problems += rescore_problems(path)
    problems += note_problems(path, view.info.run_id, (each.task_id for each in view.tasks))
    statuses = Counter(standing.status.value for standing in standings)
    return RunCheck(path, view.info.run_id, standings.planned, dict(statuses), tuple(problems))


def repair_run(path: Path) -> list[SetAside]:
    """Move every line of results and events that is damaged, torn or astray to a file next to them.

    The trials of lost results run again when the run is resumed. Closed sessions' digests of the
    file no longer hold and are taken out of `run.json`; the next session seals it again.

    Raises:
        RunFolderBusyError: The run is being written.
        RunFolderError: The run is missing, or its tasks are missing or damaged, which only a copy can
            repair.
    """
    info = read_info(path)
    lock = lock_for_writing(path)
    try:
        read_tasks(path, info)
        if changed := changed_files(path, info):
            raise RunFolderError("; ".join(changed))
        moved = []
        changed_logs = []
        for name, model in LOGS.items():
            lines: CheckedLines[Any] = CheckedLines(path / name, model, seals_of(info, name))
            deque(lines.walk(model.__pydantic_validator__.validate_json), maxlen=0)
            bad = sorted({*lines.bad, *_astray(lines)}, key=lambda line: line.start)
            kept = set_aside_lines(path / name, bad)
            if kept is not None:
                moved.append(SetAside(tuple(bad), kept))
            if bad or lines.changed or lines.lost:
                changed_logs.append(name)
                rest: CheckedLines[Any] = CheckedLines(path / name, model)
                deque(rest.walk(model.__pydantic_validator__.validate_json), maxlen=0)
                rest.end.write(path / name)
        notes, kept = repair_notes(path)
        if kept is not None:
            moved.append(SetAside(tuple(notes.bad), kept))
        if changed_logs:
            write_info(path, unsealed(info, changed_logs), Redactor.from_environment())
        return moved
    finally:
        lock.release()


def seal_of(path: Path, *, told: Callable[[int, int], None] | None = None) -> str:
    """Return the digest that stands for a whole run, `sha256:` and 64 digits.

    It is that of `run.json`, which holds those of `tasks.jsonl` and `results.jsonl`, whose lines hold
    those of all artifacts. A published digest shows later that nothing was changed since.

    Args:
        path: The run folder.
        told: As for `check_run`.

    Raises:
        RunFolderError: The run is not as it was written, or not all of it has a digest.
    """
    info, found = read_info(path), check_run(path, told=told)
    if found.problems:
        raise RunFolderError(f"{path} is not as it was written: {found.problems[0]}")
    last = info.sessions[-1] if info.sessions else None
    if info.tasks_sha256 is None or last is None or last.results_sha256 is None:
        raise RunFolderError(
            f"{path} has no digests to seal: its last session did not end in order, or an older "
            f"bench-core wrote it; the command that ran it ends it in order, without running a trial "
            f"again"
        )
    return f"sha256:{file_sha256(path / 'run.json')}"


def _astray(lines: CheckedLines[Any]) -> Iterator[BadLine]:
    if not lines.astray:
        return
    with lines.path.open("rb") as file:
        for number, start in lines.astray:
            file.seek(start)
            yield BadLine(lines.path, number, start, start + len(file.readline()), _ASTRAY)


def _changed_in(path: Path, result: TrialResult, *, current: bool) -> Iterator[str]:
    """Yield the files of a result that changed since; others may have been added."""
    kept = kept_of_result(path, result.key, result.sequence)
    if not current and result.sequence is None:
        return
    # a later attempt without a result, whose process ended, replaced the last result's files
    moved = result.sequence is not None and kept.is_dir()
    folder = kept if moved or not current else trial_path(path, result.key)
    where = folder.relative_to(path).as_posix()
    try:
        refuse_linked(path, where)
    except RefusedFileError as refused:
        yield f"{refused.path.relative_to(path).as_posix()} {refused.problem}: restore it from a copy"
        return
    left = result.artifacts
    if result.stored is not None:
        yield from (
            f"{problem}: restore it from a copy" for problem in changed_objects(result.stored, left)
        )
        left = tuple(each for each in left if file_inside(folder, each.path))  # copies of these
    yield from (f"{where}/{problem}" for problem in changed_artifacts(folder, left))
