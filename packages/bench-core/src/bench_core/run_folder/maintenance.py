"""Checking run folders, sealing them, and setting aside what makes them unreadable."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.errors import RefusedFileError, RunFolderError
from bench_core.files.checksums import file_sha256, lines_sha256
from bench_core.files.inside import file_inside, refuse_linked
from bench_core.files.locks import lock_for_writing
from bench_core.records import Event, Record, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder.artifacts import changed_artifacts
from bench_core.run_folder.folder import write_info
from bench_core.run_folder.indexed import StoredEvents
from bench_core.run_folder.jsonl import BadLine, set_aside_lines, walk_lines
from bench_core.run_folder.stored import changed_objects
from bench_core.run_folder.view import (
    StoredResults,
    changed_files,
    kept_attempts,
    read_info,
    read_task_lines,
    read_tasks,
    trial_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench_core.records import RunInfo

_LOGS: dict[str, type[Record]] = {"results.jsonl": TrialResult, "events.jsonl": Event}


@dataclass(frozen=True)
class RunCheck:
    """What `check_run` found.

    Attributes:
        path: The run folder.
        run_id: The run's name.
        planned: Trials in the plan.
        statuses: Trials by status of their last result.
        problems: What is wrong, one sentence each; empty when nothing is.
    """

    path: Path
    run_id: str
    planned: int
    statuses: dict[str, int]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class SetAside:
    """Lines that `repair_run` moved from a file to another beside it."""

    lines: tuple[BadLine, ...]
    moved_to: Path


def check_run(path: Path, *, told: Callable[[int, int], None] | None = None) -> RunCheck:
    """Read everything in the run folder `path` and return what is wrong, changing nothing.

    Args:
        path: The run folder.
        told: Called with how many results were compared with their files, and how many there are.

    Raises:
        RunFolderError: There is no run at all.
        SchemaVersionError: A newer bench-core wrote it.
        EnvironmentFaultError: The object store that has files of its trials cannot be read.
        MissingExtraError: What reads it is not installed.
    """
    info = read_info(path)
    tasks = read_task_lines(path, info)
    results = StoredResults(path, info, tasks.records)
    events = StoredEvents(path / "events.jsonl")
    standings = results.standings
    problems = [] if tasks.path.exists() else ["tasks.jsonl is missing: restore it from a copy"]
    problems += [str(line) for lines in (tasks, results, events) for line in lines.bad]
    problems += changed_files(path, info)
    problems += results.misplaced
    if not results.bad:  # else these say no more
        problems += _unlike_sessions(path, info)
        missing = standings.planned - len(standings)
        # a run that looks stopped may lack trials
        if missing and info.finished is not None and info.stopping_rule is None:
            first = next(key for key in standings.plan() if standings.get(key) is None)
            problems.append(
                f"run.json says the run is finished, but {missing} planned trials have no result, the "
                f"first of task {first.task_id!r}: run the same command again"
            )
    problems += [
        f"results.jsonl holds {count} results of the benchmark {name!r} in a run of {info.benchmark!r}"
        for name, count in sorted(results.benchmarks.items())
        if name != info.benchmark
    ]
    problems += [
        f"results.jsonl holds trial {key.trial} of task {key.task_id!r}, which is not planned"
        for key in sorted(results.unplanned, key=lambda key: (key.task_id, key.trial))
    ]
    read = TrialResult.__pydantic_validator__.validate_json
    bad: list[BadLine] = []
    lines = walk_lines(path / "results.jsonl", TrialResult, read, bad)
    for done, (_, start, result) in enumerate(lines, start=1):
        if standings.get(result.key) is not None:
            problems += _changed_in(path, result, current=start == standings.start(result.key))
        if told is not None:
            told(done, results.count)
    # a checksum that was computed elsewhere, of what is no result
    problems += [str(line) for line in bad if line not in results.bad]
    statuses = Counter(standing.status.value for standing in standings)
    return RunCheck(path, info.run_id, standings.planned, dict(statuses), tuple(problems))


def repair_run(path: Path) -> list[SetAside]:
    """Move every damaged or torn line of results and events to a file beside them.

    The trials of lost results run again when the run is resumed. What closed sessions knew of the
    file's digest no longer holds and is taken out of `run.json`; the next session seals it again.

    Raises:
        RunFolderBusyError: The run is being written.
        RunFolderError: There is no run, or its tasks are missing or damaged, which only a copy can
            repair.
    """
    info = read_info(path)
    lock = lock_for_writing(path)
    try:
        read_tasks(path, info)
        if changed := changed_files(path, info):
            raise RunFolderError("; ".join(changed))
        moved = []
        for name, model in _LOGS.items():
            bad: list[BadLine] = []
            read = model.__pydantic_validator__.validate_json
            deque(walk_lines(path / name, model, read, bad), maxlen=0)
            kept = set_aside_lines(path / name, bad)
            if kept is not None:
                moved.append(SetAside(tuple(bad), kept))
        if any(each.moved_to.name.startswith("results.jsonl") for each in moved):
            unsealed = {"results": None, "results_sha256": None}
            sessions = [each.model_copy(update=unsealed) for each in info.sessions]
            update = {"sessions": tuple(sessions), "finished": None}
            write_info(path, info.model_copy(update=update), Redactor.from_environment())
        return moved
    finally:
        lock.release()


def seal_of(path: Path) -> str:
    """Return the digest that stands for a whole run, `sha256:` and 64 digits.

    It is that of `run.json`, which holds those of `tasks.jsonl` and `results.jsonl`, whose lines hold
    those of all artifacts. Whoever quotes it can show later that nothing was changed since.

    Raises:
        RunFolderError: The run is not as it was written, or not all of it has a digest.
    """
    info, found = read_info(path), check_run(path)
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


def _unlike_sessions(path: Path, info: RunInfo) -> Iterator[str]:
    """Yield where `results.jsonl` does not begin with what a session left."""
    for number, session in enumerate(info.sessions, 1):
        if session.results is None or session.results_sha256 is None:
            continue
        results = path / "results.jsonl"
        digest = lines_sha256(results, session.results) if results.exists() else None
        if digest is None:
            yield (
                f"results.jsonl has fewer lines than the {session.results} that session {number} left: "
                f"restore it from a copy"
            )
        elif digest != session.results_sha256:
            yield (f"results.jsonl is not what session {number} left: restore it from a copy")


def _changed_in(path: Path, result: TrialResult, *, current: bool) -> Iterator[str]:
    """Yield which files of a result are not what it left; others may have come to them since."""
    kept = kept_attempts(path, result.key) / f"result-{result.sequence}"
    if not current and result.sequence is None:
        return
    # a later attempt without a result, whose process ended, lies where the last result's files were
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
