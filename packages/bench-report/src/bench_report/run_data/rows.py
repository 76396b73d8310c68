"""Tasks and trials as the report lists them, and the resources that trials used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter

from bench_core.run_folder import task_set_hash
from bench_core.statistics import describe
from bench_report.model import Effort, TaskEntry, TrialRow
from bench_report.run_data.sources import Source

_DIGEST = 16
# One call for all fields: a report may have a hundred thousand rows.
_NOT_OF_STATISTICS = {"folder", "integrity", "findings", "sealed", "left_out", "fault"}
_SHOWN = attrgetter(*(e.name for e in fields(TrialRow) if e.name not in _NOT_OF_STATISTICS))
"""The values of a trial that a row shows, in the order of its fields."""


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
                    definition=task_set_hash([task])[:_DIGEST],
                )
    return tuple(found.values())


def trial_rows(run: Source, base: str) -> tuple[TrialRow, ...]:
    """Return a run's trials, their folders below `base`."""
    rows = []
    for trial, folder, result in zip(run.ended, run.folders, run.results, strict=True):
        row = TrialRow(*_SHOWN(trial))
        if folder is not None:
            row.folder = f"{base}/{folder}"
        if result.integrity is not None:
            row.integrity = result.integrity.state
            row.findings = tuple(str(each.code) for each in result.integrity.findings)
        if result.sealing is not None:
            row.sealed = result.sealing.sealed
        if result.error is not None:
            row.fault = result.error.fault
        row.left_out = sum(each.files for each in result.left_out)
        rows.append(row)
    return tuple(rows)


def effort_of(rows: Sequence[TrialRow]) -> Effort:
    """Describe the resources that trials used."""
    return Effort(
        steps=describe(map(attrgetter("steps"), rows)),
        # no tokens at all: the agent does not report them
        tokens=describe(row.input_tokens + row.output_tokens or None for row in rows),
        cost_usd=describe(map(attrgetter("cost_usd"), rows)),
        time_s=describe(map(attrgetter("time_s"), rows)),
    )
