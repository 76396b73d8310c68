"""The record of a trial, put together from what the agent reported and how it was scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.records import ErrorInfo, Status, TrialResult
from bench_core.trial_results import reported_fields
from webarena_runner.failures import classify_failure
from webarena_runner.oracle.scorability import installed_notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentOutcome, Task
    from webarena_runner.evaluation import Evaluation

__all__ = ["rescored", "trial_result"]

_AGENT_FLAGS = "agent_flags"
_AGENT_STATUS = "agent_status"


def trial_result(
    task: Task,
    context: TrialContext,
    outcome: AgentOutcome,
    evaluation: Evaluation | None,
    *,
    browser: Mapping[str, str] | None = None,
    **more: Any,
) -> TrialResult:
    """Return the result of a trial; without an evaluation its status must be an unscored one."""
    agent_details = {_AGENT_STATUS: outcome.status.value, _AGENT_FLAGS: list(outcome.flags)}
    base: dict[str, Any] = {
        **reported_fields(task, context, outcome),
        "details": {**agent_details, "agent": outcome.details, "browser": dict(browser or {})},
        **more,
    }
    if evaluation is not None:
        flags = (*outcome.flags, *_task_flags(task.task_id))
        base.update(_scored(outcome.status, flags, outcome.error, evaluation, outcome.steps))
        base["details"] |= _official(outcome.status, evaluation, outcome.steps)
    return TrialResult.model_validate(base)


def rescored(result: TrialResult, evaluation: Evaluation) -> TrialResult:
    """Return `result` with the scores of a later evaluation of the same artifacts."""
    details: Any = result.details
    status = Status(details.get(_AGENT_STATUS, result.status.value))
    error = result.error if result.error and result.error.phase == "agent" else None
    fields = result.model_dump(exclude={"success", "failure_mode", "error"})
    flags = (*details.get(_AGENT_FLAGS, ()), *_task_flags(result.task_id))
    fields |= _scored(status, flags, error, evaluation, result.steps)
    fields["details"] = {**details, **_official(status, evaluation, result.steps)}
    return TrialResult.model_validate(fields)


def _scored(
    status: Status,
    flags: tuple[str, ...],
    error: ErrorInfo | None,
    evaluation: Evaluation,
    steps: int,
) -> dict[str, Any]:
    failure = classify_failure(status, evaluation, steps=steps)
    final, reason = _final_status(status, evaluation)
    return {
        "status": final,
        "score": evaluation.score,
        "method": evaluation.method,
        "checks": evaluation.checks,
        "flags": (*flags, *evaluation.flags),
        "failure_mode": failure and failure[0],
        "error": reason or error,
    }


def _task_flags(task_id: str) -> tuple[str, ...]:
    """Name what has to be known of the task's score beside the score itself."""
    return tuple(f"task-{note.kind}" for note in installed_notes().of(task_id))


def _final_status(status: Status, evaluation: Evaluation) -> tuple[Status, ErrorInfo | None]:
    """An unreadable answer is an agent error, an undecided evaluator an evaluation error."""
    if evaluation.score is None:
        message = evaluation.problem or "the evaluator gave no reason"
        error = ErrorInfo(kind="OfficialError", message=message, phase="evaluation")
        return Status.EVALUATION_ERROR, error
    if status is Status.COMPLETED and evaluation.malformed:
        message = evaluation.problem or "the answer is malformed"
        return Status.AGENT_ERROR, ErrorInfo(
            kind="MalformedAnswer", message=message, phase="answer"
        )
    return status, None


def _official(status: Status, evaluation: Evaluation, steps: int) -> dict[str, Any]:
    failure = classify_failure(status, evaluation, steps=steps)
    official = evaluation.official
    return {
        "official": {
            "status": evaluation.official_status,
            "score": evaluation.official_score,
            "evaluator_checksum": official.get("webarena_verified_evaluator_checksum"),
            "data_checksum": official.get("webarena_verified_data_checksum"),
        },
        "failure_evidence": failure and failure[1],
    }
