"""The run folder and its one writer.

::

    <run>/
      run.json         what was asked and with what; there once the run exists
      tasks.jsonl      the planned tasks
      results.jsonl    one result per line, the last line of a trial wins: the source of truth
      events.jsonl     what happened meanwhile
      trials/<trial>/<task>/     what each trial left
      attempts/<trial>/<task>/<n>/   what attempts before the last one left
      rescores/<id>/   results of later evaluations

Killing the writer at any moment loses the trials in flight and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, get_args

from bench_core.append_log import AppendLog, GroupSync
from bench_core.checksums import add_checksum, count_lines
from bench_core.codec import IDENTITY, encode, encode_sealed
from bench_core.errors import InputError, RunFolderError
from bench_core.files import sweep_temporary, write_atomic
from bench_core.jsonl import read_lines, set_aside_torn
from bench_core.locks import FileLock, lock_for_writing
from bench_core.provenance import current_session
from bench_core.records import Event, RunInfo, SessionOutcome, TrialKey, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_view import Problem, RunView, plan, read_info, read_run, trial_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from pydantic import JsonValue
    from typing_extensions import Self

    from bench_core.records import Status, Task

__all__ = ["Problem", "RunFolder", "RunView", "read_run", "write_info"]

_LOGS = ("results.jsonl", "events.jsonl")


def _now() -> datetime:
    return datetime.now(timezone.utc)


class RunFolder:
    """The single writer of one run folder; a context manager.

    Leaving the `with` block ends the session: `finished` when every planned trial has a
    result, `interrupted` after Ctrl-C or with trials left, `aborted` after another exception.

    Attributes:
        path: The folder.
        info: What `run.json` holds.
        tasks: The planned tasks.
    """

    def __init__(  # noqa: PLR0913  # the constructors below fill it
        self,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        *,
        lock: FileLock,
        redactor: Redactor,
        statuses: Mapping[tuple[str, int], Status] | None = None,
        lines: int = 0,
    ) -> None:
        """Write a folder that is locked and in order; use `create`, `resume` or `open` instead."""
        self.path = path
        self.info = info
        self.tasks = tuple(tasks)
        self.redactor = redactor
        self._lock = lock
        self._task_ids = {task.task_id for task in self.tasks}
        self._statuses = dict(statuses or {})
        self._lines = lines
        self._place = _place_of(path)
        self._sync = GroupSync()
        self._results = AppendLog(path / "results.jsonl", self._sync)
        self._events = AppendLog(path / "events.jsonl", self._sync)
        self._closed = False
        self._start_session()

    @classmethod
    def create(
        cls,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        *,
        redactor: Redactor | None = None,
    ) -> RunFolder:
        """Start a new run in `path`, which must not hold one.

        Args:
            path: The folder, made when missing.
            info: See `bench_core.provenance.describe_run`.
            tasks: The planned tasks, in the order in which they should run.
            redactor: Knows the keys that must not reach the disk; by default those in the
                environment.

        Raises:
            RunFolderBusyError: Another process is writing the folder.
            RunFolderError: The folder holds a run already.
            InputError: A task id occurs twice.
        """
        _refuse_duplicates(tasks)
        path.mkdir(parents=True, exist_ok=True)
        lock = lock_for_writing(path)
        try:
            return cls._create_locked(
                path, info, tasks, lock, redactor or Redactor.from_environment()
            )
        except BaseException:
            lock.release()
            raise

    @classmethod
    def resume(
        cls,
        path: Path,
        *,
        config_hash: str | None = None,
        task_set_hash: str | None = None,
        trials: int | None = None,
        redactor: Redactor | None = None,
    ) -> RunFolder:
        """Go on with the run in `path`.

        Args:
            path: The folder.
            config_hash: Refuse a run of another configuration.
            task_set_hash: Refuse a run of other tasks.
            trials: Trials per task from now on; more than before extends the plan.
            redactor: As for `create`.

        Raises:
            RunFolderBusyError: Another process is writing the folder.
            RunFolderError: There is no run, it is another one, or it is damaged.
            SchemaVersionError: A newer bench-core wrote it.
        """
        info = read_info(path)
        _refuse_other_run(path, info, config_hash, task_set_hash, trials)
        lock = lock_for_writing(path)
        try:
            return cls._resume_locked(path, trials, lock, redactor or Redactor.from_environment())
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        *,
        redactor: Redactor | None = None,
    ) -> RunFolder:
        """Go on with the run in `path` if it holds one, else start it there.

        What a second start of the same command does; raises what `create` and `resume` raise.
        """
        if not (path / "run.json").exists():
            return cls.create(path, info, tasks, redactor=redactor)
        return cls.resume(
            path,
            config_hash=info.config_hash,
            task_set_hash=info.task_set_hash,
            trials=info.trials,
            redactor=redactor,
        )

    def append(self, result: TrialResult) -> None:
        """Add a result; when this returns, killing the process does not lose it.

        It reaches the disk itself within half a second.

        Raises:
            RunFolderError: The trial is not in the plan, the disk does not take it, or the folder is
                no longer where it was.
        """
        identity = (result.task_id, result.trial)
        if result.task_id not in self._task_ids or result.trial > self.info.trials:
            raise RunFolderError(
                f"trial {result.trial} of task {result.task_id!r} is not in the plan of {self.path}"
            )
        self._refuse_another_place()
        numbered = result.model_copy(update={"sequence": self._lines + 1})
        self._results.append(encode_sealed(numbered, self.redactor))
        self._lines += 1
        self._statuses[identity] = result.status

    def event(self, event: Event) -> None:
        """Add an event, as lastingly as a result."""
        self._events.append(encode(event, self.redactor))

    def results(self) -> dict[TrialKey, TrialResult]:
        """Return the results as they are in the file; the last line of a trial wins."""
        lines = read_lines(self._results.path, TrialResult)
        lines.refuse_damage(self.path)
        return {result.key: result for result in lines.records}

    def remaining(self) -> list[TrialKey]:
        """Return the planned trials that are not done, in plan order.

        The plan runs all tasks once before it repeats any. Scored trials and evaluation errors are
        done; environment errors, spent budgets and cancelled trials are not.
        """
        return [key for key in plan(self.tasks, self.info.trials) if not self._is_done(key)]

    def trial_folder(self, key: TrialKey) -> Path:
        """Return the folder of a trial's artifacts, made when missing."""
        folder = trial_path(self.path, key)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def new_attempt(self, key: TrialKey) -> Path:
        """Return an empty folder for the next attempt at a trial.

        What an earlier attempt left moves to `attempts/<trial>/<task>/<n>`, so that nothing stale
        is scored.

        Raises:
            RunFolderError: The run's folder is no longer where it was.
        """
        self._refuse_another_place()
        folder = trial_path(self.path, key)
        if folder.is_dir() and any(folder.iterdir()):
            archive = self.path / "attempts" / str(key.trial) / folder.name
            archive.mkdir(parents=True, exist_ok=True)
            numbers = itertools.count(1)
            folder.rename(next(p for n in numbers if not (p := archive / str(n)).exists()))
        return self.trial_folder(key)

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
        now = _now()
        ended = {"finished": now, "outcome": outcome, **self._digest_of_results()}
        session = self.info.sessions[-1].model_copy(update=ended)
        update = {"sessions": (*self.info.sessions[:-1], session)}
        self._write_info(update | ({"finished": now} if outcome == "finished" else {}))
        self.close()

    def close(self) -> None:
        """Sync and close all files and free the folder; safe to call twice.

        Without `finish` the session counts as aborted.
        """
        self._closed = True
        try:
            self._results.close()
            self._events.close()
        finally:
            self._sync.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._closed:
            return
        if error is None:
            missing = len(self._statuses) < len(self.tasks) * self.info.trials
            self.finish("interrupted" if missing else "finished")
        elif isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            self.finish("interrupted")
        else:
            self.finish("aborted")

    @classmethod
    def _create_locked(
        cls,
        path: Path,
        info: RunInfo,
        tasks: Sequence[Task],
        lock: FileLock,
        redactor: Redactor,
    ) -> RunFolder:
        if (path / "run.json").exists():
            raise RunFolderError(
                f"{path} holds the run {read_info(path).run_id!r} already: resume it or use "
                f"another folder"
            )
        if (path / "results.jsonl").exists() and (path / "results.jsonl").stat().st_size:
            raise RunFolderError(f"{path} holds results but no run.json: use another folder")
        sweep_temporary(path)
        written = b"".join(encode(t, redactor) + b"\n" for t in tasks)
        write_atomic(path / "tasks.jsonl", written)
        info = info.model_copy(update={"tasks_sha256": hashlib.sha256(written).hexdigest()})
        return cls(path, info, tasks, lock=lock, redactor=redactor)

    @classmethod
    def _resume_locked(
        cls, path: Path, trials: int | None, lock: FileLock, redactor: Redactor
    ) -> RunFolder:
        sweep_temporary(path)
        view = read_run(path)  # only now: another process may just have ended
        if view.changed:
            raise RunFolderError(
                f"{view.changed[0]}; nothing goes on in a run that is not as it was"
            )
        moved = [moved for name in _LOGS if (moved := _set_aside(view, name))]
        info = view.info.model_copy(update={"trials": trials or view.info.trials})
        statuses = {(key.task_id, key.trial): each.status for key, each in view.results.items()}
        folder = cls(
            path,
            info,
            view.tasks,
            lock=lock,
            redactor=redactor,
            statuses=statuses,
            lines=view.lines,
        )
        for data in moved:
            folder.event(Event(time=_now(), kind="set_aside", data=data))
        return folder

    def _start_session(self) -> None:
        """Write `run.json`: a new folder is a run from here on."""
        before = [
            each.model_copy(update={"outcome": "aborted"}) if each.outcome == "running" else each
            for each in self.info.sessions
        ]
        session = current_session(self.info, _now())
        self._write_info({"sessions": (*before, session), "finished": None})

    def _write_info(self, update: dict[str, object]) -> None:
        self.info = self.info.model_copy(update=update)
        write_info(self.path, self.info, self.redactor)

    def _digest_of_results(self) -> dict[str, object]:
        self._results.sync()
        count, digest = count_lines(self._results.path)
        return {"results": count, "results_sha256": digest}

    def _refuse_another_place(self) -> None:
        """Stop where the folder was moved or deleted: what is written would go elsewhere, or nowhere.

        Raises:
            RunFolderError: It was.
        """
        if self._place is not None and _place_of(self.path) != self._place:
            raise RunFolderError(
                f"{self.path} was moved or deleted while the run was writing it: put it back, or run "
                f"the same command with its new place as --out to continue there"
            )

    def _is_done(self, key: TrialKey) -> bool:
        status = self._statuses.get((key.task_id, key.trial))
        return status is not None and status.done


