"""Checking run folders and setting aside what makes them unreadable."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.jsonl import BadLine, read_lines, set_aside_lines
from bench_core.locks import lock_for_writing
from bench_core.records import Event, Record, Task, TrialResult
from bench_core.run_view import plan, read_info, read_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.jsonl import Lines

__all__ = ["RunCheck", "SetAside", "check_run", "repair_run"]

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


def check_run(path: Path) -> RunCheck:
    """Read everything in the run folder `path` and tell what is wrong, changing nothing.

    Raises:
        RunFolderError: There is no run at all.
        SchemaVersionError: A newer bench-core wrote it.
    """
    info = read_info(path)
    tasks = read_lines(path / "tasks.jsonl", Task)
    results = read_lines(path / "results.jsonl", TrialResult)
    events = read_lines(path / "events.jsonl", Event)
    planned = plan(tuple(tasks.records), info.trials)
    last = {result.key: result for result in results.records}
    problems = [] if tasks.path.exists() else ["tasks.jsonl is missing: restore it from a copy"]
    problems += [str(line) for lines in (tasks, results, events) for line in lines.bad]
    problems += _foreign(results, info.benchmark)
    problems += [
        f"results.jsonl holds trial {key.trial} of task {key.task_id!r}, which is not planned"
        for key in sorted(set(last) - set(planned), key=lambda key: (key.task_id, key.trial))
    ]
    statuses = Counter(result.status.value for result in last.values())
    return RunCheck(path, info.run_id, len(planned), dict(statuses), tuple(problems))


def repair_run(path: Path) -> list[SetAside]:
    """Move every damaged or torn line of results and events to a file beside them.

    The trials of lost results run again when the run is resumed.

    Raises:
        RunFolderBusyError: The run is being written.
        RunFolderError: There is no run, or its tasks are missing or damaged, which only a copy can
            mend.
    """
    info = read_info(path)
    lock = lock_for_writing(path)
    try:
        read_tasks(path, info)
        return [each for name in _LOGS if (each := _repair(path / name, _LOGS[name])) is not None]
    finally:
        lock.release()


def _repair(path: Path, model: type[Record]) -> SetAside | None:
    bad = read_lines(path, model).bad
    kept = set_aside_lines(path, bad)
    return None if kept is None else SetAside(tuple(bad), kept)


def _foreign(results: Lines[TrialResult], benchmark: str) -> list[str]:
    others = Counter(each.benchmark for each in results.records if each.benchmark != benchmark)
    return [
        f"results.jsonl holds {count} results of the benchmark {name!r} in a run of {benchmark!r}"
        for name, count in sorted(others.items())
    ]
