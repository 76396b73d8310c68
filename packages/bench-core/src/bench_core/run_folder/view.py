"""Reading run folders: also while they are written, and never changing anything."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.errors import RecordError, RunFolderError, SchemaVersionError
from bench_core.files.atomic import folder_name
from bench_core.files.checksums import checksum_holds, count_lines, file_sha256
from bench_core.files.inside import read_inside, refuse_linked, refuse_unusual
from bench_core.records import RunInfo, Task, TrialKey, TrialResult
from bench_core.records.codec import decode
from bench_core.run_folder.indexed import (
    ResultsByTrial,
    StoredEvents,
    StoredRecords,
)
from bench_core.run_folder.jsonl import read_lines, refuse_damage, walk_lines
from bench_core.run_folder.standings import TrialStandings, result_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from bench_core.run_folder.jsonl import BadLine, Lines

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
        latest: The last result of each trial that has one, in the order of first results; read from the
            file each time, one after another.
        results: The same by trial.
        standings: How each trial stands.
        lines: How many lines `results.jsonl` was given, those set aside later included.
        changed: What was changed after it was written and can be read all the same, a sentence each.
    """

    def __init__(
        self,
        path: Path,
        info: RunInfo,
        tasks: tuple[Task, ...],
        results: StoredResults,
        changed: Iterable[str] = (),
    ) -> None:
        """Use `read_run` instead."""
        self.path = path
        self.info = info
        self.tasks = tasks
        self.standings = results.standings
        self.latest = results.latest()
        self.results: Mapping[TrialKey, TrialResult] = ResultsByTrial(self.latest, self.standings)
        self._bad_results = results.bad
        self.lines = results.lines
        self.changed = (*changed, *results.misplaced)

    @cached_property
    def events(self) -> StoredEvents:
        """What happened, in order; found when first asked for, and read each time."""
        return StoredEvents(self.path / "events.jsonl")

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Lines that were left out, and files to which such lines were moved earlier."""
        bad = [*self._bad_results, *self.events.bad]
        now = [Problem(line.path.name, line.number, str(line)) for line in bad]
        now += [Problem(sentence.split()[0], None, sentence) for sentence in self.changed]
        moved = sorted(
            each.name
            for pattern in ("*.jsonl.torn-*", "*.jsonl.damaged-*")
            for each in self.path.glob(pattern)
        )
        return (*now, *(Problem(name, None, f"{name} holds lines set aside") for name in moved))

    @property
    def to_rerun(self) -> frozenset[TrialKey]:
        """The trials that a session was to run again (`--rerun`) and that were not yet."""
        return self.standings.to_rerun

    def remaining(self) -> list[TrialKey]:
        """Return the planned trials without a lasting result, in plan order; those to rerun, too."""
        return self.standings.remaining()

    def last_date(self) -> datetime | None:
        """Return the last date of sessions and events, whatever their order; None without any."""
        sessions = [d for each in self.info.sessions for d in (each.started, each.finished) if d]
        (event,) = self.events.last_times([])
        return max([*sessions, *([event] if event else [])], default=None)

    def trial_folder(self, key: TrialKey) -> Path:
        """Return where a trial's artifacts are; the folder may be missing.

        Raises:
            RefusedFileError: A link stands in its place.
        """
        return refuse_linked(self.path, trial_path(Path(), key).as_posix())

    def bad_lines(self, name: str) -> list[BadLine]:
        """Return the unreadable lines of `results.jsonl` or `events.jsonl`."""
        return self._bad_results if name == "results.jsonl" else self.events.bad


def read_run(path: Path) -> RunView:
    """Read the run folder `path`.

    Each line of its results is checked and none is kept: `latest` reads them again, one after another, so
    that the memory this takes is some 25 bytes a planned trial.

    A torn last line is left out and named in `problems`; so are damaged events, which decide
    nothing.

    Raises:
        RunFolderError: There is no run, its tasks or results are damaged, or it holds a result of a
            trial that was never planned.
        SchemaVersionError: A newer bench-core wrote it.
    """
    info = read_info(path)
    tasks = read_tasks(path, info)
    results = StoredResults(path, info, tasks)
    refuse_damage(path, results.bad)
    if results.unplanned:
        (key, _), *_ = results.unplanned.items()
        # no writer of this run can have added it
        raise RunFolderError(
            f"{path / 'results.jsonl'} holds trial {key.trial} of task {key.task_id!r}, "
            f"which is not planned: restore tasks.jsonl and run.json from a copy, or take its "
            f"lines out"
        )
    now = read_info(path)  # it is given more trials before the first of them has a result
    results.standings.extend(now.trials)
    for key, after in _reruns(now).items():
        results.standings.run_again([key], after=after)
    return RunView(path, now, tasks, results, changed_files(path, info))


class StoredResults:
    """What one pass over the lines of `results.jsonl` finds; none is kept.

    Attributes:
        standings: How each planned trial stands.
        bad: Lines that are no results.
        lines: How many lines the file was given.
        count: How many of its lines are results.
        unplanned: Trials that are not planned, with the number of their lines.
        benchmarks: How many lines are of which benchmark.
        misplaced: Where lines are missing, doubled or in another order, a sentence each.
    """

    def __init__(self, path: Path, info: RunInfo, tasks: Sequence[Task]) -> None:
        """Go over the results of the run in `path`.

        Raises:
            RunFolderError: More trials are planned than can be handled, or more than 10,000 lines are no results.
            SchemaVersionError: A newer bench-core wrote one of them.
        """
        self.standings = TrialStandings([task.task_id for task in tasks], info.trials)
        self._file = path / "results.jsonl"
        self._written_by = info.versions.get("bench-core")
        self.bad: list[BadLine] = []
        self.lines = self.count = 0
        self.unplanned: Counter[TrialKey] = Counter()
        self.benchmarks: Counter[str] = Counter()
        self.misplaced: list[str] = []
        set_aside, ahead = count_set_aside(path), 0
        found = walk_lines(
            self._file, TrialResult, result_part, self.bad, written_by=self._written_by
        )
        for number, start, result in found:
            self.count += 1
            self.benchmarks[result.benchmark] += 1
            if not self.standings.note(result, start):
                if not self.unplanned:
                    self.standings.extend(read_info(path).trials)
                if not self.standings.note(result, start):
                    self.unplanned[TrialKey(task_id=result.task_id, trial=result.trial)] += 1
            if result.sequence is None:  # written by another program
                continue
            self.lines = max(self.lines, result.sequence)
            now = result.sequence - number
            if not ahead <= now <= set_aside and not self.misplaced:
                what = (
                    "lines are missing before it"
                    if now > ahead
                    else "it is doubled or out of order"
                )
                self.misplaced.append(
                    f"results.jsonl, line {number} was written as line {result.sequence}: {what}; "
                    f"restore the file from a copy"
                )
            ahead = now
        self.lines = max(self.lines, self.count)

    def latest(self) -> StoredRecords[TrialResult]:
        """Return the last result of each trial, in the order of first results."""
        starts = self.standings.starts()
        return StoredRecords(self._file, TrialResult, starts, written_by=self._written_by)


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


def _reruns(info: RunInfo) -> dict[TrialKey, int]:
    """Return the trials that sessions were to run again, with the last line of results then."""
    asked: dict[TrialKey, int] = {}
    for session in info.sessions:
        if session.rerun is not None:
            asked |= dict.fromkeys(session.rerun.trials, session.rerun.after)
    return asked


def trial_path(run: Path, key: TrialKey) -> Path:
    """Return the folder of a trial in the run folder `run`."""
    return run.joinpath("trials", str(key.trial), folder_name(key.task_id))


def kept_attempts(run: Path, key: TrialKey) -> Path:
    """Return where a trial's earlier attempts are kept.

    `result-<sequence>` there is what the result of that `sequence` left, `unfinished-<n>` what was left
    by attempts that no result mentions.
    """
    return run / "attempts" / str(key.trial) / folder_name(key.task_id)


def place_to_keep(run: Path, key: TrialKey, sequence: int | None) -> Path:
    """Return where what lies in a trial's folder is to be kept: named by its result, if it has one."""
    archive = kept_attempts(run, key)
    if sequence is not None and not (kept := archive / f"result-{sequence}").exists():
        return kept
    names = (f"unfinished-{n}" for n in itertools.count(1))
    return next(p for name in names if not (p := archive / name).exists())
