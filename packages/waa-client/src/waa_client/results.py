"""The record of a trial, put together from what the agent reported and what the evaluator said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bench_core.records import ErrorInfo, Status, TrialResult
from bench_core.trial_results import reported_fields

if TYPE_CHECKING:
    from bench_core.records import AgentOutcome
    from waa_client.evaluation import Verdict
    from waa_client.trial import WaaTrial

__all__ = ["NO_EVALUATOR", "rescored", "trial_result"]

NO_EVALUATOR = "NoEvaluator"
"""Kind of the error of trials that ran without an evaluator."""

_AGENT_STATUS = "agent_status"


def trial_result(
    trial: WaaTrial, outcome: AgentOutcome, verdict: Verdict | None, began: float
) -> TrialResult:
    """Return the result of a trial; what is not scored says why."""
    demo = trial.demonstration
    base: dict[str, Any] = {
        **reported_fields(trial.task, trial.context, outcome),
        "flags": _flags(trial, outcome),
        "steps": outcome.steps or len(trial.history),
        "timings_s": {**trial.timings, "total": time.monotonic() - began},
        "started": trial.started,
        "details": {
            _AGENT_STATUS: outcome.status.value,
            "agent": outcome.details,
            "vm": trial.url,
            "screen": list(trial.screen) if trial.screen else None,
            "last_action": trial.history[-1] if trial.history else None,
            "actions": len(trial.history),
            "demonstration": dict(demo.named) if demo else None,
            "setup_ok": trial.setup.ok if trial.setup else None,
        },
    }
    if outcome.status.scored:
        judged = _judged(outcome.status, outcome.error, verdict)
        base["details"] |= judged.pop("details", {})
        base |= judged
    return TrialResult.model_validate(base)


def rescored(result: TrialResult, verdict: Verdict) -> TrialResult:
    """Return `result` with the score of a later evaluation of the same transcript."""
    details: dict[str, Any] = dict(result.details)
    status = Status(str(details.get(_AGENT_STATUS, result.status.value)))
    error = result.error if result.error and result.error.phase == "agent" else None
    judged = _judged(status, error, verdict)
    fields = result.model_dump(exclude={"success", "error", "failure_mode"})
    fields |= {**judged, "details": {**details, **judged.get("details", {})}}
    return TrialResult.model_validate(fields)


def _judged(status: Status, error: ErrorInfo | None, verdict: Verdict | None) -> dict[str, Any]:
    """Return the fields that the evaluation decides."""
    if verdict is None:
        message = "no evaluator was given, so the trial has no score: pass --evaluate URL"
        info = ErrorInfo(kind=NO_EVALUATOR, message=message, phase="evaluation")
        return {"status": Status.EVALUATION_ERROR, "score": None, "error": info}
    details = {
        "evaluator": verdict.evaluator,
        "fidelity": verdict.fidelity,
        "reason": verdict.reason,
        "notes": list(verdict.notes),
        "vanilla_score": verdict.vanilla_score,
    }
    fault = verdict.evaluation_error
    if verdict.score is None:
        where = "/".join(filter(None, (fault.phase, fault.stage, fault.func))) if fault else ""
        said = f"{where}: {fault.type}: {fault.message}" if fault else verdict.reason
        info = ErrorInfo(
            kind=fault.type if fault else "NotScored", message=said, phase="evaluation"
        )
        scored: dict[str, Any] = {"status": Status.EVALUATION_ERROR, "score": None, "error": info}
    else:
        scored = {"status": status, "score": verdict.score, "error": error}
    failed = verdict.score is not None and verdict.score < 1.0
    return {
        **scored,
        "method": verdict.method,
        "checks": verdict.checks,
        "failure_mode": _failure_mode(status) if failed else None,
        "details": details,
    }


def _failure_mode(status: Status) -> str:
    return {
        Status.STEP_LIMIT: "ran_out_of_steps",
        Status.TIME_LIMIT: "ran_out_of_time",
        Status.AGENT_ERROR: "agent_crashed",
    }.get(status, "wrong_end_state")


def _flags(trial: WaaTrial, outcome: AgentOutcome) -> tuple[str, ...]:
    demo = ("demo",) if trial.demonstration else ()
    return tuple(dict.fromkeys([*outcome.flags, *trial.flags, *demo]))
