"""webarena-verified's result of a trial as the fields of the trial's record."""

from __future__ import annotations

from typing import Any

from bench_core.records import ErrorInfo, IntegrityCode, IntegrityFinding, Status
from bench_core.records.integrity import IntegrityOutcome
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.trial import Evaluation as TrialEvaluation
from webarena_runner.evaluation import Evaluation
from webarena_runner.failures import classify_failure, suspect_cause
from webarena_runner.reference_solutions.scorability import installed_notes

_MOST, _DETAIL = 20, 300


def as_evaluation(
    evaluation: Evaluation, task_id: str, status: Status, steps: int
) -> TrialEvaluation:
    """Return the fields of a record that depend on the evaluation.

    Args:
        evaluation: The evaluator's result.
        task_id: Id of the task.
        status: Status of the agent's part of the trial.
        steps: The number of the agent's steps.
    """
    failure = classify_failure(status, evaluation, steps=steps)
    cause = suspect_cause(status, evaluation)
    final, error = _final_status(status, evaluation)
    # of tasks whose score has a known defect
    known = (f"task-{note.kind}" for note in installed_notes().of(task_id))
    official = evaluation.official
    details: dict[str, Any] = {
        "official": {
            "status": evaluation.official_status,
            "score": evaluation.official_score,
            "evaluator_checksum": official.get("webarena_verified_evaluator_checksum"),
            "data_checksum": official.get("webarena_verified_data_checksum"),
        },
        "failure_evidence": failure and failure[1],
    }
    if cause is not None and evaluation.traffic_fault is not None:
        details["suspect_evidence"] = evaluation.traffic_fault.evidence
    return TrialEvaluation(
        score=evaluation.score,
        status=final,
        method=evaluation.method,
        checks=evaluation.checks,
        flags=(*known, *evaluation.flags),
        failure_mode=FailureMode(failure[0]) if failure else None,
        suspect=(SuspectCause(cause),) if cause else (),
        error=error,
        findings=_findings(evaluation),
        details=details,
    )


def _findings(evaluation: Evaluation) -> tuple[IntegrityFinding, ...]:
    """Return findings in the answer and the traffic themselves.

    Alternatives and patterns fit any expected value; traffic that the evaluator cannot read leaves no score.
    """
    games = [flag for flag in evaluation.flags if flag in {"alternatives-answer", "regex-answer"}]
    outcome: IntegrityOutcome = "succeeded" if evaluation.score else "blocked"
    found = [(IntegrityCode.ANSWER_GAME, outcome, flag) for flag in games]
    found += [(IntegrityCode.RESOURCE_LIMIT, "succeeded", e) for e in evaluation.unreadable[:_MOST]]
    return tuple(
        IntegrityFinding(code=code, outcome=result, detail=detail[:_DETAIL])
        for code, result, detail in found
    )


def _final_status(status: Status, evaluation: Evaluation) -> tuple[Status | None, ErrorInfo | None]:
    """Return status and error: unreadable answers are the agent's errors, an undecided evaluator is not."""
    if evaluation.score is None:
        message = evaluation.problem or "the evaluator gave no reason"
        error = ErrorInfo(kind="OfficialError", message=message, phase="evaluation")
        return Status.EVALUATION_ERROR, error
    if status is Status.COMPLETED and evaluation.malformed:
        message = evaluation.problem or "the answer is malformed"
        return Status.AGENT_ERROR, ErrorInfo(
            kind="MalformedAnswer", message=message, phase="answer"
        )
    return None, None