def _place_of(path: Path) -> tuple[int, int] | None:
    """Return what tells a folder from any other, wherever it is moved; None where it is missing."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def write_info(path: Path, info: RunInfo, redactor: Redactor) -> None:
    """Write `run.json` of the folder `path`, with its checksum."""
    text = redactor.redact_line(info.model_dump_json(exclude={"checksum"}), keep=IDENTITY)
    document = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    write_atomic(path / "run.json", add_checksum(f"{document}\n".encode(), indent=b"\n  "))


def _refuse_duplicates(tasks: Sequence[Task]) -> None:
    counts = Counter(task.task_id for task in tasks)
    twice = [task_id for task_id, count in counts.items() if count > 1]
    if twice:
        raise InputError(f"the task {twice[0]!r} is planned twice: give each task once")


def _refuse_other_run(
    path: Path,
    info: RunInfo,
    config_hash: str | None,
    task_set_hash: str | None,
    trials: int | None,
) -> None:
    for what, wanted, found in (
        ("configuration", config_hash, info.config_hash),
        ("set of tasks", task_set_hash, info.task_set_hash),
    ):
        if wanted not in {None, found}:
            raise RunFolderError(
                f"{path} holds the run {info.run_id!r} with another {what} "
                f"({found[:12]}, not {str(wanted)[:12]}): use another folder, or repeat the "
                f"options in {path / 'run.json'}"
            )
    if trials is not None and trials < info.trials:
        raise RunFolderError(
            f"{path} was planned with {info.trials} trials per task; {trials} would drop some: "
            f"use another folder"
        )


def _set_aside(view: RunView, name: str) -> dict[str, JsonValue] | None:
    bad = view.bad_lines(name)
    kept = set_aside_torn(view.path / name, bad)
    if kept is None:
        return None
    torn = next(line for line in bad if line.torn)
    return {"file": name, "line": torn.number, "moved_to": kept.name, "reason": torn.reason}
