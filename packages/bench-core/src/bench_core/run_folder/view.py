"""Reading run folders: also while they are written, and never changing anything."""

from __future__ import annotations

import itertools
import logging
import math
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import msgspec

from bench_core.errors import RecordError, RunFolderError, SchemaVersionError
from bench_core.files.atomic import folder_name
from bench_core.files.checksums import checksum_holds, file_sha256
from bench_core.files.inside import (
    Identity,
    identity_of,
    read_inside,
    refuse_linked,
    refuse_unusual,
)
from bench_core.records import ArtifactFile, Event, RunInfo, Task, TrialKey, TrialResult
from bench_core.records.codec import decode
from bench_core.run_folder.checked_log import (
    LOGS,
    CheckedLines,
    lacks_end,
    lines_left,
    seals_of,
)
from bench_core.run_folder.indexed import (
    ResultsByTrial,
    StoredEvents,
    StoredRecords,
)
from bench_core.run_folder.jsonl import BadLine, Lines, read_lines, refuse_damage
from bench_core.run_folder.standings import ResultPart, TrialStandings, result_part

_log = logging.getLogger(__name__)
_SHOWN_TRIALS = 20
_CHANGED = "was changed after it was written: restore it from a copy"


@dataclass(frozen=True)
class Problem:
    """Something in a run folder that has changed since it was written, or was not read.

    Attributes:
        file: The file's name, or the trial's folder.
        line: The number of the line, from 1; None unless it is a single line.
        reason: The fault in it.
        usual: Whether it leaves the run's numbers intact: a line that a kill cut short, whose trial runs
            again, and lines that were set aside.
    """

    file: str
    line: int | None
    reason: str
    usual: bool = False


