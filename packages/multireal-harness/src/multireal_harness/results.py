"""The record of a trial, put together from what the agent reported and how it was scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.records import ErrorInfo, Status, TrialResult
from bench_core.scheduling.attempts import NOT_RETRIED
from bench_core.trial_results import reported_fields
from multireal_harness.hybrid import CONFIDENCE
from multireal_harness.models import ModelMismatchError

if TYPE_CHECKING:
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentOutcome, Task
    from multireal_harness.evaluation import Evaluation
    from multireal_harness.trial import AppTrial

__all__ = ["rescored", "trial_result"]


def trial_result(
    task: Task,
    context: TrialContext,
    trial: AppTrial,
    outcome: AgentOutcome,
    evaluation: Evaluation | None,
    **more: Any,
) -> TrialResult:
    """Return the result of a trial; without an evaluation it has no score."""
    base: dict[str, Any] = {
        **reported_fields(task, context, outcome),
        "flags": _flags(trial, outcome),
        "timings_s": trial.timings,
        "details": _details(trial, outcome),
        **more,
    }
    if evaluation is None:
        return TrialResult.model_validate({**base, **_unscored(trial, outcome)})
    return TrialResult.model_validate(_scored(base, outcome.status, evaluation))


def rescored(result: TrialResult, evaluation: Evaluation, profile: str) -> TrialResult:
    """Return `result` with the scores of a later evaluation of the same artifacts."""
    details: Any = result.details
    fields = result.model_dump(exclude={"success", "failure_mode", "error"})
    fields["flags"] = tuple(details.get("trial_flags", ()))
    fields["profile"] = profile
    if result.error is not None and result.error.phase == "agent":
        fields["error"] = result.error
    return TrialResult.model_validate(_scored(fields, Status(details["agent_status"]), evaluation))


def _scored(base: dict[str, Any], status: Status, evaluation: Evaluation) -> dict[str, Any]:
    official = {"official": evaluation.official, "fixed": evaluation.fixed}
    words = {"confidence": evaluation.confidence}
    return {
        **base,
        "status": evaluation.status or status,
        "score": evaluation.score,
        "confidence": CONFIDENCE[evaluation.confidence],
        "method": evaluation.method,
        "checks": evaluation.checks,
        "flags": tuple(dict.fromkeys([*base["flags"], *evaluation.flags])),
        "error": evaluation.error or base.get("error"),
        "details": {**base["details"], **official, **words, **_judge_details(evaluation)},
    }


def _unscored(trial: AppTrial, outcome: AgentOutcome) -> dict[str, Any]:
    """A fault after the agent's work is not paid for twice; a provider's outage may be tried again."""
    if outcome.status is Status.BUDGET_EXCEEDED:
        return {}
    missing = [f"{each.app}: {each.error}" for each in trial.captures if each.error]
    fault = trial.fault
    message = str(fault) if fault else f"no end state of {'; '.join(missing) or 'any app'}"
    kind = type(fault).__name__ if fault else "CaptureError"
    flags = _flags(trial, outcome)
    if fault is None:
        flags = (*flags, "incomplete_state", NOT_RETRIED)
    elif isinstance(fault, ModelMismatchError):
        flags = (*flags, "model_mismatch", NOT_RETRIED)
    return {
        "status": Status.ENVIRONMENT_ERROR,
        "flags": flags,
        "error": ErrorInfo(kind=kind, message=message, phase="agent" if fault else "capture"),
    }


def _judge_details(evaluation: Evaluation) -> dict[str, Any]:
    verdict = evaluation.verdict
    if verdict is None:
        return {}
    return {
        "judge": {
            "name": verdict.judge,
            "outcome": verdict.outcome,
            "confidence": verdict.confidence,
            "model": verdict.model,
            "model_reported": verdict.model_reported,
            "cost_usd": verdict.cost_usd,
            "usage": verdict.usage.model_dump(mode="json", exclude_defaults=True),
        }
    }


def _flags(trial: AppTrial, outcome: AgentOutcome) -> tuple[str, ...]:
    found = list(outcome.flags)
    if trial.guard.visits:
        found.append("guarded_path")
    if trial.guard.strangers:
        found.append("left_the_apps")
    if trial.closed_by_agent:
        found.append("closed_browser")
    return tuple(found)


def _details(trial: AppTrial, outcome: AgentOutcome) -> dict[str, Any]:
    return {
        "agent_status": outcome.status.value,
        "trial_flags": list(_flags(trial, outcome)),
        "answer": outcome.answer,
        "agent": outcome.details,
        "browser": trial.browser,
        "captures": [each.model_dump(mode="json") for each in trial.captures],
        "guarded_visits": [each.model_dump(mode="json") for each in trial.guard.visits],
        "strangers": sorted(trial.guard.strangers),
    }
