"""The report as Markdown: the page's summary, a table of tasks, all text of unknown origin escaped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from bench_report.analysis.caveats import grouped
from bench_report.analysis.rate_variants import rate_variants
from bench_report.formats.markdown_notes import notes
from bench_report.formats.markdown_outcomes import (
    TRIAL_SYMBOLS,
    checkers,
    evaluation,
    integrity,
    outcomes,
)
from bench_report.formats.markdown_statistics import drift, looks, noise, ranking
from bench_report.model import Report, TrialRow
from bench_report.text import phrases
from bench_report.text.numbers import NONE, count, interval, level, percent
from bench_report.text.untrusted import markdown as escaped
from bench_report.text.untrusted import markdown_table as _table

_MAX_TASKS = 2_000
_MAX_TEMPLATES = 250


def render_markdown(report: Report) -> str:
    """Return a report as CommonMark with GitHub's tables."""
    blocks = [f"# {escaped(report.title)}"]
    for part in _PARTS:
        blocks += part(report)
    return "\n\n".join(blocks) + "\n"


def banner(report: Report) -> Iterator[str]:
    """Yield the critical caveats, with the runs that they are about."""
    for caveat, runs in grouped(report.caveats):
        if caveat.severity == "critical":
            yield f"> **Note{_concerned(report, runs)}:** {escaped(caveat.text, 2000)}"


def _concerned(report: Report, runs: Sequence[str]) -> str:
    """Name the runs a caveat is about if there are several."""
    if len(report.runs) == 1 or not runs:
        return ""
    return f" ({', '.join(map(escaped, runs))})"


def headline(report: Report) -> Iterator[str]:
    """Yield heading and table of success rates, and the meaning of the intervals."""
    strict = report.count_errors_as_failures
    yield f"## {'Strict success rate' if strict else 'Success rate'}"
    yield _table(
        (
            "Run",
            "Rate",
            "95% interval",
            "Scored trials",
            "Tasks",
            "Clusters",
            "Left out",
            "Unknown",
        ),
        (
            (
                run.label,
                f"**{percent(run.summary.success.estimate)}**",
                interval(run.summary.success.new_tasks)
                if run.summary.success.new_tasks
                else escaped(run.summary.success.refused.get("new_tasks", "")),
                *phrases.headline_counts(report, run),
                percent(run.summary.bounds.unknown if run.summary.bounds else None),
            )
            for run in report.runs
        ),
    )
    if found := phrases.headline_interval(report):
        yield f"{level(found.level)} intervals about new tasks of this kind: {escaped(found.method)}."


def _comparison(report: Report) -> Iterator[str]:
    if report.comparison is None:
        return
    yield f"### Differences from {escaped(report.comparison.baseline)}"
    yield _table(
        ("Run", *phrases.DIFFERENCE_COLUMNS),
        (
            (each.run, *phrases.difference_cells(each.value, each))
            for each in report.comparison.differences
        ),
    )
    methods = (f"{each.run}: {each.note or each.method}." for each in report.comparison.differences)
    yield " ".join([phrases.DIFFERENCES_NOTE, *map(escaped, methods)])
    if words := phrases.difference_remarks(report.comparison):
        yield " ".join(map(escaped, words))
    rows = [
        (part.name, each.run, *cells[:5], cells[-1])
        for each in report.comparison.differences
        for part in each.slices
        for cells in [phrases.difference_cells(part.difference, part)]
    ]
    if rows:
        yield "#### By slice"
        head = ("Slice", "Run", *phrases.DIFFERENCE_COLUMNS[:5], phrases.DIFFERENCE_COLUMNS[-1])
        yield _table(head, rows, words=2)


def _readings(report: Report) -> Iterator[str]:
    rows = [
        (
            f"{escaped(variant.name)} ({variant.about})",
            escaped(report.runs[each.run].label),
            percent(each.value),
            interval(each.interval) if each.interval else escaped(each.refused or NONE),
        )
        for variant in rate_variants(report)
        for each in variant.values
    ]
    if rows:
        yield "### Other readings"
        yield _table(("Reading", "Run", "Rate", "95% interval"), rows, words=0, numbers_from=2)


def _caveats(report: Report) -> Iterator[str]:
    if report.caveats:
        yield "## Before you quote this"
        yield "\n".join(
            f"- {escaped(caveat.text, 2000)}{_concerned(report, runs)}"
            for caveat, runs in grouped(report.caveats)
        )


