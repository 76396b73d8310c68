"""The record of a trial, put together from its parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_core.faults import FAULTS, HARNESS_ERROR, FaultEvidence, FaultKind, fault_of
from bench_core.faults.table import Origin
from bench_core.protocols import TrialContext
from bench_core.records import (
    AgentEnding,
    AgentOutcome,
    ErrorInfo,
    Spending,
    Status,
    Step,
    Task,
    TrialResult,
    Usage,
)
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.run_folder.artifacts import TRAJECTORY, describe_artifacts
from bench_core.run_folder.jsonl import read_lines
from bench_core.run_folder.left_files import TRIAL_LIMITS, keep_files
from bench_core.trial.agent_work import error_info
from bench_core.trial.hooks import Evaluation, TrialEnvironment

NOT_CLOSED = "not_closed"
"""Flags results whose environment could not be closed after all that is scored was captured."""
CLAIMS_FAULT = "agent_claims_fault"
"""Flags trials whose agent says, from a process of its own, that something else had failed."""
RERUN = "rerun"
"""Flags results of trials that had a lasting result and were run again on request."""
USAGE_REPORTED = "usage_reported"
"""Flags results whose usage was not metered: it is the agent's own report."""

_SUCCESS = 1.0
_NO_USAGE = Usage()


def conditions(task: Task, context: TrialContext) -> dict[str, Any]:
    """Return the fields of a result that were given before its trial began."""
    return {
        "benchmark": task.benchmark,
        "task_id": task.task_id,
        "trial": context.trial,
        "agent": context.agent,
        "model": context.model,
        "world": context.world,
        "profile": context.profile,
        "timing": context.timing,
    }


def reported_fields(outcome: AgentOutcome) -> dict[str, Any]:
    """Return the agent's report of itself; a meter, if there is one, knows its usage better."""
    spent: tuple[Spending, ...] = ()
    if outcome.usage != _NO_USAGE or outcome.cost_usd is not None:
        usage, cost_usd = outcome.usage, outcome.cost_usd
        spent = (Spending(source="agent", usage=usage, cost_usd=cost_usd, reported=True),)
    return {
        "model_reported": outcome.model_reported,
        "steps": outcome.steps,
        "usage": outcome.usage,
        "cost_usd": outcome.cost_usd,
        "spent": spent,
    }


def with_steps(outcome: AgentOutcome, folder: Path, done: int = 0) -> AgentOutcome:
    """Count steps and tokens from the acts and files of an agent that reported none."""
    # a `Path` made for one look costs more than the look
    if outcome.steps or not (done or os.path.exists(f"{folder}/{TRAJECTORY}")):  # noqa: PTH110
        return outcome
    steps = read_lines(folder / TRAJECTORY, Step).records
    usage = sum((step.usage for step in steps if step.usage), Usage())
    reported = outcome.usage if outcome.usage != _NO_USAGE else usage
    return outcome.model_copy(update={"steps": max(len(steps), done), "usage": reported})


def ending_of(outcome: AgentOutcome, environment: TrialEnvironment) -> AgentEnding:
    """Return how the agent's part ended, with the flags that stand whatever its score."""
    return AgentEnding(
        status=outcome.status,
        answer=outcome.answer,
        flags=tuple(dict.fromkeys([*outcome.flags, *environment.flags])),
        error=outcome.error,
        details=outcome.details,
    )


def evaluated_fields(
    ending: AgentEnding, evaluation: Evaluation, details: Mapping[str, Any], steps: int
) -> dict[str, Any]:
    """Return the fields of a result that its evaluation decides."""
    status = evaluation.status or ending.status
    error = evaluation.error or ending.error
    if evaluation.score is None and status.scored:
        status = Status.EVALUATION_ERROR
        error = evaluation.error or ErrorInfo(
            kind="NotScored",
            message="the evaluator gave no score and no reason",
            phase="evaluation",
        )
    fields = {
        "status": status,
        "score": evaluation.score,
        "method": evaluation.method,
        "checks": evaluation.checks,
        "confidence": evaluation.confidence,
        "flags": tuple(dict.fromkeys([*ending.flags, *evaluation.flags])),
        "failure_mode": _failure_mode(ending, status, evaluation, steps),
        "suspect": _suspect(ending, evaluation),
        "error": error,
        "details": {**details, **evaluation.details},
    }
    return fields if evaluation.profile is None else {**fields, "profile": evaluation.profile}


