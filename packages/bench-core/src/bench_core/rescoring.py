"""Scores finished runs again from what they stored, beside the first results, never over them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from bench_core.codec import encode
from bench_core.errors import BenchError, EvaluationError, InputError
from bench_core.files import folder_name, write_atomic
from bench_core.provenance import package_versions
from bench_core.records import ErrorInfo, Record, Status, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.protocols import Benchmark
    from bench_core.records import Task
    from bench_core.run_folder import RunView

__all__ = ["Change", "RescoreInfo", "RescoreOutcome", "rescore_run", "rescore_run_sync"]


class Change(Record):
    """A trial whose status or score differs from the first result."""

    task_id: str
    trial: PositiveInt
    status_before: Status
    score_before: FiniteFloat | None
    status: Status
    score: FiniteFloat | None
    reason: str | None = None


class RescoreInfo(Record):
    """`rescore.json`: what was scored again, when and with what."""

    schema_version: Literal[1] = 1
    rescore_id: str
    run_id: str
    benchmark: str
    started: datetime
    finished: datetime
    versions: dict[str, str]
    rescored: NonNegativeInt
    changed: NonNegativeInt


class RescoreOutcome(Record):
    """What scoring a run again gave.

    Attributes:
        left_out: Trials that never got as far as an evaluation.
        changes: The trials that differ, in the order of the run.
    """

    folder: str
    rescored: NonNegativeInt
    left_out: NonNegativeInt
    changes: tuple[Change, ...] = ()


async def rescore_run(
    benchmark: Benchmark,
    run_folder: Path,
    *,
    name: str | None = None,
    workers: int = 1,
    redactor: Redactor | None = None,
) -> RescoreOutcome:
    """Score every evaluated trial of a run again and write `rescores/<name>/` in its folder.

    There are the new results (`results.jsonl`), what differs from the first ones (`changes.json`)
    and what it was done with (`rescore.json`). The first results stay as they are.

    Args:
        benchmark: Scores from artifacts.
        run_folder: A run of that benchmark.
        name: The rescore's name; by default the time.
        workers: Trials at once, for evaluations that wait for a model.
        redactor: Knows the keys that must not be written; by default those in the environment.

    Raises:
        InputError: The run is of another benchmark, or there is a rescore of that name.
    """
    run = read_run(run_folder)
    if run.info.benchmark != benchmark.name:
        raise InputError(f"{run_folder} is a run of {run.info.benchmark!r}, not {benchmark.name!r}")
    started = datetime.now(timezone.utc)
    rescore_id = name or f"{started:%Y%m%dT%H%M%SZ}"
    folder = _new_folder(run_folder, rescore_id)
    before = [result for result in run.results.values() if result.status.done]
    after = await _rescore_all(benchmark, run, before, workers)
    changes = tuple(
        _change(old, new) for old, new in zip(before, after, strict=True) if _differs(old, new)
    )
    info = RescoreInfo(
        rescore_id=rescore_id,
        run_id=run.info.run_id,
        benchmark=benchmark.name,
        started=started,
        finished=datetime.now(timezone.utc),
        versions=package_versions(run.info.versions),
        rescored=len(after),
        changed=len(changes),
    )
    _write(folder, info, after, changes, redactor or Redactor.from_environment())
    left_out = len(run.results) - len(before)
    return RescoreOutcome(
        folder=str(folder), rescored=len(after), left_out=left_out, changes=changes
    )


def rescore_run_sync(
    benchmark: Benchmark,
    run_folder: Path,
    *,
    name: str | None = None,
    workers: int = 1,
    redactor: Redactor | None = None,
) -> RescoreOutcome:
    """Do what `rescore_run` does, on an event loop of its own."""
    return asyncio.run(
        rescore_run(benchmark, run_folder, name=name, workers=workers, redactor=redactor)
    )


def _new_folder(run_folder: Path, rescore_id: str) -> Path:
    folder = run_folder / "rescores" / folder_name(rescore_id)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"{folder} exists: give the rescore another name") from None
    return folder


async def _rescore_all(
    benchmark: Benchmark, run: RunView, results: Sequence[TrialResult], workers: int
) -> list[TrialResult]:
    tasks = {task.task_id: task for task in run.tasks}
    places = asyncio.Semaphore(workers)

    async def one(result: TrialResult) -> TrialResult:
        async with places:
            return await _rescore(benchmark, tasks[result.task_id], result, run)

    return list(await asyncio.gather(*(one(result) for result in results)))


async def _rescore(
    benchmark: Benchmark, task: Task, result: TrialResult, run: RunView
) -> TrialResult:
    try:
        return await benchmark.rescore(task, result, run.trial_folder(result.key))
    except EvaluationError as error:
        return _not_evaluated(result, error)
    except BenchError:
        raise
    except Exception as error:  # noqa: BLE001  # foreign evaluators run here: their faults are never a score
        return _not_evaluated(result, error)


def _not_evaluated(result: TrialResult, error: Exception) -> TrialResult:
    info = ErrorInfo(kind=type(error).__name__, message=str(error), phase="evaluation")
    return TrialResult(
        **{
            **dict(result),
            "status": Status.EVALUATION_ERROR,
            "score": None,
            "success": None,
            "error": info,
        }
    )


def _differs(before: TrialResult, after: TrialResult) -> bool:
    return (before.status, before.score) != (after.status, after.score)


def _change(before: TrialResult, after: TrialResult) -> Change:
    return Change(
        task_id=after.task_id,
        trial=after.trial,
        status_before=before.status,
        score_before=before.score,
        status=after.status,
        score=after.score,
        reason=None if after.error is None else after.error.message,
    )


def _write(
    folder: Path,
    info: RescoreInfo,
    results: Sequence[TrialResult],
    changes: Sequence[Change],
    redactor: Redactor,
) -> None:
    """Write `rescore.json` last: a folder without it was interrupted."""
    lines = b"".join(encode(result, redactor) + b"\n" for result in results)
    write_atomic(folder / "results.jsonl", lines)
    changed = b",\n".join(encode(change, redactor) for change in changes)
    write_atomic(folder / "changes.json", b"[" + changed + b"]\n")
    write_atomic(folder / "rescore.json", encode(info, redactor) + b"\n")
