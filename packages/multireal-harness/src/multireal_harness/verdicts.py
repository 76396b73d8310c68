"""Between a trial's folder and the rules: what was captured, and what they say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.artifacts import FINISH_STATE, TrialArtifacts, read_json
from bench_core.errors import EvaluationError, RecordError
from bench_core.trial import Evaluation as TrialEvaluation
from bench_core.vocabulary import FailureMode, SuspectCause
from multireal_harness.definitions import definition_of
from multireal_harness.environment import APP_TROUBLE, CLOSED_BROWSER, STATE_HEALTH
from multireal_harness.evaluation import EvaluationRules, Evidence
from multireal_harness.hybrid import CONFIDENCE
from multireal_harness.judgements import store_judgements, stored_grades, stored_judgement
from multireal_harness.trouble import AppTrouble

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.judging import Verdict
    from bench_core.redaction import Redactor
    from bench_core.trial import Evidence as TrialEvidence
    from multireal_harness.evaluation import Evaluation
    from multireal_harness.hybrid import StateHealth

__all__ = ["as_evaluation", "evidence_in", "keep_evaluation"]

_RECORD = "evaluation.json"
_SUCCESS = 1.0


def evidence_in(trial: TrialEvidence, rules: EvaluationRules) -> Evidence:
    """Read what a trial left to be scored.

    Raises:
        EvaluationError: The states are missing or cannot be read.
    """
    folder, first = trial.folder, trial.first
    closed = CLOSED_BROWSER in trial.flags
    takes_old = first is not None and rules.judge is None and rules.keep_judgements
    return Evidence(
        states={} if closed else _states(folder),
        health="suspect" if closed else _health(folder, trial.details),
        folder=folder,
        answer=trial.ending.answer,
        seed=trial.context.seed,
        known=stored_judgement(folder) if takes_old else None,
        grades=stored_grades(folder, definition_of(trial.task), first) if first else {},
        meter=trial.context.meter.of("judge"),
    )


def keep_evaluation(folder: Path, evaluation: Evaluation, redactor: Redactor) -> None:
    """Write what the rules and the judge said beside what they looked at."""
    artifacts = TrialArtifacts(folder, redactor)
    artifacts.write_json(_RECORD, evaluation.model_dump(mode="json"), evidence=True)
    store_judgements(artifacts, evaluation)


def as_evaluation(
    evaluation: Evaluation, trial: TrialEvidence, rules: EvaluationRules
) -> TrialEvaluation:
    """Return what the rules say of a trial as a record of it holds it."""
    trouble = _trouble(evaluation, trial)
    return TrialEvaluation(
        score=evaluation.score,
        status=evaluation.status,
        method=evaluation.method,
        confidence=CONFIDENCE[evaluation.confidence],
        checks=evaluation.checks,
        flags=evaluation.flags,
        failure_mode=_named(trouble) or _failure_mode(evaluation, trial),
        suspect=() if trouble is None else (trouble.cause,),
        error=evaluation.error,
        profile=rules.profile,
        details={
            "official": evaluation.official,
            "fixed": evaluation.fixed,
            "confidence": evaluation.confidence,
            **_judge_details(evaluation),
            **({} if trouble is None else {"suspect_evidence": trouble.evidence}),
        },
    )


def _trouble(evaluation: Evaluation, trial: TrialEvidence) -> AppTrouble | None:
    """Return the apps' trouble where it may be why a trial failed.

    A right end state is right whatever the way to it, and an agent that closed its browser did so.
    """
    found = trial.details.get(APP_TROUBLE)
    if found is None or evaluation.score is None or evaluation.score >= _SUCCESS:
        return None
    return None if CLOSED_BROWSER in trial.flags else AppTrouble.model_validate(found)


def _named(trouble: AppTrouble | None) -> FailureMode | None:
    """Return the failure mode of the same name; a fault of the browser has none."""
    if trouble is None or trouble.cause is SuspectCause.ENVIRONMENT_FAULT:
        return None
    return FailureMode(trouble.cause.value)


def _failure_mode(evaluation: Evaluation, trial: TrialEvidence) -> FailureMode | None:
    """Say why a completed trial failed; null leaves it to what its status says."""
    if trial.ending.status.value != "completed" or not trial.steps:
        return None
    if "gave_up" in trial.flags:
        return FailureMode.GAVE_UP
    graded = range(len(evaluation.checks) - len(evaluation.grades), len(evaluation.checks))
    failed = {n for n, check in enumerate(evaluation.checks) if check.passed is False}
    if failed and failed <= set(graded):
        return FailureMode.WRONG_ANSWER
    return FailureMode.WRONG_END_STATE


def _states(folder: Path) -> dict[str, object]:
    try:
        states: dict[str, object] = read_json(folder / FINISH_STATE)
    except (FileNotFoundError, RecordError) as error:
        raise EvaluationError(f"{folder / FINISH_STATE} cannot be read: {error}") from error
    return states


def _health(folder: Path, details: Any) -> StateHealth:
    if any(isinstance(each, dict) and each.get("error") for each in details.get("captures", ())):
        return "incomplete"
    try:
        symptoms = read_json(folder / STATE_HEALTH)
    except (FileNotFoundError, RecordError):
        return "suspect"
    return "suspect" if any(each["serious"] for each in symptoms) else "healthy"


def _judge_details(evaluation: Evaluation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if evaluation.verdict is not None:
        found["judge"] = _brief(evaluation.verdict)
    if evaluation.grades:
        found["answer_grades"] = {n: _brief(each) for n, each in evaluation.grades.items()}
    return found


def _brief(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.judge,
        "outcome": verdict.outcome,
        "confidence": verdict.confidence,
        "model": verdict.model,
        "model_reported": verdict.model_reported,
        "cost_usd": verdict.cost_usd,
        "usage": verdict.usage.model_dump(mode="json", exclude_defaults=True),
    }