def _slices(report: Report) -> Iterator[str]:
    for name in phrases.slice_groups(report):
        yield f"## By {escaped(name)}"
        yield _table(
            ("Value", "Run", "Rate", "95% interval", "Template average", "Tasks", "Trials",
             "Steps", "Tokens", "Cost"),
            phrases.slice_rows(report, name),
            words=2,
        )  # fmt: skip


def _templates(report: Report) -> Iterator[str]:
    rows = [
        (
            row.name,
            run.label,
            percent(row.success.estimate),
            interval(row.success.new_tasks),
            count(row.success.tasks),
            count(row.success.trials),
        )
        for run in report.runs
        for row in run.summary.templates
    ]
    if rows:
        yield "## By template"
        head = ("Template", "Run", "Rate", "95% interval", "Tasks", "Trials")
        yield _table(head, rows[:_MAX_TEMPLATES], words=2)
    if len(rows) > _MAX_TEMPLATES:
        yield f"{count(len(rows) - _MAX_TEMPLATES)} more rows are in report.json."


def _effort(report: Report) -> Iterator[str]:
    yield "## Effort"
    head = ("Run", "Per trial", "Median", "Mean", "90% below", "Largest", "Total", "Unknown for")
    yield _table(head, phrases.effort_rows(report), words=2)
    if costs := phrases.cost_rows(report):
        yield "### Cost of a scored trial"
        yield _table(phrases.COST_COLUMNS, costs)


def _tasks(report: Report) -> Iterator[str]:
    yield "## Tasks"
    trials: defaultdict[tuple[str, str], dict[int, list[TrialRow]]] = defaultdict(dict)
    for index, run in enumerate(report.runs):
        for row in run.trials:
            of_task = trials[run.info.benchmark, row.task_id]
            of_task.setdefault(index, []).append(row)
    rows = []
    for task in report.tasks[:_MAX_TASKS]:
        by_run = trials[task.benchmark, task.task_id]
        cells = [
            " ".join(TRIAL_SYMBOLS[row.success] for row in by_run.get(index, ()))
            for index in range(len(report.runs))
        ]
        rows.append((escaped(task.task_id), escaped(task.goal, 120), *cells))
    yield _table(
        ("Task", "Goal", *(escaped(run.label) for run in report.runs)),
        rows,
        words=0,
        numbers_from=9,
    )
    yield f"Each symbol is a trial: ✓ passed, ✗ failed, {NONE} not scored."
    if len(report.tasks) > _MAX_TASKS:
        yield f"{count(len(report.tasks) - _MAX_TASKS)} more tasks are in report.json."


def _methods(report: Report) -> Iterator[str]:
    yield "## How this was measured"
    for paragraph in report.methods:
        yield escaped(paragraph, 5000)
    if report.references:
        yield "### References"
        yield "\n".join(f"- {escaped(each, 1000)}" for each in report.references)


def _provenance(report: Report) -> Iterator[str]:
    yield "## Provenance"
    for run in report.runs:
        info = run.info
        git = (
            f"{info.git.commit}{' (uncommitted changes)' if info.git.dirty else ''}"
            if info.git
            else ""
        )
        facts = {
            "Run": info.run_id,
            "Folder": run.folder,
            "Benchmark": f"{info.benchmark} {info.benchmark_version or ''}".strip(),
            "World": info.world,
            "Profile": info.profile,
            "Agent": info.agent,
            "Model asked for": info.model,
            "Model reported": ", ".join(run.summary.models_reported),
            "Trials per task": str(info.trials),
            "Seed": str(info.seed),
            "Task set (SHA-256)": info.task_set_hash,
            "Configuration (SHA-256)": info.config_hash,
            "Commit": git,
            "Started": f"{info.started:%Y-%m-%d %H:%M:%S}",
            "Finished": f"{info.finished:%Y-%m-%d %H:%M:%S}" if info.finished else "not finished",
            "Host": info.host,
            "Python": info.python,
            "Versions": ", ".join(f"{name} {version}" for name, version in info.versions.items()),
        }
        known = [(name, escaped(value, 2000)) for name, value in facts.items() if value]
        yield _table((escaped(run.label), ""), known, words=0, numbers_from=2)


def _footer(report: Report) -> Iterator[str]:
    yield f"Made by {escaped(report.generator)} on {report.generated:%Y-%m-%d}."


_PARTS: tuple[Callable[[Report], Iterator[str]], ...] = (
    banner,
    headline,
    _comparison,
    looks,
    ranking,
    noise,
    drift,
    _readings,
    _caveats,
    _slices,
    _templates,
    outcomes,
    evaluation,
    integrity,
    checkers,
    notes,
    _effort,
    _tasks,
    _methods,
    _provenance,
    _footer,
)
