"""Reading run folders: also while they are written, and never changing anything."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.errors import RecordError, RunFolderError, SchemaVersionError
from bench_core.files.atomic import folder_name
from bench_core.files.checksums import checksum_holds, count_lines, file_sha256
from bench_core.files.inside import read_inside, refuse_linked, refuse_unusual
from bench_core.records import Event, RunInfo, Task, TrialKey, TrialResult
from bench_core.records.base import share_names
from bench_core.records.codec import decode
from bench_core.run_folder.jsonl import collector_paused, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from bench_core.run_folder.jsonl import BadLine, Lines

_MOST_PLANNED = 2_000_000
_CHANGED = "was changed after it was written: restore it from a copy"


@dataclass(frozen=True)
class Problem:
    """Something in a run folder that was left out of what was read.

    Attributes:
        file: The file's name.
        line: The number of the line, from 1; None for lines moved to a file of their own.
        reason: What is wrong with it.
    """

    file: str
    line: int | None
    reason: str


class RunView:
    """What a run folder holds.

    Attributes:
        path: The folder.
        info: `run.json`.
        tasks: The planned tasks.
        latest: The last result of each trial that has one, in the order of first results.
        lines: How many lines `results.jsonl` was given, those set aside later included.
        changed: What was changed after it was written and can be read all the same, a sentence each.
    """

    def __init__(
        self,
        path: Path,
        info: RunInfo,
        tasks: tuple[Task, ...],
        results: Lines[TrialResult],
        changed: Iterable[str] = (),
    ) -> None:
        """Use `read_run` instead."""
        self.path = path
        self.info = info
        self.tasks = tasks
        last = {(result.task_id, result.trial): result for result in results.records}
        self.latest = tuple(last.values())
        self._bad_results = results.bad
        self.lines = max((each.sequence or 0 for each in results.records), default=0)
        self.lines = max(self.lines, len(results.records))
        self.changed = (*changed, *misplaced_lines(results, count_set_aside(path)))

    @cached_property
    def results(self) -> dict[TrialKey, TrialResult]:
        """The last result of each trial that has one, in the order of first results."""
        return {result.key: result for result in self.latest}

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What happened, in order; read when first asked for."""
        return tuple(self._event_lines.records)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Lines that were left out, and files to which such lines were moved earlier."""
        bad = [*self._bad_results, *self._event_lines.bad]
        now = [Problem(line.path.name, line.number, str(line)) for line in bad]
        now += [Problem(sentence.split()[0], None, sentence) for sentence in self.changed]
        moved = sorted(
            each.name
            for pattern in ("*.jsonl.torn-*", "*.jsonl.damaged-*")
            for each in self.path.glob(pattern)
        )
        return (*now, *(Problem(name, None, f"{name} holds lines set aside") for name in moved))

    @cached_property
    def to_rerun(self) -> frozenset[TrialKey]:
        """The trials that a session was to run again (`--rerun`) and that were not yet."""
        return pending_reruns(self.info, self.latest)

    def remaining(self) -> list[TrialKey]:
        """Return the planned trials without a lasting result, in plan order; those to rerun, too."""
        return [key for key in plan(self.tasks, self.info.trials) if not self._is_done(key)]

    def last_date(self) -> datetime | None:
        """Return the last date of sessions and events, whatever their order; None without any."""
        sessions = [d for each in self.info.sessions for d in (each.started, each.finished) if d]
        return max([*sessions, *(event.time for event in self.events)], default=None)

    def trial_folder(self, key: TrialKey) -> Path:
        """Return where a trial's artifacts are; the folder may be missing.

        Raises:
            RefusedFileError: A link stands in its place.
        """
        return refuse_linked(self.path, trial_path(Path(), key).as_posix())

    def bad_lines(self, name: str) -> list[BadLine]:
        """Return the unreadable lines of `results.jsonl` or `events.jsonl`."""
        return self._bad_results if name == "results.jsonl" else self._event_lines.bad

    @cached_property
    def _event_lines(self) -> Lines[Event]:
        return read_lines(self.path / "events.jsonl", Event)

    def _is_done(self, key: TrialKey) -> bool:
        result = self.results.get(key)
        return result is not None and result.status.done and key not in self.to_rerun


def read_run(path: Path) -> RunView:
    """Read the run folder `path`.

    A torn last line is left out and named in `problems`; so are damaged events, which decide
    nothing.

    Raises:
        RunFolderError: There is no run, its tasks or results are damaged, or it holds a result of a
            trial that was never planned.
        SchemaVersionError: A newer bench-core wrote it.
    """
    with collector_paused():
        info = read_info(path)
        tasks = read_tasks(path, info)
        written_by = info.versions.get("bench-core")
        results = read_lines(path / "results.jsonl", TrialResult, written_by=written_by)
        results.refuse_damage(path)
        plan(tasks, info.trials)  # else summaries would count to any number
        now = read_info(path)  # it is given more trials before the first of them has a result
        run = RunView(path, now, tasks, results, changed_files(path, info))
    planned = {task.task_id for task in run.tasks}
    for each in run.latest:
        # no writer of this run can have added it
        if each.task_id not in planned or each.trial > run.info.trials:
            raise RunFolderError(
                f"{run.path / 'results.jsonl'} holds trial {each.trial} of task {each.task_id!r}, "
                f"which is not planned: restore tasks.jsonl and run.json from a copy, or take its "
                f"lines out"
            )
    return run


def read_tasks(path: Path, info: RunInfo) -> tuple[Task, ...]:
    """Read the planned tasks of the run folder `path`, whose `run.json` is `info`.

    Raises:
        RunFolderError: `tasks.jsonl` is missing or damaged.
        SchemaVersionError: A newer bench-core wrote it.
    """
    file = path / "tasks.jsonl"
    if not file.exists():
        raise RunFolderError(f"{path} has no tasks.jsonl; restore it from a copy")
    tasks = read_task_lines(path, info)
    if tasks.bad:
        raise RunFolderError(f"{tasks.bad[0]}; restore tasks.jsonl from a copy")
    return tuple(tasks.records)


def changed_files(path: Path, info: RunInfo) -> list[str]:
    """Return which of `run.json` and `tasks.jsonl` were changed after they were written, and what to do."""
    found = []
    if info.checksum is not None and not checksum_holds((path / "run.json").read_bytes()):
        found.append(f"run.json {_CHANGED}")
    tasks = path / "tasks.jsonl"
    if info.tasks_sha256 not in {None, file_sha256(tasks) if tasks.exists() else None}:
        found.append(f"tasks.jsonl {_CHANGED}")
    return found


def misplaced_lines(results: Lines[TrialResult], set_aside: int) -> list[str]:
    """Return where lines of `results.jsonl` are missing, doubled or in another order, a sentence each.

    Args:
        results: The file as it was read.
        set_aside: How many of its lines were moved to files beside it.
    """
    bad = {line.number for line in results.bad}
    numbers = (number for number in itertools.count(1) if number not in bad)
    ahead = 0
    for number, record in zip(numbers, results.records, strict=False):
        if record.sequence is None:  # written by another program
            continue
        now = record.sequence - number
        if not ahead <= now <= set_aside:
            what = "lines are missing before it" if now > ahead else "it is doubled or out of order"
            place = f"results.jsonl, line {number} was written as line {record.sequence}"
            return [f"{place}: {what}; restore the file from a copy"]
        ahead = now
    return []


def count_set_aside(path: Path) -> int:
    """Return how many lines of `results.jsonl` were moved to files beside it as damaged."""
    files = path.glob("results.jsonl.damaged-*")
    return sum(count_lines(each)[0] for each in files)


def read_task_lines(path: Path, info: RunInfo) -> Lines[Task]:
    """Read `tasks.jsonl` line by line; what is no task is among the bad lines.

    Raises:
        RunFolderError: A version in it was changed.
        SchemaVersionError: A newer bench-core wrote it.
    """
    try:
        return read_lines(path / "tasks.jsonl", Task, written_by=info.versions.get("bench-core"))
    except SchemaVersionError:
        if changed := changed_files(path, info):
            raise RunFolderError(changed[0]) from None
        raise


def read_info(path: Path) -> RunInfo:
    """Read `run.json` of the run folder `path`.

    Raises:
        RunFolderError: There is none, or it is not one.
        RefusedFileError: The folder holds a link, a pipe, a device or a file of a size that no run has.
        SchemaVersionError: A newer bench-core wrote it.
    """
    file = path / "run.json"
    # Whoever reads or writes a run passes here, before locks, sweeps and new files.
    refuse_unusual(path)
    try:
        text = read_inside(path, "run.json")
    except (FileNotFoundError, NotADirectoryError):
        raise RunFolderError(f"{path} is not a run folder: it has no run.json") from None
    try:
        return decode(RunInfo, text)
    except SchemaVersionError as error:
        if b'"checksum":' in text and not checksum_holds(text):  # in its version, say
            raise RunFolderError(f"{file} {_CHANGED}") from None
        raise error.in_file(file) from None
    except RecordError as error:
        raise RunFolderError(f"{file} is {error}; restore it from a copy") from error


def pending_reruns(info: RunInfo, latest: Iterable[TrialResult]) -> frozenset[TrialKey]:
    """Return the trials that sessions were to run again and that have no later result yet."""
    asked: dict[TrialKey, int] = {}
    for session in info.sessions:
        if session.rerun is not None:
            asked |= dict.fromkeys(session.rerun.trials, session.rerun.after)
    if not asked:
        return frozenset()
    written = {result.key: result.sequence or 0 for result in latest}
    return frozenset(key for key, after in asked.items() if written.get(key, 0) <= after)


def plan(tasks: tuple[Task, ...], trials: int) -> list[TrialKey]:
    """Return every trial of `tasks`: all tasks once before any is repeated.

    Raises:
        RunFolderError: There are more than two million.
    """
    if len(tasks) * trials > _MOST_PLANNED:
        raise RunFolderError(
            f"{trials:,} trials of {len(tasks):,} tasks are planned: up to {_MOST_PLANNED:,} can be handled"
        )
    keys = [
        TrialKey(task_id=task.task_id, trial=trial)
        for trial in range(1, trials + 1)
        for task in tasks
    ]
    for each in keys:
        share_names(each)
    return keys


def trial_path(run: Path, key: TrialKey) -> Path:
    """Return the folder of a trial in the run folder `run`."""
    return run.joinpath("trials", str(key.trial), folder_name(key.task_id))


def kept_attempts(run: Path, key: TrialKey) -> Path:
    """Return where a trial's earlier attempts are kept.

    `result-<sequence>` there is what the result of that `sequence` left, `unfinished-<n>` what was left
    by attempts that no result mentions.
    """
    return run / "attempts" / str(key.trial) / folder_name(key.task_id)
