"""The words of a verdict: values cut to a readable length, and the reason for a score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from waa_server_ext.evaluation.verdicts import EvaluationFault

_SHOWN = 500
_MESSAGE = 2000


def abbreviated(value: Any) -> str:
    """Return a value for people, cut where it is long; never raises."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception as error:  # noqa: BLE001  # a repr of foreign code
        text = f"<{type(value).__name__}: {type(error).__name__}>"
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def reason_of(
    task: Mapping[str, Any],
    action_history: Sequence[str],
    score: float | None,
    fault: EvaluationFault | None,
) -> str:
    """Return one sentence on why the score is what it is, or why there is none."""
    if fault is not None:
        where = fault.func or fault.stage or fault.phase
        return f"not scored: {fault.type} in {where}: {fault.message}"[:_MESSAGE]
    gave_up = bool(action_history) and action_history[-1] == "FAIL"
    func = task["evaluator"]["func"]
    if func == "infeasible":
        ending = "said FAIL" if gave_up else "did not say FAIL"
        return f"the task is infeasible and the agent {ending}"
    if gave_up:
        return "the agent said FAIL on a feasible task"
    named = " and ".join(map(str, func)) if isinstance(func, list) else str(func)
    shown = "NaN" if score is None or math.isnan(score) else f"{score:g}"
    return f"{named} gave {shown}"
