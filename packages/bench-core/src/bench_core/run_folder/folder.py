"""The run folder and its one writer.

::

    <run>/
      run.json         the run's settings and environment; there once the run exists
      tasks.jsonl      the planned tasks
      results.jsonl    one result per line, the last line of a trial wins: the source of truth
      events.jsonl     events of the run, and the cost of each model call
      *.jsonl.end      the ends of these two files, while no session has closed them
      trials/<trial>/<task>/     the files of each trial
      attempts/<trial>/<task>/   the files of attempts before the last one
      rescores/<id>/   results of later evaluations
      notes.jsonl      people's notes on trials; see `bench_core.run_folder.notes`

Killing the writer at any moment loses the trials in flight and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import get_args

from pydantic import JsonValue
from typing_extensions import Self

from bench_core.errors import InputError, RunFolderError
from bench_core.files.append_log import GroupSync
from bench_core.files.atomic import write_atomic
from bench_core.files.checksums import checksum_holds
from bench_core.files.inside import refuse_links, refuse_unusual
from bench_core.files.locks import FileLock, lock_for_writing
from bench_core.files.space import TO_BEGIN, TO_GO_ON, require_open_files, require_space
from bench_core.records import Event, Rerun, RunInfo, SessionOutcome, Task, TrialKey, TrialResult
from bench_core.records.codec import encode_document
from bench_core.redaction import Redactor
from bench_core.run_folder.checked_log import CheckedLog, FileEnd
from bench_core.run_folder.indexed import ResultsByTrial
from bench_core.run_folder.jsonl import refuse_damage
from bench_core.run_folder.provenance import current_session
from bench_core.run_folder.same_run import refuse_to_continue
from bench_core.run_folder.standings import TrialStandings
from bench_core.run_folder.starting import prepare_to_resume, refuse_duplicates, write_plan
from bench_core.run_folder.times import ForwardTime, utc_now
from bench_core.run_folder.view import (
    Problem,
    RunView,
    StoredResults,
    place_to_keep,
    read_run,
    trial_path,
)

__all__ = ["Problem", "RunFolder", "RunView", "read_run", "write_info"]

_WRITTEN = ("trials", "attempts", "rescores")


class RunFolder:
    """The single writer of one run folder; a context manager.

    Leaving the `with` block ends the session: `finished` when every planned trial has a
    result, `interrupted` after Ctrl-C or with trials left, `aborted` after another exception.

    Attributes:
        path: The folder.
        info: The content of `run.json`.
        tasks: The planned tasks.
        before: The folder's content when this session began; None for a new one.
        standings: How each trial stands.
    """

    def __init__(
        self,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        *,
        lock: FileLock,
        redactor: Redactor,
        time: ForwardTime,
        before: RunView | None = None,
    ) -> None:
        """Write a folder that is locked and in order; use `create`, `resume` or `open` instead."""
        self.path = path
        self.info = info
        self.tasks = tuple(tasks)
        self.redactor = redactor
        self._lock = lock
        self._time = time
        self._task_ids = {task.task_id for task in self.tasks}
        self.before = before
        if before is None:
            self.standings = TrialStandings([task.task_id for task in self.tasks], info.trials)
        else:
            self.standings = before.standings
            self.standings.extend(info.trials)
        ends = (before.end, before.events.log.end) if before else (FileEnd(), FileEnd())
        self._place = _place_of(path)
        self._sync = GroupSync()
        self._results: CheckedLog[TrialResult] = CheckedLog(
            path / "results.jsonl", self._sync, redactor, ends[0]
        )
        self._events: CheckedLog[Event] = CheckedLog(
            path / "events.jsonl", self._sync, redactor, ends[1]
        )
        self._closed = False
        # Write `run.json`: a new folder is a run from here on
        sessions = [
            # A session that still says `running` was killed: this process holds the lock now.
            each.model_copy(update={"outcome": "aborted"}) if each.outcome == "running" else each
            for each in self.info.sessions
        ]
        session = current_session(self.info, self.now())
        self._write_info({"sessions": (*sessions, session), "finished": None})

    @classmethod
    def create(
        cls,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        *,
        redactor: Redactor | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> RunFolder:
        """Start a new run in `path`, which must not hold one.

        Args:
            path: The folder, made when missing.
            info: See `bench_core.run_folder.provenance.describe_run`.
            tasks: The planned tasks, in the order in which they should run.
            redactor: Knows the keys that must not reach the disk; by default those in the
                environment.
            now: The computer's clock.

        Raises:
            RunFolderBusyError: Another process is writing the folder.
            RunFolderError: The folder holds a run already, or its disk is full.
            InputError: A task id occurs twice, or two share a folder.
        """
        refuse_duplicates(tasks)
        require_open_files()
        require_space(path, TO_BEGIN)
        path.mkdir(parents=True, exist_ok=True)
        refuse_unusual(path)
        lock = lock_for_writing(path)
        try:
            clean = redactor or Redactor.from_environment()
            info = write_plan(path, info, tasks, clean)
            return cls(path, info, tasks, lock=lock, redactor=clean, time=ForwardTime(now))
        except BaseException:
            lock.release()
            raise

    @classmethod
    def resume(
        cls,
        path: Path,
        *,
        wanted: RunInfo | None = None,
        tasks: Sequence[Task] = (),
        trials: int | None = None,
        redactor: Redactor | None = None,
        now: Callable[[], datetime] = utc_now,
        known: RunView | None = None,
    ) -> RunFolder:
        """Go on with the run in `path`.

        Args:
            path: The folder.
            wanted: Refuse a run that was made with other options, or of other `tasks`; the program of
                its agent counts from now on.
            tasks: Those of `wanted`.
            trials: Trials per task from now on; more than before extends the plan.
            redactor: As for `create`.
            now: As for `create`; if it is before the run's last date, the run goes on from that.
            known: An earlier reading of the run; taken if nothing has changed since.

        Raises:
            RunFolderBusyError: Another process is writing the folder.
            RunFolderError: The run is missing, another one or damaged, or its disk is full.
            SchemaVersionError: A newer bench-core wrote it.
        """
        refuse_to_continue(path, wanted, tasks, trials, redactor)
        redactor = redactor or Redactor.from_environment()
        require_open_files()
        require_space(path, TO_BEGIN)
        for each in _WRITTEN:  # `read_info` has looked at the files next to them
            refuse_links(path / each, deepest=2)
        lock = lock_for_writing(path)
        try:
            stored = prepare_to_resume(path, wanted, trials, now, known)
            folder = cls(
                path,
                stored.info,
                stored.view.tasks,
                lock=lock,
                redactor=redactor,
                time=stored.time,
                before=stored.view,
            )
        except BaseException:
            lock.release()
            raise
        try:
            for kind, data in stored.events():
                folder.note(kind, data)
        except RunFolderError:  # the session has begun, and no caller has the folder to end it
            folder._abort()
            raise
        return folder

    @classmethod
    def open(
        cls,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        *,
        redactor: Redactor | None = None,
        now: Callable[[], datetime] = utc_now,
        known: RunView | None = None,
    ) -> RunFolder:
        """Go on with the run in `path` if it holds one, else start it there.

        A second start of the same command does this; raises the errors of `create` and `resume`.
        """
        if not (path / "run.json").exists():
            return cls.create(path, info, tasks, redactor=redactor, now=now)
        return cls.resume(
            path,
            wanted=info,
            tasks=tasks,
            trials=info.trials,
            redactor=redactor,
            now=now,
            known=known,
        )

    def now(self) -> datetime:
        """Return the time as the run counts it: never before a date that is in the folder."""
        return self._time.now()

    def append(self, result: TrialResult) -> None:
        """Add a result; when this returns, killing the process does not lose it.

        It reaches the disk itself within half a second.

        Raises:
            RunFolderError: The trial is not in the plan, the disk does not take it, or the folder is
                no longer in its place.
        """
        if result.task_id not in self._task_ids or result.trial > self.info.trials:
            raise RunFolderError(
                f"trial {result.trial} of task {result.task_id!r} is not in the plan of {self.path}"
            )
        self._refuse_another_place()
        if result.agent_code is None:  # the scheduler's own results of trials it ended
            code = self.info.agent_code
            short = code and code.model_copy(update={"files": ()})
            result = result.model_copy(update={"agent_code": short})
        self.standings.note(self._results.append(result))

    def event(self, event: Event) -> None:
        """Add an event, as lastingly as a result."""
        self._events.append(event)

    def note(self, kind: str, data: Mapping[str, JsonValue]) -> None:
        """Add an event of the run, of now."""
        self.event(Event(time=self.now(), kind=kind, data=dict(data)))

    def results(self) -> Mapping[TrialKey, TrialResult]:
        """Return the results as they are in the file; the last line of a trial wins."""
        found = StoredResults(self.path, self.info, self.tasks)
        refuse_damage(self.path, found.log.bad)
        return ResultsByTrial(found.latest(), found.standings)

    def verify(self) -> None:
        """Refuse results that have changed since they were written.

        Raises:
            RunFolderError: Names the first such line and the remedy.
        """
        # reading them as records would take five times as long, for each run at its end
        with self._results.path.open("rb") as lines:
            if all(checksum_holds(line.removesuffix(b"\n")) for line in lines):
                return
        self.results()  # raises if a line is bad; lines of other programs have no checksum

    def remaining(self) -> list[TrialKey]:
        """Return the planned trials that are not done, in plan order.

        The plan runs all tasks once before it repeats any. Scored trials and evaluation errors are
        done unless `run_again` named them; environment errors, spent budgets and cancelled
        trials are not.
        """
        return self.standings.remaining()

    def run_again(self, asked: Sequence[str], trials: Sequence[TrialKey]) -> None:
        """Count `trials` as not done until each has a new result, in later sessions, too.

        Args:
            asked: The selection (`failed`, ids of tasks, ...), as the user put it.
            trials: Those that have results; their files are kept.
        """
        rerun = Rerun(asked=tuple(asked), trials=tuple(trials), after=self._results.end.lines)
        session = self.info.sessions[-1].model_copy(update={"rerun": rerun})
        self._write_info({"sessions": (*self.info.sessions[:-1], session)})
        self.standings.run_again(trials)

    def trial_folder(self, key: TrialKey) -> Path:
        """Return the folder of a trial's artifacts, made when missing."""
        folder = trial_path(self.path, key)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def new_attempt(self, key: TrialKey) -> Path:
        """Return an empty folder for the next attempt at a trial.

        Files of an earlier attempt move to `attempts/<trial>/<task>/` (see `kept_attempts`), so that
        nothing stale is scored.

        Raises:
            RunFolderError: The run's folder is no longer in its place, or its disk is full.
        """
        self._refuse_another_place()
        require_space(self.path, TO_GO_ON)
        folder = trial_path(self.path, key)
        try:
            # Nearly every attempt is a trial's first: looking before costs three times as much.
            folder.mkdir()
        except FileNotFoundError:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            if any(folder.iterdir()):
                kept = place_to_keep(self.path, key, self.standings.sequence(key))
                kept.parent.mkdir(parents=True, exist_ok=True)
                folder.rename(kept)
                folder.mkdir()
        self.standings.begin_attempt(key)
        return folder

    def sync(self) -> None:
        """Return when everything added so far is on the disk."""
        self._results.sync()
        self._events.sync()

    def finish(self, outcome: SessionOutcome) -> None:
        """End this session with `outcome` and close the folder."""
        if outcome not in get_args(SessionOutcome):
            raise InputError(f"unknown outcome {outcome!r}: use one of {get_args(SessionOutcome)}")
        if self._closed:
            return
        self._refuse_another_place()
        now = self.now()
        results, events = self._results.seal(), self._events.seal()
        session = self.info.sessions[-1].model_copy(
            update={
                "finished": now,
                "outcome": outcome,
                "results": results[0],
                "results_sha256": results[1],
                "events": events[0],
                "events_sha256": events[1],
            }
        )
        update = {"sessions": (*self.info.sessions[:-1], session)}
        whole = self.info.stopping_rule is not None or not self._lacks_results()
        self._write_info(update | ({"finished": now} if outcome == "finished" and whole else {}))
        self._close(sealed=True)

    def close(self) -> None:
        """Sync and close all files and free the folder; safe to call twice.

        Without `finish` the session counts as aborted.
        """
        self._close(sealed=False)

    def _close(self, *, sealed: bool) -> None:
        self._closed = True
        try:
            self._results.close(sealed=sealed)
            self._events.close(sealed=sealed)
        finally:
            self._sync.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._closed:
            return
        if error is None:
            self.finish("interrupted" if self._lacks_results() else "finished")
        elif isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            self.finish("interrupted")
        else:
            self._abort()

    def _abort(self) -> None:
        """End the session after an error, which takes precedence if the end cannot be written down."""
        with contextlib.suppress(OSError, RunFolderError):
            self.finish("aborted")
        with contextlib.suppress(OSError, RunFolderError):
            self.close()

    def _write_info(self, update: dict[str, object]) -> None:
        self.info = self.info.model_copy(update=update)
        write_info(self.path, self.info, self.redactor)

    def _refuse_another_place(self) -> None:
        """Stop if the folder was moved or deleted: writes would go elsewhere, or nowhere.

        Raises:
            RunFolderError: It was.
        """
        if self._place is not None and _place_of(self.path) != self._place:
            raise RunFolderError(
                f"{self.path} was moved or deleted while the run was writing it: put it back, or run "
                f"the same command with its new place as --out to continue there"
            )

    def _lacks_results(self) -> bool:
        return len(self.standings) < len(self.tasks) * self.info.trials


def _place_of(path: Path) -> tuple[int, int] | None:
    """Return the identity of a folder, which survives moves; None if it is missing."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def write_info(path: Path, info: RunInfo, redactor: Redactor) -> None:
    """Write `run.json` of the folder `path`, with its checksum."""
    write_atomic(path / "run.json", encode_document(info, redactor))
