"""From runs to the report record: check, summarise, describe."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from bench_core.statistics import TimedOutcome, drift_of, looks_of, summarise
from bench_report.__about__ import __version__
from bench_report.analysis.caveats import caveats
from bench_report.analysis.checkers import checkers_of
from bench_report.analysis.evaluation import audit_of, methods_of
from bench_report.analysis.failures import failed_checks
from bench_report.analysis.integrity import integrity_of
from bench_report.analysis.labels import label_differences, labels_of, notes_of
from bench_report.analysis.methods_text import methods_paragraphs, references
from bench_report.analysis.unfinished_runs import without_intervals
from bench_report.analysis.when_passed import when_passed
from bench_report.comparison.baselines import ComparedRun, side_of
from bench_report.comparison.comparability import check_comparable
from bench_report.comparison.differences import compare
from bench_report.comparison.ranking import cost_of_run, noise_of_run, ranking_of
from bench_report.model import Report, RunReport, RunState, SliceEffort, TrialRow
from bench_report.run_data.rows import effort_of, task_entries, trial_rows
from bench_report.run_data.sources import Source


def report_of(
    runs: Sequence[Source],
    *,
    out: Path,
    title: str | None = None,
    count_errors_as_failures: bool = False,
    mix: bool = False,
    live: bool = False,
    now: datetime | None = None,
) -> Report:
    """Compute everything that a report of runs contains.

    Args:
        runs: The runs, from `read_runs`.
        out: The folder the report will be in; paths to evidence are relative to it.
        title: By default made from the benchmark and the runs.
        count_errors_as_failures: Count trials without a score as failures in all rates.
        mix: Allow runs that cannot be compared, and label the report as mixed.
        live: The report is read while runs go on: those that are not complete have no intervals.
        now: When the report is made; the current time by default.

    Raises:
        IncomparableRunsError: The runs cannot be compared and `mix` is off.
    """
    sides = [side_of(each) for each in runs]
    found = check_comparable(sides, mix=mix)
    strict = count_errors_as_failures
    labels = labels_of(runs)
    described = tuple(
        _run_report(each, side, labels, out=out, strict=strict)
        for each, side in zip(runs, sides, strict=True)
    )
    report = Report(
        title=title or _title(runs),
        generated=now or datetime.now(timezone.utc),
        generator=f"bench-report {__version__}",
        count_errors_as_failures=count_errors_as_failures,
        mismatches=found,
        caveats=caveats(described, found),
        runs=described,
        comparison=compare(sides, strict=strict),
        ranking=ranking_of(sides, described, strict=strict),
        label_differences=label_differences(described),
        tasks=task_entries(runs),
    )
    report = without_intervals(report) if live else report
    # Written last, so that the paragraphs quote no interval that was taken out.
    return report.model_copy(
        update={"methods": methods_paragraphs(report), "references": references(report)}
    )


def _title(runs: Sequence[Source]) -> str:
    *others, last = sorted({run.info.benchmark for run in runs})
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{runs[0].info.agent} on {names}" if len(runs) == 1 else f"{len(runs)} runs on {names}"


def _run_report(
    run: Source, side: ComparedRun, labels: Sequence[str], *, out: Path, strict: bool
) -> RunReport:
    base = run.relative_to(out)
    rows = trial_rows(run, base)
    rule = run.info.stopping_rule
    looks = looks_of(rule, run.view.latest, run.info.trials) if rule else ()
    scored = [each for each in run.results if each.score is not None]
    scored.sort(key=lambda each: each.sequence or 0)
    codes = [each.agent_code.sha256 for each in scored if each.agent_code]
    report = RunReport(
        label=run.label,
        folder=base,
        info=run.info,
        # A run that its rule stopped is finished: the trials that remain of the plan will not run.
        state="finished" if looks and looks[-1].stops else _state(run),
        summary=summarise(
            run.tasks, run.ended, trials=run.info.trials, count_errors_as_failures=strict
        ),
        slice_efforts=_slice_efforts(run, rows),
        methods=methods_of(run.view.latest),
        audit=audit_of(run),
        integrity=integrity_of(run),
        checkers=checkers_of(run),
        notes=notes_of(run, labels),
        failed_checks=failed_checks(run),
        when_passed=when_passed(run),
        looks=looks,
        superseded=max(0, run.view.lines - len(run.view.latest)),
        problems=tuple(problem.reason for problem in run.view.problems),
        damage=run.view.damage,
        # Scored trials by the program that the agent was; those without a digest are left out.
        programs=dict(Counter(code for code in codes if code is not None)),
        trials=rows,
        drift=drift_of(
            TimedOutcome(each.task_id, each.trial, bool(each.success), each.started)
            for each in scored
        ),
    )
    # Computed from the run in the form that comparisons read.
    return report.model_copy(
        update={"noise": noise_of_run(side, strict=strict), "cost": cost_of_run(report, side)}
    )


def _state(run: Source) -> RunState:
    """Distinguish a run under way from one that was interrupted."""
    last = run.info.sessions[-1] if run.info.sessions else None
    if last and last.outcome == "running":
        return "running"
    done = sum(each.status.done and each.trial <= run.info.trials for each in run.ended)
    return "finished" if done >= len(run.tasks) * run.info.trials else "interrupted"


def _slice_efforts(run: Source, rows: Iterable[TrialRow]) -> tuple[SliceEffort, ...]:
    """Describe the resources that the trials of every value of every group used."""
    slices = {
        task.task_id: [(g, v) for g, values in task.groups.items() for v in dict.fromkeys(values)]
        for task in run.tasks
    }
    members: defaultdict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        for each in slices[row.task_id]:
            members[each].append(row)
    return tuple(
        SliceEffort(group=group, value=value, effort=effort_of(members[group, value]))
        for group, value in sorted(members)
    )
