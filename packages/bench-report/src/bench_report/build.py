"""From runs to the report record: check, summarise, describe."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from bench_core.statistics import describe, summarise
from bench_core.statistics.costs import duration_s
from bench_report.__about__ import __version__
from bench_report.caveats import caveats
from bench_report.comparable import check_comparable
from bench_report.compare import compare
from bench_report.methods import methods
from bench_report.model import Effort, Report, RunReport, SliceEffort, TaskEntry, TrialRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bench_core.records import TrialResult
    from bench_report.model import RunState
    from bench_report.sources import Source

__all__ = ["report_of"]


def report_of(  # noqa: PLR0913  # each keyword is one decision the report states
    runs: Sequence[Source],
    *,
    out: Path,
    title: str | None = None,
    count_errors_as_failures: bool = False,
    mix: bool = False,
    now: datetime | None = None,
) -> Report:
    """Compute everything a report of runs says.

    Args:
        runs: What `read_runs` gave.
        out: The folder the report will be in; paths to evidence are relative to it.
        title: By default made from the benchmark and the runs.
        count_errors_as_failures: Let trials without a score enter all rates as failures.
        mix: Allow runs that cannot be compared, and mark the report.
        now: When the report is made; the current time by default.

    Raises:
        IncomparableRunsError: The runs cannot be compared and `mix` is off.
    """
    found = check_comparable(runs, mix=mix)
    described = tuple(_run_report(each, out=out, strict=count_errors_as_failures) for each in runs)
    report = Report(
        title=title or _title(runs),
        generated=now or datetime.now(timezone.utc),
        generator=f"bench-report {__version__}",
        count_errors_as_failures=count_errors_as_failures,
        mismatches=found,
        caveats=caveats(described, found),
        runs=described,
        comparison=compare(runs, strict=count_errors_as_failures),
        tasks=_task_entries(runs),
    )
    return report.model_copy(update={"methods": methods(report)})


def _title(runs: Sequence[Source]) -> str:
    names = " and ".join(sorted({run.info.benchmark for run in runs}))
    return f"{runs[0].info.agent} on {names}" if len(runs) == 1 else f"{len(runs)} runs on {names}"


def _task_entries(runs: Iterable[Source]) -> tuple[TaskEntry, ...]:
    """Return the tasks of all runs, each once, in the order of the first run that has it."""
    found: dict[tuple[str, str], TaskEntry] = {}
    for run in runs:
        for task in run.tasks:
            key = (task.benchmark, task.task_id)
            if key not in found:
                fields = task.model_dump(include=set(TaskEntry.model_fields))
                found[key] = TaskEntry.model_validate(fields)
    return tuple(found.values())


def _run_report(run: Source, *, out: Path, strict: bool) -> RunReport:
    base = run.seen_from(out)
    rows = tuple(_trial_row(each, base, run.trial_folder(each)) for each in run.results)
    return RunReport(
        label=run.label,
        folder=base,
        info=run.info,
        state=_state(run),
        summary=summarise(
            run.tasks, run.results, trials=run.info.trials, count_errors_as_failures=strict
        ),
        slice_efforts=_slice_efforts(run, rows),
        problems=tuple(problem.reason for problem in run.view.problems),
        trials=rows,
    )


def _state(run: Source) -> RunState:
    """Tell a run under way from one that was left."""
    last = run.info.sessions[-1] if run.info.sessions else None
    if last and last.outcome == "running":
        return "running"
    return "interrupted" if run.view.remaining() else "finished"


def _slice_efforts(run: Source, rows: Iterable[TrialRow]) -> tuple[SliceEffort, ...]:
    """Describe what the trials of every value of every group used."""
    slices = {
        task.task_id: [(g, v) for g, values in task.groups.items() for v in dict.fromkeys(values)]
        for task in run.tasks
    }
    members: defaultdict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        for each in slices[row.task_id]:
            members[each].append(row)
    return tuple(
        SliceEffort(group=group, value=value, effort=_effort(members[group, value]))
        for group, value in sorted(members)
    )


def _effort(rows: Sequence[TrialRow]) -> Effort:
    return Effort(
        steps=describe(row.steps for row in rows),
        tokens=describe(row.input_tokens + row.output_tokens or None for row in rows),
        cost_usd=describe(row.cost_usd for row in rows),
        time_s=describe(row.time_s for row in rows),
    )


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
        time_s=duration_s(result),
        attempts=len(result.attempts),
        folder=None if folder is None else f"{base}/{folder}",
    )