class RunView:
    """The content of a run folder.

    Attributes:
        path: The folder.
        info: `run.json`.
        tasks: The planned tasks.
        latest: The last result of each trial that has one, in the order of first results; read from the
            file each time, one after another.
        results: The same by trial.
        standings: How each trial stands.
        end: The end of `results.jsonl`.
    """

    def __init__(
        self,
        path: Path,
        info: RunInfo,
        tasks: Lines[Task],
        results: StoredResults,
        files: Sequence[Identity | None],
    ) -> None:
        """Use `read_run` instead."""
        self.path = path
        self._files = files
        self.info = info
        self.tasks = tuple(tasks.records)
        self.standings = results.standings
        self.latest = results.latest()
        self.results: Mapping[TrialKey, TrialResult] = ResultsByTrial(self.latest, self.standings)
        self.end = results.log.end
        self._stored = results
        self._bad_tasks = tasks.bad
        self._changed_files = changed_files(path, info)

    @property
    def lines(self) -> int:
        """How many lines `results.jsonl` was given, those set aside later included."""
        return self.end.lines

    @property
    def logs(self) -> tuple[CheckedLines[TrialResult], CheckedLines[Event]]:
        """The findings of reading `results.jsonl` and `events.jsonl`."""
        return self._stored.log, self.events.log

    @cached_property
    def events(self) -> StoredEvents:
        """The events of the run, in order; found when first asked for, and read each time."""
        return StoredEvents(self.path / "events.jsonl", seals_of(self.info, "events.jsonl"))

    @property
    def changed(self) -> tuple[str, ...]:
        """Changes since the files were written that still let them be read, a sentence each."""
        return (*self._changed_files, *(each for log in self.logs for each in log.changed))

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """Files that are shorter than they were, or may be, a sentence each.

        A machine that loses power leaves them so, too: that loses the last half second of each.
        """
        if self.changed:  # which says more
            return ()
        found = [each for log in self.logs for each in log.lost]
        for log in self.logs:
            missing = lacks_end(log.path)
            known = (self.info, read_info(self.path))  # its writer may close them during the read
            if all(math.isinf(lines_left(each, log.path.name)) for each in known):
                found += missing
        return tuple(found)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Differences from the run as written, as far as lines, and the sizes of its trials' files, tell.

        The contents of these files are not read: no number of the run is taken from them, and there may be
        many gigabytes. `check_run` reads them, too. Files to which lines were moved earlier are named.
        """
        moved = sorted(
            each.name
            for pattern in ("*.jsonl.torn-*", "*.jsonl.damaged-*")
            for each in self.path.glob(pattern)
        )
        files = (Problem(each.split()[0], None, each) for each in missing_files(self))
        aside = (Problem(n, None, f"{n} holds lines set aside", usual=True) for n in moved)
        return (*self.damaged_records, *files, *aside)

    @property
    def damage(self) -> tuple[str, ...]:
        """The `problems` that may change a number of the run, a sentence each."""
        return tuple(each.reason for each in self.problems if not each.usual)

    def tell_damage(self) -> None:
        """Log the `damage`, for callers whose output has no place for it."""
        for each in self.damage:
            _log.warning("%s is not as it was written: %s", self.path, each)

    @cached_property
    def damaged_records(self) -> tuple[Problem, ...]:
        """The part of `problems` that is in the files of the run itself."""
        bad = [*self._bad_tasks, *(line for log in self.logs for line in log.bad)]
        found = [Problem(line.path.name, line.number, str(line), line.torn) for line in bad]
        sentences = [*self.changed, *self.lost]
        if not self._stored.log.bad:  # else these say no more
            # the reason for a foreign line tells more than its presence
            sentences += list(self._misfits()) or self._lines_of_no_session()
        return (*found, *(Problem(each.split()[0], None, each) for each in sentences))

    @property
    def to_rerun(self) -> frozenset[TrialKey]:
        """The trials that a session was to run again (`--rerun`) and has not yet."""
        return self.standings.to_rerun

    def remaining(self) -> list[TrialKey]:
        """Return the planned trials without a lasting result, and those to rerun, in plan order."""
        return self.standings.remaining()

    def is_current(self) -> bool:
        """Return whether the files of the run are still those that were read, of the same size and date."""
        return self._files == _identities(self.path)

    def last_date(self) -> datetime | None:
        """Return the last date of sessions and events, whatever their order; None without any."""
        sessions = [d for each in self.info.sessions for d in (each.started, each.finished) if d]
        (event,) = self.events.last_times([])
        return max([*sessions, *([event] if event else [])], default=None)

    def trial_folder(self, key: TrialKey) -> Path:
        """Return the folder of a trial's artifacts, which may be missing.

        Raises:
            RefusedFileError: A link stands in its place.
        """
        return refuse_linked(self.path, trial_path(Path(), key).as_posix())

    def bad_lines(self, name: str) -> list[BadLine]:
        """Return the unreadable lines of `results.jsonl` or `events.jsonl`."""
        return (self._stored if name == "results.jsonl" else self.events).log.bad

    def refuse_damage(self) -> None:
        """Raise if it is uncertain which results the run has.

        Raises:
            RunFolderError: Tasks or results are damaged, or there is a result of a trial that was never
                planned.
        """
        _refuse_bad_tasks(self.path, self._bad_tasks)
        refuse_damage(self.path, self._stored.log.bad)
        for key in self._stored.unplanned:
            # no writer of this run can have added it
            raise RunFolderError(
                f"{self.path / 'results.jsonl'} holds trial {key.trial} of task {key.task_id!r}, "
                f"which is not planned: restore tasks.jsonl and run.json from a copy, or take its "
                f"lines out"
            )

    def _lines_of_no_session(self) -> list[str]:
        known = (self.info, read_info(self.path))  # the run may go on
        return [
            f"{log.path.name} has lines that no session of run.json wrote: restore the newer run.json from a "
            f"copy, or take them out"
            for log in self.logs
            if all(log.count > lines_left(each, log.path.name) for each in known)
        ]

    def _misfits(self) -> Iterator[str]:
        """Yield lines that this run cannot have written, and gaps in a run that claims to be complete."""
        for name, count in sorted(self._stored.benchmarks.items()):
            if name != self.info.benchmark:
                yield (
                    f"results.jsonl holds {count} results of the benchmark {name!r} in a run of "
                    f"{self.info.benchmark!r}"
                )
        for key in sorted(self._stored.unplanned, key=lambda key: (key.task_id, key.trial)):
            yield f"results.jsonl holds trial {key.trial} of task {key.task_id!r}, which is not planned"
        # a run that looks stopped may lack trials
        missing = self.standings.planned - len(self.standings)
        if missing and self.info.finished is not None and self.info.stopping_rule is None:
            first = next(k for k in self.standings.plan() if self.standings.get(k) is None)
            yield (
                f"run.json says the run is finished, but {missing} planned trials have no result, the "
                f"first of task {first.task_id!r}: run the same command again"
            )


def read_run(path: Path, *, part: Callable[[bytes], ResultPart] = result_part) -> RunView:
    """Read the run folder `path`.

    Each line of its results is checked and none is kept: `latest` reads them again, one after another, so
    that the memory this takes is some 25 bytes a planned trial.

    A torn last line is left out and named in `problems`, as is all else that is not as it was written:
    damaged events, files that are shorter than another one says, files of trials that are gone.

    Args:
        path: The folder.
        part: Takes the needed part from the line of each result, for callers that want more of it on the way.

    Raises:
        RunFolderError: The run is missing, its tasks or results are damaged, or it holds a result of a
            trial that was never planned.
        SchemaVersionError: A newer bench-core wrote it.
    """
    view = survey_run(path, part)
    view.refuse_damage()
    return view


def survey_run(path: Path, part: Callable[[bytes], ResultPart] = result_part) -> RunView:
    """Read the run folder `path` as `read_run` does, even if tasks or results of it are damaged.

    Raises:
        RunFolderError: The run is missing, or nearly all of its lines are unreadable.
        SchemaVersionError: A newer bench-core wrote it.
    """
    files = _identities(path)
    info = read_info(path)
    tasks = _read_task_lines(path, info)
    results = StoredResults(path, info, tasks.records, part)
    now = read_info(path)  # it is given more trials before the first of them has a result
    results.standings.extend(now.trials)
    for key, after in _reruns(now).items():
        results.standings.run_again([key], after=after)
    return RunView(path, now, tasks, results, files)


class StoredResults:
    """The findings of one pass over the lines of `results.jsonl`; no line is kept.

    Attributes:
        standings: How each planned trial stands.
        log: Changes to the file since it was written, and its end.
        unplanned: Trials that are not planned, with the number of their lines.
        benchmarks: Number of lines by benchmark.
    """

    def __init__(
        self,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        part: Callable[[bytes], ResultPart] = result_part,
    ) -> None:
        """Go over the results of the run in `path`.

        Raises:
            RunFolderError: More trials are planned than can be handled, or more than 10,000 lines are not results.
            SchemaVersionError: A newer bench-core wrote one of them.
        """
        self.standings = TrialStandings([task.task_id for task in tasks], info.trials)
        self._written_by = info.versions.get("bench-core")
        file = path / "results.jsonl"
        seals = seals_of(info, file.name)
        self.log = CheckedLines(file, TrialResult, seals, written_by=self._written_by)
        self.unplanned: Counter[TrialKey] = Counter()
        self.benchmarks: Counter[str] = Counter()
        for _, start, result in self.log.walk(part):
            self.benchmarks[result.benchmark] += 1
            if not self.standings.note(result, start):
                if not self.unplanned:
                    self.standings.extend(read_info(path).trials)
                if not self.standings.note(result, start):
                    self.unplanned[TrialKey(task_id=result.task_id, trial=result.trial)] += 1

    def latest(self) -> StoredRecords[TrialResult]:
        """Return the last result of each trial, in the order of first results."""
        starts = self.standings.starts()
        return StoredRecords(self.log.path, TrialResult, starts, written_by=self._written_by)


def _identities(path: Path) -> list[Identity | None]:
    return [identity_of(path, name) for name in ("run.json", "tasks.jsonl", *LOGS)]


def read_tasks(path: Path, info: RunInfo) -> tuple[Task, ...]:
    """Read the planned tasks of the run folder `path`, whose `run.json` is `info`.

    Raises:
        RunFolderError: `tasks.jsonl` is missing or damaged.
        SchemaVersionError: A newer bench-core wrote it.
    """
    tasks = _read_task_lines(path, info)
    _refuse_bad_tasks(path, tasks.bad)
    return tuple(tasks.records)


def _refuse_bad_tasks(path: Path, bad: Sequence[BadLine]) -> None:
    if not (path / "tasks.jsonl").exists():
        raise RunFolderError(f"{path} has no tasks.jsonl; restore it from a copy")
    if bad:
        raise RunFolderError(f"{bad[0]}; restore tasks.jsonl from a copy")


def changed_files(path: Path, info: RunInfo) -> list[str]:
    """Return a message, with the remedy, if `run.json` or `tasks.jsonl` changed since it was written."""
    found = []
    if info.checksum is not None and not checksum_holds((path / "run.json").read_bytes()):
        found.append(f"run.json {_CHANGED}")
    tasks = path / "tasks.jsonl"
    if not tasks.exists():
        found.append("tasks.jsonl is missing: restore it from a copy")
    elif info.tasks_sha256 not in {None, file_sha256(tasks)}:
        found.append(f"tasks.jsonl {_CHANGED}")
    return found


def _read_task_lines(path: Path, info: RunInfo) -> Lines[Task]:
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
    """Return the folder of a trial's earlier attempts.

    `result-<sequence>` there holds the files of the result of that `sequence`, `unfinished-<n>` those
    of attempts that no result mentions.
    """
    return run / "attempts" / str(key.trial) / folder_name(key.task_id)


def kept_of_result(run: Path, key: TrialKey, sequence: int | None) -> Path:
    """Return the folder to which the files of result `sequence` move once another attempt begins."""
    return kept_attempts(run, key) / f"result-{sequence}"


def place_to_keep(run: Path, key: TrialKey, sequence: int | None) -> Path:
    """Return the folder in which to keep a trial's files: named by its result, if it has one."""
    if sequence is not None and not (kept := kept_of_result(run, key, sequence)).exists():
        return kept
    names = (f"unfinished-{n}" for n in itertools.count(1))
    return next(p for name in names if not (p := kept_attempts(run, key) / name).exists())


