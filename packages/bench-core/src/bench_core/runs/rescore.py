"""Scores a run again from its stored files: the work of the `rescore` commands, in one call."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from bench_core.errors import BenchError, EvaluationError, InputError, RefusedFileError
from bench_core.files.inside import refuse_unusual
from bench_core.records import ArtifactFile, ErrorInfo, Record, Status, Task, TrialKey, TrialResult
from bench_core.records.codec import encode
from bench_core.records.vocabulary import FailureMode
from bench_core.redaction import Redactor
from bench_core.run_folder.artifacts import changed_artifacts
from bench_core.run_folder.folder import RunView, read_run
from bench_core.run_folder.rescore_folder import RescoreFolder, read_rescore
from bench_core.run_folder.stored import trial_files
from bench_core.run_spec import trial_seed
from bench_core.trial import Benchmark, close_benchmark, rescore_trial


class Change(Record):
    """A trial whose status or score differs from the first result."""

    task_id: str
    trial: PositiveInt
    status_before: Status
    score_before: FiniteFloat | None
    status: Status
    score: FiniteFloat | None
    reason: str | None = None


class RescoreOutcome(Record):
    """The outcome of scoring a run again.

    Attributes:
        rescored: Trials that were evaluated again.
        unscored: Those of them that have no score now.
        why_unscored: The commonest reason.
        left_out: Trials that never got as far as an evaluation.
        changes: The trials that differ, in the order of the run.
    """

    rescore_id: str
    folder: str
    rescored: NonNegativeInt
    unscored: NonNegativeInt = 0
    why_unscored: str | None = None
    left_out: NonNegativeInt
    changes: tuple[Change, ...] = ()


async def rescore_run(
    benchmark: Benchmark,
    run_folder: Path,
    *,
    name: str | None = None,
    profile: str | None = None,
    reason: str | None = None,
    workers: int = 1,
    redactor: Redactor | None = None,
) -> RescoreOutcome:
    """Score every evaluated trial of a run again and write `rescores/<name>/` in its folder.

    The first results stay as they are; `changes.json` lists the differences. A rescore that was
    interrupted goes on under the same name.

    Args:
        benchmark: Scores from artifacts.
        run_folder: A run of that benchmark.
        name: The rescore's name; by default the time.
        profile: The rules `benchmark` scores by; by default the run's.
        reason: Why it is done; for the record.
        workers: Trials at once, for evaluations that wait for a model.
        redactor: Knows the keys that must not be written; by default those in the environment.

    Raises:
        InputError: The run is of another benchmark.
        RunFolderError: There is a rescore of that name by other rules.
    """
    redactor = redactor or Redactor.from_environment()
    run = read_run(run_folder)
    if run.info.benchmark != benchmark.name:
        raise InputError(f"{run_folder} is a run of {run.info.benchmark!r}, not {benchmark.name!r}")
    rescore_id = name or f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    rules = profile or run.info.profile
    places, tasks = asyncio.Semaphore(workers), {task.task_id: task for task in run.tasks}

    async def one(key: TrialKey) -> None:
        async with places:
            folder.append(await _rescore(benchmark, run, tasks, key))

    with RescoreFolder(
        run_folder, rescore_id, profile=rules, reason=reason, redactor=redactor
    ) as folder:
        await asyncio.gather(*(one(key) for key in folder.remaining()))
        after = read_rescore(run_folder, rescore_id).results
        changes = _changes(run, after)
        lines = b",\n".join(encode(change, redactor) for change in changes)
        folder.write_changes(b"[" + lines + b"]\n")
    unscored = [each for each in after.values() if each.score is None]
    reasons = Counter(each.error.message for each in unscored if each.error is not None)
    return RescoreOutcome(
        rescore_id=rescore_id,
        folder=str(folder.path),
        rescored=len(after),
        unscored=len(unscored),
        why_unscored=reasons.most_common(1)[0][0] if reasons else None,
        left_out=len(run.results) - len(after),
        changes=changes,
    )


def rescore_run_sync(
    benchmark: Benchmark,
    run_folder: Path,
    *,
    name: str | None = None,
    profile: str | None = None,
    reason: str | None = None,
    workers: int = 1,
) -> RescoreOutcome:
    """Call `rescore_run` on an event loop of its own, and close the benchmark."""

    async def rescored() -> RescoreOutcome:
        try:
            return await rescore_run(
                benchmark, run_folder, name=name, profile=profile, reason=reason, workers=workers
            )
        finally:
            await close_benchmark(benchmark)

    return asyncio.run(rescored())


async def _rescore(
    benchmark: Benchmark, run: RunView, tasks: Mapping[str, Task], key: TrialKey
) -> TrialResult:
    result = run.results[key]
    try:
        seed = trial_seed(run.info.seed, key)
        with contextlib.ExitStack() as stack:
            folder = await asyncio.to_thread(stack.enter_context, trial_files(run, result))
            # Evaluators open files by their paths, and may be others' code.
            refuse_unusual(folder, below=True)
            refuse_changed(result.artifacts, folder)
            return await rescore_trial(benchmark, tasks[key.task_id], result, folder, seed=seed)
    except (EvaluationError, RefusedFileError) as error:
        return _not_evaluated(result, error)
    except BenchError:
        raise
    except Exception as error:  # noqa: BLE001  # foreign evaluators run here: their faults are never a score
        return _not_evaluated(result, error)


def refuse_changed(artifacts: Iterable[ArtifactFile], folder: Path) -> None:
    """Raise for an artifact that changed since the trial.

    Removed files, such as pictures, may not be needed; an evaluator reports those it misses.

    Raises:
        EvaluationError: There is one.
    """
    there = [each for each in artifacts if (folder / each.path).is_file()]
    for changed in changed_artifacts(folder, there):
        raise EvaluationError(changed)


def _not_evaluated(result: TrialResult, error: Exception) -> TrialResult:
    info = ErrorInfo(kind=type(error).__name__, message=str(error), phase="evaluation")
    update = {
        "status": Status.EVALUATION_ERROR,
        "score": None,
        "success": None,
        "checks": (),
        "failure_mode": FailureMode.EVALUATION_ERROR,
        "suspect": (),
        "error": info,
    }
    return TrialResult.model_validate({**dict(result), **update})


def _changes(run: RunView, after: dict[TrialKey, TrialResult]) -> tuple[Change, ...]:
    pairs = [(old, after[key]) for key, old in run.results.items() if key in after]
    return tuple(
        Change(
            task_id=new.task_id,
            trial=new.trial,
            status_before=old.status,
            score_before=old.score,
            status=new.status,
            score=new.score,
            reason=None if new.error is None else new.error.message,
        )
        for old, new in pairs
        if (old.status, old.score) != (new.status, new.score)
    )