def fault_fields(
    error: Exception, phase: str, *, after_work: bool, origin: Origin = "benchmark"
) -> dict[str, Any]:
    """Return the fields that an error decides if it leaves a trial without a score.

    Args:
        error: The error that happened.
        phase: When.
        after_work: Whether the agent's part was over, so that another try would pay for it again.
        origin: Whose code raised it.
    """
    kind = fault_of(FaultEvidence(error, phase, origin, after_work=after_work))
    info = error_info(error, phase)
    if kind.flag == HARNESS_ERROR:
        # a bare KeyError says no more than its key
        info = info.model_copy(update={"message": f"{info.kind}: {info.message}"})
    return kind_fields(kind, info, getattr(error, "flag", None))


def kind_fields(kind: FaultKind, error: ErrorInfo, flag: str | None = None) -> dict[str, Any]:
    """Return the fields of a result without a score: its fault, and the flag of the error itself."""
    return {
        "status": kind.status,
        "score": None,
        "flags": tuple(each for each in (flag, kind.flag) if each),
        "failure_mode": kind.failure_mode,
        "error": error.model_copy(update={"fault": kind.name}),
    }


def unscored_result(task: Task, context: TrialContext, fields: Mapping[str, Any]) -> TrialResult:
    """Return the result of an attempt that ended before it could report anything.

    Steps and files are those in the trial's folder.
    """
    counted = with_steps(AgentOutcome(), context.folder)
    return TrialResult(
        **conditions(task, context),
        **{**reported_fields(counted), **fields},
        **files_of(context),
    )


def files_of(context: TrialContext) -> dict[str, Any]:
    """Return the fields that list a trial's files; reads them all, which may take long.

    Files that no trial's folder may hold are removed from it, and reported.
    """
    context.left_out.extend(keep_files(context.folder, context.folder, TRIAL_LIMITS))
    return {
        "artifacts": describe_artifacts(context.folder),
        "left_out": tuple(context.left_out),
    }


def _suspect(ending: AgentEnding, evaluation: Evaluation) -> tuple[SuspectCause, ...]:
    """Return why a score may not be the agent's doing; a mere claim of the agent is not evidence."""
    if evaluation.score is None:
        return ()
    causes = list(evaluation.suspect)
    if CLAIMS_FAULT in ending.flags and evaluation.score < _SUCCESS:
        causes.append(SuspectCause.ENVIRONMENT_FAULT)
    kind = _kind_of(ending)
    if kind is not None and kind.suspect and evaluation.score < _SUCCESS:
        causes.append(SuspectCause(kind.name))
    return tuple(dict.fromkeys(causes))


def _kind_of(ending: AgentEnding) -> FaultKind | None:
    return FAULTS.get(ending.error.fault or "") if ending.error is not None else None


def _failure_mode(
    ending: AgentEnding, status: Status, evaluation: Evaluation, steps: int
) -> FailureMode | None:
    if evaluation.score is not None and evaluation.score >= _SUCCESS:
        return None
    kind = _kind_of(ending)
    if kind is not None and kind.mode is not None and status is kind.status:
        return kind.mode  # the reason of its end says more than its files
    if evaluation.failure_mode is not None:
        return evaluation.failure_mode
    if status is not Status.COMPLETED:
        return FailureMode(status.value)
    return FailureMode.NOT_ATTEMPTED if not steps else FailureMode.UNCLASSIFIED
