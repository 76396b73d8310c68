"""Tasks and trials as the report lists them, and what trials used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.statistics import describe
from bench_core.statistics.costs import duration_s
from bench_report.model import Effort, TaskEntry, TrialRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench_core.records import TrialResult
    from bench_report.sources import Source

__all__ = ["effort_of", "task_entries", "trial_rows"]


def task_entries(runs: Iterable[Source]) -> tuple[TaskEntry, ...]:
    """Return the tasks of all runs, each once, in the order of the first run that has it."""
    found: dict[tuple[str, str], TaskEntry] = {}
    for run in runs:
        for task in run.tasks:
            key = (task.benchmark, task.task_id)
            if key not in found:
                found[key] = TaskEntry(
                    benchmark=task.benchmark,
                    task_id=task.task_id,
                    goal=task.goal,
                    groups=task.groups,
                    template=task.template,
                )
    return tuple(found.values())


def trial_rows(run: Source, base: str) -> tuple[TrialRow, ...]:
    """Return a run's trials, their folders below `base`."""
    return tuple(_trial_row(each, base, run.trial_folder(each)) for each in run.results)


def _trial_row(result: TrialResult, base: str, folder: str | None) -> TrialRow:
    return TrialRow(
        task_id=result.task_id,
        trial=result.trial,
        status=result.status,
        score=result.score,
        success=result.success,
        failure_mode=result.failure_mode,
        method=result.method,
        confidence=result.confidence,
        flags=result.flags,
        steps=result.steps,
        input_tokens=result.usage.input_tokens,
        output_tokens=result.usage.output_tokens,
        cost_usd=result.cost_usd,
        time_s=duration_s(result.timings_s),
        attempts=len(result.attempts),
        folder=None if folder is None else f"{base}/{folder}",
    )


def effort_of(rows: Sequence[TrialRow]) -> Effort:
    """Describe what trials used."""
    return Effort(
        steps=describe(row.steps for row in rows),
        tokens=describe(row.input_tokens + row.output_tokens or None for row in rows),
        cost_usd=describe(row.cost_usd for row in rows),
        time_s=describe(row.time_s for row in rows),
    )
