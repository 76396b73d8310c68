"""The part of a trial's result that every benchmark makes alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.artifacts import TRAJECTORY, list_artifacts
from bench_core.jsonl import read_lines
from bench_core.records import Step, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentOutcome, Task

__all__ = ["reported_fields", "with_steps"]


def reported_fields(task: Task, context: TrialContext, outcome: AgentOutcome) -> dict[str, Any]:
    """Return the fields of a `TrialResult` that follow from its conditions and the agent's report.

    Score, checks, timings and details are the benchmark's to add; all files in the trial's folder
    are artifacts.
    """
    return {
        "benchmark": task.benchmark,
        "task_id": task.task_id,
        "trial": context.trial,
        "agent": context.agent,
        "model": context.model,
        "model_reported": outcome.model_reported,
        "world": context.world,
        "profile": context.profile,
        "status": outcome.status,
        "flags": outcome.flags,
        "steps": outcome.steps,
        "usage": outcome.usage,
        "cost_usd": outcome.cost_usd,
        "error": outcome.error,
        "artifacts": list_artifacts(context.folder),
    }


def with_steps(outcome: AgentOutcome, folder: Path) -> AgentOutcome:
    """Count steps and tokens from the trajectory for an agent that could not report them."""
    if outcome.steps:
        return outcome
    steps = read_lines(folder / TRAJECTORY, Step).records
    usage = sum((step.usage for step in steps if step.usage), Usage())
    return outcome.model_copy(update={"steps": len(steps), "usage": outcome.usage + usage})
