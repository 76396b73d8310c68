"""Converts vanilla's results to the record that the server answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_core.records import SUCCESS_SCORE
from waa_server_ext.evaluation.evaluators import VANILLA_KIND
from waa_server_ext.evaluation.reasons import (
    abbreviated,
    as_number,
    error_words,
    reason_of,
    transport_fault,
    writable,
)
from waa_server_ext.evaluation.verdicts import (
    EvaluationFault,
    SetupReport,
    SetupStep,
    Stage,
    Timings,
    Verdict,
)
from waa_server_ext.vanilla.bounds import RequestBounds
from waa_server_ext.vanilla.desktop_env import Watch

_MESSAGE = 2000


def as_verdict(
    task: Mapping[str, Any],
    action_history: Sequence[str],
    returned: Any,
    watch: Watch,
    bounds: RequestBounds,
    *,
    fidelity: str,
    total: float,
) -> Verdict:
    """Return the record of an evaluation in the current folder, whose files are shown."""
    error, fault = watch.error, None
    if error is not None:
        evaluating = watch.phase == "evaluate"
        fault = EvaluationFault(
            phase="evaluate" if evaluating else "set_task_info",
            stage=_stage(watch, error) if evaluating else None,
            func=watch.func if watch.inside else None,
            type=type(error).__name__,
            message=writable(str(error))[:_MESSAGE],
        )
    score = None if fault else as_number(returned)
    if fault is None and score is None:
        fault = EvaluationFault(
            phase="evaluate", stage="metric", type="ValueError",
            message=f"the evaluator returned {abbreviated(returned)}, which is no number",
        )  # fmt: skip
    vanilla_score, lost = None, bounds.faults()
    if lost and watch.phase == "evaluate":
        vanilla_score, score = score, None
        fault = transport_fault(lost[0], watch.stage, watch.func)
    spent = watch.spent
    return Verdict(
        score=score,
        success=None if score is None else score >= SUCCESS_SCORE,
        reason=reason_of(task, action_history, score, fault),
        evaluation_error=fault,
        vanilla_score=vanilla_score,
        metrics=tuple(seen.detail(Path.cwd()) for seen in watch.seen),
        evaluator=VANILLA_KIND,
        fidelity=fidelity,
        notes=_notes(bounds),
        timings=Timings(
            total=round(total, 6),
            postconfig=round(spent.get("postconfig", 0.0), 6),
            getters=round(spent.get("result", 0.0) + spent.get("expected", 0.0), 6),
            metrics=round(spent.get("metric", 0.0), 6),
        ),
        transcript=tuple(bounds.record),
    )


def as_setup_report(watch: Watch, bounds: RequestBounds, fidelity: str) -> SetupReport:
    """Return the record of a setup."""
    steps = list(watch.steps)
    if watch.error is not None and (not steps or steps[-1].ok):
        steps.append(SetupStep(type="setup", ok=False, error=error_words(watch.error)))
    return SetupReport(
        ok=all(step.ok for step in steps),
        abandoned=watch.error is not None,
        steps=tuple(steps),
        evaluator=VANILLA_KIND,
        fidelity=fidelity,
        notes=_notes(bounds),
        transcript=tuple(bounds.record),
    )


def _stage(watch: Watch, error: BaseException) -> Stage:
    """Return vanilla's current stage; between two calls, the stage about to begin."""
    if watch.inside or watch.stage == "postconfig":
        return watch.stage or "postconfig"
    if watch.stage is None:
        return "result"
    # the task itself made it fail: `expected` is missing or empty, or else its arguments are wrong
    about_expected = isinstance(error, KeyError) or "object is not callable" in str(error)
    return "expected" if watch.stage == "result" and about_expected else "metric"


def _notes(bounds: RequestBounds) -> tuple[str, ...]:
    notes = []
    if bounds.used_browser:
        notes.append("asked the VM's browser over port 9222: not in the transcript")
    return tuple(notes)
