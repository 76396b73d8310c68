"""From run folders to the report record: read, check, summarise, describe."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.errors import InputError
from bench_core.run_folder import read_run
from bench_core.statistics import describe, summarise
from bench_core.statistics.costs import duration_s
from bench_report.__about__ import __version__
from bench_report.caveats import caveats
from bench_report.comparable import check_comparable
from bench_report.compare import compare
from bench_report.methods import methods
from bench_report.model import Effort, Report, RunReport, SliceEffort, TaskEntry, TrialRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench_core.records import TrialResult
    from bench_core.run_folder import RunView
    from bench_report.model import RunState

__all__ = ["labels", "ordered", "read_runs", "relative", "report_of"]


def read_runs(folders: Sequence[Path]) -> dict[str, RunView]:
    """Read run folders and give each a short unique label, in the order given.

    Raises:
        InputError: No folder, or one twice.
        RunFolderError: One is missing or damaged.
        SchemaVersionError: One was written by a newer Proctor.
    """
    if not folders:
        raise InputError("no run folder given: name at least one")
    twice = [path for path, n in Counter(each.resolve() for each in folders).items() if n > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice: name each run folder once")
    views = [read_run(each) for each in folders]
    return dict(zip(labels(views), views, strict=True))


def labels(views: Sequence[RunView]) -> list[str]:
    """Name runs by agent and model; those that share both also by the name of their folder."""
    names = [" · ".join(filter(None, (v.info.agent, v.info.model))) for v in views]
    names = _told_apart(names, [f"({view.path.resolve().name})" for view in views])
    return _told_apart(names, [f"#{number}" for number in range(1, len(views) + 1)])


def _told_apart(names: Sequence[str], suffixes: Sequence[str]) -> list[str]:
    """Add a suffix to the names that occur more than once."""
    times = Counter(names)
    pairs = zip(names, suffixes, strict=True)
    return [f"{name} {suffix}" if times[name] > 1 else name for name, suffix in pairs]


def report_of(  # noqa: PLR0913  # each keyword is one decision the report states
    runs: Mapping[str, RunView],
    *,
    out: Path,
    title: str | None = None,
    count_errors_as_failures: bool = False,
    mix: bool = False,
    now: datetime | None = None,
) -> Report:
    """Compute everything a report of labelled runs says.

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
    described = tuple(
        _run_report(label, view, out=out, strict=count_errors_as_failures)
        for label, view in runs.items()
    )
    report = Report(
        title=title or _title(list(runs.values())),
        generated=now or datetime.now(timezone.utc),
        generator=f"bench-report {__version__}",
        count_errors_as_failures=count_errors_as_failures,
        mismatches=found,
        caveats=caveats(described, found),
        runs=described,
        comparison=compare(runs, strict=count_errors_as_failures),
        tasks=_task_entries(runs.values()),
    )
    return report.model_copy(update={"methods": methods(report)})


def _title(views: Sequence[RunView]) -> str:
    names = " and ".join(sorted({view.info.benchmark for view in views}))
    return (
        f"{views[0].info.agent} on {names}" if len(views) == 1 else f"{len(views)} runs on {names}"
    )


def _task_entries(views: Iterable[RunView]) -> tuple[TaskEntry, ...]:
    """Return the tasks of all runs, each once, in the order of the first run that has it."""
    found: dict[tuple[str, str], TaskEntry] = {}
    for view in views:
        for task in view.tasks:
            fields = task.model_dump(include=set(TaskEntry.model_fields))
            found.setdefault((task.benchmark, task.task_id), TaskEntry.model_validate(fields))
    return tuple(found.values())


def ordered(view: RunView) -> list[TrialResult]:
    """Return results by the order of the tasks, then by trial."""
    place = {task.task_id: index for index, task in enumerate(view.tasks)}
    return sorted(view.results.values(), key=lambda r: (place.get(r.task_id, -1), r.trial))


def _run_report(label: str, view: RunView, *, out: Path, strict: bool) -> RunReport:
    results = ordered(view)
    return RunReport(
        label=label,
        folder=relative(view.path, out),
        info=view.info,
        state=_state(view),
        summary=summarise(
            view.tasks, results, trials=view.info.trials, count_errors_as_failures=strict
        ),
        slice_efforts=_slice_efforts(view, results),
        problems=tuple(problem.reason for problem in view.problems),
        trials=_trial_rows(results, view, out),
    )


def _state(view: RunView) -> RunState:
    """Tell a run under way from one that was left."""
    last = view.info.sessions[-1] if view.info.sessions else None
    if last and last.outcome == "running":
        return "running"
    return "interrupted" if view.remaining() else "finished"


def _slice_efforts(view: RunView, results: Sequence[TrialResult]) -> tuple[SliceEffort, ...]:
    """Describe what the trials of every value of every group used."""
    groups = {task.task_id: task.groups for task in view.tasks}
    members: defaultdict[tuple[str, str], list[TrialResult]] = defaultdict(list)
    for result in results:
        for group, values in groups[result.task_id].items():
            for value in dict.fromkeys(values):
                members[group, value].append(result)
    return tuple(
        SliceEffort(group=group, value=value, effort=_effort(members[group, value]))
        for group, value in sorted(members)
    )


def _effort(results: Sequence[TrialResult]) -> Effort:
    return Effort(
        steps=describe(result.steps for result in results),
        tokens=describe(result.usage.total_tokens or None for result in results),
        cost_usd=describe(result.cost_usd for result in results),
        time_s=describe(duration_s(result) for result in results),
    )


def _trial_rows(results: Sequence[TrialResult], view: RunView, out: Path) -> tuple[TrialRow, ...]:
    base = relative(view.path, out) if (view.path / "trials").is_dir() else None
    return tuple(_trial_row(each, view, base) for each in results)


def _trial_row(result: TrialResult, view: RunView, base: str | None) -> TrialRow:
    folder = view.trial_folder(result.key).relative_to(view.path).as_posix()
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
        folder=f"{base}/{folder}" if base is not None else None,
    )


def relative(path: Path, out: Path) -> str:
    """Return the POSIX path of `path` as seen from `out`."""
    try:
        return Path(os.path.relpath(path, out)).as_posix()
    except ValueError:  # on another drive of Windows
        return path.resolve().as_posix()
