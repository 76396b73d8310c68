"""Synthetic ground truth from a run: its good end states, with wrong variants of each."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

from bench_core.errors import RecordError
from bench_core.files import write_atomic
from bench_core.records import Record, Task, TrialResult
from bench_core.records.judge import Verdict
from bench_core.run_folder import (
    FINISH_STATE,
    RunView,
    TrialArtifacts,
    read_json,
    read_run,
    trial_files,
)
from multireal_harness.definitions import definition_of
from multireal_harness.ground_truth.mutations import negatives_of
from multireal_harness.options import MultiRealRunOptions
from multireal_harness.states.files import stem
from multireal_harness.states.health import check_states
from multireal_harness.stored_judgements import stored_judgement

CONFIDENT = 0.8
"""The judge's confidence from which a state is kept."""


class Kept(Record):
    """Whether a trial's end state was kept; `reason` says why not."""

    task_id: str
    kept: bool
    reason: str = ""
    negatives: int = 0


def known_tasks(truth: Path, *, force: bool = False) -> set[str]:
    """Return the tasks that need no synthetic state: those with a manual or a synthetic one."""
    manual = {stem(path) for path in (truth / "manual").glob("*.json*")}
    synthetic = {stem(path) for path in (truth / "synthetic").glob("*.json.gz")}
    return manual if force else manual | synthetic


def without_truth(
    options: MultiRealRunOptions, truth: Path, *, force: bool = False
) -> MultiRealRunOptions | None:
    """Return the options of a run of the tasks without ground truth; None if all have it.

    The run folder is below `truth` unless the options name one.
    """
    known = options.known()
    wanted = options.with_ids(known).ids or tuple(task.task_id for task in known)
    done = known_tasks(truth, force=force)
    ids = tuple(each for each in wanted if each.removeprefix("multi.") not in done)
    out = options.out or truth / "runs" / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    return options.model_copy(update={"ids": ids, "out": out}) if ids else None


def harvest(run_folder: Path, truth: Path, *, threshold: float = CONFIDENT) -> list[Kept]:
    """Keep the sound states of a run of which the judge is confident enough.

    Args:
        run_folder: A run whose judge was also asked about passes (`--audit-passes 1`).
        truth: Gets `synthetic/TASK.json.gz` with its provenance, and `negatives/TASK/`.
        threshold: The judge's least confidence.
    """
    run = read_run(run_folder)
    run.tell_damage()
    tasks = {task.task_id: task for task in run.tasks}
    kept = []
    for key, result in run.results.items():
        with trial_files(run, result) as folder:
            kept.append(_keep(run, tasks[key.task_id], result, folder, truth, threshold))
    return kept


def _keep(
    run: RunView, task: Task, result: TrialResult, folder: Path, truth: Path, threshold: float
) -> Kept:
    definition = definition_of(task)
    reason = _reason_against(task, result, folder, threshold)
    if reason:
        return Kept(task_id=task.task_id, kept=False, reason=reason)
    states = read_json(folder / FINISH_STATE)
    artifacts = TrialArtifacts(truth)
    artifacts.write_state(states, f"synthetic/{definition.id}.json.gz")
    wrong = negatives_of(definition, states)
    for name, variant in wrong.items():
        artifacts.write_state(variant, f"negatives/{definition.id}/{name}.json.gz")
    verdict = stored_judgement(folder, result.details)
    provenance = {
        "run_id": run.info.run_id,
        "agent": result.agent,
        "model": result.model_reported or result.model,
        "trial": result.trial,
        "method": result.method,
        "queries_passed": [each.passed for each in result.checks if each.decided_by != "judge"],
        "judge": verdict.judge if verdict else None,
        "judge_model": verdict.model_reported or verdict.model if verdict else None,
        "confidence": _confidence(verdict),
        "calibrated": verdict is not None and verdict.confidence is not None,
    }
    path = truth / "synthetic" / f"{definition.id}.provenance.json"
    write_atomic(path, f"{json.dumps(provenance, indent=2)}\n".encode())
    return Kept(task_id=task.task_id, kept=True, negatives=len(wrong))


def _reason_against(task: Task, result: TrialResult, folder: Path, threshold: float) -> str:
    if result.score is None:
        return f"it has no score: {result.status.value}"
    verdict = stored_judgement(folder, result.details)
    if verdict is None:
        return "no judge was asked"
    if verdict.passed is not True:
        return f"the judge says {verdict.outcome}"
    if (sure := _confidence(verdict)) < threshold:
        return f"the judge is {sure:.2f} sure, less than {threshold:g}"
    try:
        states = read_json(folder / FINISH_STATE)
    except (FileNotFoundError, RecordError) as error:
        return f"its states cannot be read: {error}"
    serious = [each for each in check_states(definition_of(task), states) if each.serious]
    return f"{serious[0].app}: {serious[0].message}" if serious else ""


def _confidence(verdict: Verdict | None) -> float:
    """Return the calibrated confidence, or the one that the judge itself reports."""
    if verdict is None:
        return 0.0
    # a model's confidence in itself is not calibrated, so a measured one comes first
    given = verdict.confidence if verdict.confidence is not None else verdict.raw_confidence
    return 0.0 if given is None else given
