"""The checks and repairs of a run folder before a session writes to it; the caller holds its lock."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from bench_core.errors import InputError, RunFolderError
from bench_core.files.atomic import folder_name, ignores_case, sweep_temporary, write_atomic
from bench_core.records import AgentCode, RunInfo, Task
from bench_core.records.codec import encode
from bench_core.redaction import Redactor
from bench_core.run_folder.checked_log import LOGS, unsealed
from bench_core.run_folder.jsonl import refuse_damage, set_aside_torn
from bench_core.run_folder.leftovers import sweep_killed
from bench_core.run_folder.same_run import refuse_results_alone
from bench_core.run_folder.times import ForwardTime
from bench_core.run_folder.view import RunView, read_info, read_run

_SET_BACK = timedelta(seconds=1)
"""A clock set back by at least this is written down; smaller steps are ordinary corrections of clocks."""


class StoredSessions(NamedTuple):
    """The records of earlier sessions, in order, with the torn lines that were set aside, and the losses."""

    view: RunView
    info: RunInfo
    time: ForwardTime
    moved: list[dict[str, JsonValue]]
    lost: tuple[str, ...]

    def events(self) -> Iterator[tuple[str, dict[str, JsonValue]]]:
        """Return the events that the next session writes once it has begun: only then the clock was read."""
        yield from (("set_aside", each) for each in self.moved)
        for each in self.lost:
            yield "lines_lost", {"problem": each}
        if self.time.ahead >= _SET_BACK:
            yield "clock_set_back", {"seconds": self.time.ahead.total_seconds()}


def refuse_duplicates(tasks: Sequence[Task]) -> None:
    """Raise if a task is planned twice.

    Raises:
        InputError: Names it.
    """
    counts = Counter(task.task_id for task in tasks)
    twice = [task_id for task_id, count in counts.items() if count > 1]
    if twice:
        raise InputError(f"the task {twice[0]!r} is planned twice: give each task once")


def write_plan(path: Path, info: RunInfo, tasks: Sequence[Task], redactor: Redactor) -> RunInfo:
    """Write the tasks of a run that begins in `path`, and return `info` with their checksum.

    Raises:
        RunFolderError: The folder holds a run or results already.
        InputError: Two tasks would share a folder.
    """
    _refuse_shared_folders(path, tasks)
    if (path / "run.json").exists():
        raise RunFolderError(
            f"{path} holds the run {read_info(path).run_id!r} already: resume it or use another folder"
        )
    refuse_results_alone(path)
    sweep_temporary(path)
    # Before run.json: a folder that has one is a whole run.
    written = b"".join(encode(t, redactor) + b"\n" for t in tasks)
    write_atomic(path / "tasks.jsonl", written)
    return info.model_copy(update={"tasks_sha256": hashlib.sha256(written).hexdigest()})


def prepare_to_resume(
    path: Path,
    wanted: RunInfo | None,
    trials: int | None,
    now: Callable[[], datetime],
    known: RunView | None,
) -> StoredSessions:
    """Put a run folder in order and return its content; the arguments are those of `RunFolder.resume`.

    Raises:
        RunFolderError: It is damaged, or was changed.
        InputError: Two of its tasks share a folder on its present disk.
    """
    sweep_temporary(path)
    # only now: another process may just have ended
    view = known if known is not None and known.is_current() else read_run(path)
    _refuse_shared_folders(path, view.tasks)
    time = ForwardTime(now, view.last_date())
    refuse_damage(path, view.bad_lines("events.jsonl"))  # the cost of calls would be another number
    if view.changed:
        raise RunFolderError(
            f"{view.changed[0]}, or let `bench-core repair {path}` set aside what can be; nothing goes on in "
            f"a run that is not as it was"
        )
    lost = view.lost  # as far as it shows before this session writes
    sweep_killed(view)
    moved = [moved for name in LOGS if (moved := _set_aside(view, name))]
    code = _code_of(view.info, wanted)
    cut_off = [log.path.name for log in view.logs if log.cut_off]
    info = unsealed(view.info, cut_off).model_copy(
        update={"trials": trials or view.info.trials, "agent_code": code}
    )
    return StoredSessions(view, info, time, moved, lost)


def _refuse_shared_folders(path: Path, tasks: Sequence[Task]) -> None:
    """Raise if two tasks would share a folder, because the disk ignores case.

    Raises:
        InputError: Names them.
    """
    by_name: dict[str, str] = {}
    for task in tasks:
        other = by_name.setdefault(folder_name(task.task_id).lower(), task.task_id)
        if other != task.task_id and ignores_case(path):
            raise InputError(
                f"the tasks {other!r} and {task.task_id!r} would share a folder in {path}, whose disk takes "
                f"no notice of case: use a folder on another disk, or leave one of them out (--skip-task)"
            )


def _code_of(stored: RunInfo, wanted: RunInfo | None) -> AgentCode | None:
    """Return the agent's program now, or, if nothing identifies it, the one before."""
    now = wanted.agent_code if wanted is not None else None
    known = stored.agent_code is not None and stored.agent_code.sha256 is not None
    return stored.agent_code if now is None or (known and now.sha256 is None) else now


def _set_aside(view: RunView, name: str) -> dict[str, JsonValue] | None:
    bad = view.bad_lines(name)
    kept = set_aside_torn(view.path / name, bad)
    if kept is None:
        return None
    torn = next(line for line in bad if line.torn)
    return {"file": name, "line": torn.number, "moved_to": kept.name, "reason": torn.reason}