class _Left(msgspec.Struct, gc=False):
    """The part of a result that says which files its trial left."""

    task_id: str
    trial: int = 1
    sequence: int | None = None
    artifacts: tuple[_File, ...] = ()
    stored: dict[str, str] | None = None


class _File(msgspec.Struct, gc=False):
    path: str
    size: int | None = None


_LEFT = msgspec.json.Decoder(_Left)


def missing_files(run: RunView) -> Iterator[str]:
    """Yield the files of trials that are missing or of another size, by a look at each only."""
    found = 0
    for left in run.latest.parts(_LEFT.decode):
        if left.stored is None and left.artifacts:
            problem = _problem_of(run.path, left)
            found += problem is not None
            if problem is not None and found <= _SHOWN_TRIALS:
                yield problem
    if found > _SHOWN_TRIALS:
        yield (
            f"trials/: files of {found - _SHOWN_TRIALS} more trials are gone or changed; `bench-core check "
            f"{run.path}` names them all"
        )


def _problem_of(run: Path, left: _Left | TrialResult) -> str | None:
    """Return the problem with a result's files, in its own folder or the one they were moved to."""
    key = TrialKey(task_id=left.task_id, trial=left.trial)
    folder = trial_path(run, key)
    problem = _problem_in(folder, left.artifacts)
    # a later attempt without a result, whose process ended, lies there then
    kept = kept_of_result(run, key, left.sequence)
    if problem is None or (kept.exists() and _problem_in(kept, left.artifacts) is None):
        return None
    return f"{folder.relative_to(run).as_posix()} {problem}: restore it from a copy"


def _problem_in(folder: Path, files: Sequence[_File | ArtifactFile]) -> str | None:
    for each in files:
        try:
            status = os.lstat(f"{folder}/{each.path}")
        except (OSError, ValueError):
            return f"lacks {each.path}"
        if not stat.S_ISREG(status.st_mode) or each.size not in {None, status.st_size}:
            return f"has another {each.path} than the trial left"
    return None
