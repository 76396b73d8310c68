"""The evidence in a trial's folder as input of the rules, and their decision as fields of a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench_core.errors import EvaluationError, RecordError
from bench_core.records.judge import Verdict
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.redaction import Redactor
from bench_core.run_folder import FINISH_STATE, TrialArtifacts, read_json
from bench_core.trial import Evaluation as TrialEvaluation
from bench_core.trial import Evidence
from multireal_harness.environment import CLOSED_BROWSER, STATE_HEALTH, TRAFFIC_FAULT
from multireal_harness.eval_rules.decisions import CONFIDENCE, StateHealth
from multireal_harness.eval_rules.judge_checks import reason_of
from multireal_harness.evaluation import Evaluation, EvaluationRules, StateEvidence
from multireal_harness.stored_judgements import store_judgements, stored_grades, stored_judgement
from multireal_harness.traffic_faults import AppTrafficFault

_RECORD = "evaluation.json"
_SUCCESS = 1.0


def evidence_in(trial: Evidence, rules: EvaluationRules) -> StateEvidence:
    """Read the evidence of a trial from its folder.

    Raises:
        EvaluationError: The states are missing or cannot be read.
    """
    folder, first = trial.folder, trial.first
    closed = CLOSED_BROWSER in trial.flags
    stored = {} if first is None else first.details
    takes_old = first is not None and rules.judge is None and rules.keep_judgements
    return StateEvidence(
        # the states are lost with the browser: queries run on nothing, and the trial fails
        states={} if closed else states_in(folder),
        health="suspect" if closed else _health(folder, trial.details),
        folder=folder,
        answer=trial.ending.answer,
        seed=trial.context.seed,
        known=stored_judgement(folder, stored) if takes_old else None,
        grades=stored_grades(folder, stored),
        meter=trial.context.meter.of("judge"),
        timezone=zone if isinstance(zone := trial.details.get("timezone"), str) else None,
    )


def keep_evaluation(folder: Path, evaluation: Evaluation, redactor: Redactor) -> None:
    """Write the evaluation and the judge's verdicts into the trial's folder."""
    artifacts = TrialArtifacts(folder, redactor)
    artifacts.write_json(_RECORD, evaluation.model_dump(mode="json"), evidence=True)
    store_judgements(artifacts, evaluation)


def as_evaluation(
    evaluation: Evaluation, trial: Evidence, rules: EvaluationRules
) -> TrialEvaluation:
    """Return an evaluation as the fields of a trial's record."""
    # The apps' fault, if it may be why a trial failed: a right end state stays right, and an
    # agent that closed its browser failed by itself
    found, fault = trial.details.get(TRAFFIC_FAULT), None
    failed = evaluation.score is not None and evaluation.score < _SUCCESS
    if found is not None and failed and CLOSED_BROWSER not in trial.flags:
        fault = AppTrafficFault.model_validate(found)
    details: dict[str, Any] = {
        "official": evaluation.official,
        "fixed": evaluation.fixed,
        "confidence": evaluation.confidence,
    }
    if evaluation.verdict is not None:
        details["judge"] = _summary(evaluation.verdict)
    if evaluation.grades:
        details["answer_grades"] = {n: _summary(each) for n, each in evaluation.grades.items()}
    mode = _failure_mode(evaluation, trial)
    if fault is not None:
        details["suspect_evidence"] = fault.evidence
        if fault.cause is not SuspectCause.ENVIRONMENT_FAULT:  # browser faults get no mode
            mode = FailureMode(fault.cause.value)
    return TrialEvaluation(
        score=evaluation.score,
        status=evaluation.status,
        method=evaluation.method,
        confidence=CONFIDENCE[evaluation.confidence],
        checks=evaluation.checks,
        flags=evaluation.flags,
        failure_mode=mode,
        suspect=() if fault is None else (fault.cause,),
        error=evaluation.error,
        profile=rules.profile,
        details=details,
    )


def _failure_mode(evaluation: Evaluation, trial: Evidence) -> FailureMode | None:
    """Return why a completed trial failed; None if its status says it."""
    if trial.ending.status.value != "completed" or not trial.steps:
        return None
    if "gave_up" in trial.flags:
        return FailureMode.GAVE_UP
    graded = range(len(evaluation.checks) - len(evaluation.grades), len(evaluation.checks))
    failed = {n for n, check in enumerate(evaluation.checks) if check.passed is False}
    if failed and failed <= set(graded):
        return FailureMode.WRONG_ANSWER
    return FailureMode.WRONG_END_STATE


def states_in(folder: Path) -> dict[str, Any]:
    """Return the apps' end states.

    Raises:
        EvaluationError: They are missing or cannot be read.
    """
    try:
        states: dict[str, Any] = read_json(folder / FINISH_STATE)
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


def _summary(verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.judge,
        "outcome": verdict.outcome,
        "kind": verdict.kind,
        # also of a verdict that decided nothing: scored again, its reason must not be lost
        "reason": reason_of(verdict),
        "confidence": verdict.confidence,
        "model": verdict.model,
        "model_reported": verdict.model_reported,
        "cost_usd": verdict.cost_usd,
        "usage": verdict.usage.model_dump(mode="json", exclude_defaults=True),
    }
