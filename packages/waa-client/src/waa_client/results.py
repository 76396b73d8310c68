"""An evaluator's verdict on a trial: stored with its transcript, and as the fields of the trial's record."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench_core.errors import EvaluationError
from bench_core.records import ErrorInfo, Status
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.trial import Evaluation, Evidence
from waa_client.evaluation import Verdict
from waa_client.task_health import task_flags
from waa_client.tasks import is_infeasible

HISTORY = "action_history.json"
"""The file with every action as vanilla records it, which is evaluated along with the VM's state."""
TRANSCRIPT = "transcript.json.gz"
"""The file with every call of the evaluation to the VM; scoring again replays it."""
STEP_TRANSCRIPTS = "transcripts_each_step.json.gz"
"""The file with the time of each action, the length of the history then, and the evaluation's calls."""
NO_EVALUATOR = "NoEvaluator"
"""The kind of error of trials without an evaluator."""
SUSPECT = {
    "downloads_not_cleared": SuspectCause.SETUP_INCOMPLETE,
    "nothing_runs": SuspectCause.ENVIRONMENT_FAULT,
    "program_missing": SuspectCause.SETUP_INCOMPLETE,
    "satisfied_before": SuspectCause.SETUP_INCOMPLETE,
    "setup_incomplete": SuspectCause.SETUP_INCOMPLETE,
    "tree_unknown": SuspectCause.ENVIRONMENT_FAULT,
    "vm_not_restored": SuspectCause.SETUP_INCOMPLETE,
    "vm_errors": SuspectCause.ENVIRONMENT_FAULT,
}
"""The flags of a trial that make its score suspect."""

_EVALUATION = "evaluation.json"


def keep_verdict(artifacts: TrialArtifacts, verdict: Verdict, transcript: Sequence[Any]) -> None:
    """Write the verdict, and in another file the calls that led to it."""
    artifacts.write_json(TRANSCRIPT, list(transcript), evidence=True)
    summary = {name: each for name, each in verdict.raw.items() if name != "transcript"}
    artifacts.write_json(_EVALUATION, summary, evidence=True)


def kept_verdict(folder: Path) -> Verdict | None:
    """Return a trial's stored verdict; None if it had no evaluator."""
    try:
        return Verdict.model_validate(read_json(folder / _EVALUATION))
    except FileNotFoundError:
        return None


def kept_transcript(folder: Path) -> tuple[list[str], list[Any]]:
    """Return the action history of a trial and the calls of its evaluation.

    Raises:
        EvaluationError: The trial has none.
    """
    try:
        return read_json(folder / HISTORY), read_json(folder / TRANSCRIPT)
    except FileNotFoundError as error:
        raise EvaluationError(f"the trial stored no {error.filename}") from error


def kept_looks(folder: Path) -> list[dict[str, Any]]:
    """Return the time of actions, how many were done by then, and the calls of the evaluation.

    Raises:
        EvaluationError: The trial has none.
    """
    try:
        looks: list[dict[str, Any]] = read_json(folder / STEP_TRANSCRIPTS)
    except FileNotFoundError as error:
        raise EvaluationError(
            "the run was made without --check-each-step, and the desktop is not there any more"
        ) from error
    return [{**each, "at": datetime.fromisoformat(each["at"])} for each in looks]


def not_evaluated() -> Evaluation:
    """Return the evaluation of a trial without an evaluator, which has no score."""
    message = "no evaluator was given, so the trial has no score: pass --evaluate URL"
    return Evaluation(None, error=ErrorInfo(kind=NO_EVALUATOR, message=message, phase="evaluation"))


def as_evaluation(verdict: Verdict, evidence: Evidence) -> Evaluation:
    """Return the fields of a record that depend on the evaluator's verdict."""
    return Evaluation(
        score=verdict.score,
        method=verdict.method,
        checks=verdict.checks,
        flags=task_flags(evidence.task),
        failure_mode=_failure_mode(evidence),
        suspect=tuple(dict.fromkeys(SUSPECT[flag] for flag in evidence.flags if flag in SUSPECT)),
        error=_error(verdict) if verdict.score is None else None,
        details={
            "evaluator": verdict.evaluator,
            "fidelity": verdict.fidelity,
            "reason": verdict.reason,
            "notes": list(verdict.notes),
            "vanilla_score": verdict.vanilla_score,
        },
    )


def _error(verdict: Verdict) -> ErrorInfo:
    fault = verdict.evaluation_error
    if fault is None:
        return ErrorInfo(kind="NotScored", message=verdict.reason, phase="evaluation")
    where = "/".join(filter(None, (fault.phase, fault.stage, fault.func)))
    message = f"{where}: {fault.type}: {fault.message}"
    return ErrorInfo(kind=fault.type, message=message, phase="evaluation")


def _failure_mode(evidence: Evidence) -> FailureMode | None:
    """Return why a completed trial failed; None if its status says it."""
    if evidence.ending.status is not Status.COMPLETED or not evidence.steps:
        return None
    if is_infeasible(evidence.task):
        return FailureMode.MISSED_IMPOSSIBLE
    if "gave_up" in evidence.flags:
        return FailureMode.GAVE_UP
    return (
        FailureMode.NOT_ATTEMPTED
        if evidence.details.get("blocks") == 0
        else FailureMode.WRONG_END_STATE
    )
