"""The report as Markdown: the page's summary, a table of tasks, all text of unknown origin escaped."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from bench_report.analysis.caveats import grouped
from bench_report.analysis.integrity import integrity_counts, reasons
from bench_report.analysis.rate_variants import rate_variants
from bench_report.formats.markdown_statistics import looks, noise, ranking
from bench_report.text.numbers import (
    NONE,
    count,
    dollars,
    duration,
    interval,
    level,
    p_value,
    percent,
    plain,
    points,
    points_interval,
    short,
)
from bench_report.text.untrusted import markdown as escaped
from bench_report.text.untrusted import markdown_table as _table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench_core.statistics import Interval
    from bench_report.model import IntegritySummary, JudgeAudit, Report, RunReport, TrialRow

__all__ = ["render_markdown"]

_MAX_TASKS = 2_000
_MAX_TEMPLATES = 250
_MAX_FLAGGED = 200
_SYMBOLS = {True: "✓", False: "✗", None: NONE}


def render_markdown(report: Report) -> str:
    """Return a report as CommonMark with GitHub's tables."""
    blocks = [f"# {escaped(report.title)}"]
    for part in _PARTS:
        blocks += part(report)
    return "\n\n".join(blocks) + "\n"


def _banner(report: Report) -> Iterator[str]:
    for caveat, runs in grouped(report.caveats):
        if caveat.severity == "critical":
            yield f"> **Note{_concerned(report, runs)}:** {escaped(caveat.text, 2000)}"


def _concerned(report: Report, runs: Sequence[str]) -> str:
    """Name the runs a caveat is about where there are several."""
    if len(report.runs) == 1 or not runs:
        return ""
    return f" ({', '.join(map(escaped, runs))})"


def _headline(report: Report) -> Iterator[str]:
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
        (_headline_row(run, strict=strict) for run in report.runs),
    )
    found = next(
        (r.summary.success.new_tasks for r in report.runs if r.summary.success.new_tasks), None
    )
    if found:
        yield f"{level(found.level)} intervals about new tasks of this kind: {escaped(found.method)}."


def _headline_row(run: RunReport, *, strict: bool) -> tuple[str, ...]:
    rate, coverage = run.summary.success, run.summary.coverage
    left_out = 0 if strict else coverage.results - coverage.scored
    return (
        escaped(run.label),
        f"**{percent(rate.estimate)}**",
        interval(rate.new_tasks) if rate.new_tasks else escaped(rate.refused.get("new_tasks", "")),
        count(rate.trials),
        count(rate.tasks),
        count(rate.clusters),
        count(left_out),
        percent(run.summary.bounds.unknown if run.summary.bounds else None),
    )


def _comparison(report: Report) -> Iterator[str]:
    if report.comparison is None:
        return
    yield f"### Differences from {escaped(report.comparison.baseline)}"
    yield _table(
        (
            "Run",
            "Difference",
            "95% interval",
            "p (Holm)",
            "p, sign flips",
            "p, same agent here",
            "Detectable",
            "Shared tasks",
            "Method",
        ),
        (
            (
                escaped(each.run),
                points(each.value),
                points_interval(each.low, each.high),
                p_value(each.adjusted_p_value),
                p_value(each.p_sign_flip),
                p_value(each.p_same_tasks),
                points(each.detectable).lstrip("+"),
                count(each.shared_tasks),
                escaped(each.note or each.method),
            )
            for each in report.comparison.differences
        ),
    )
    yield from _slice_differences(report)


def _slice_differences(report: Report) -> Iterator[str]:
    rows = [
        (
            escaped(f"{part.group} {part.value}"),
            escaped(each.run),
            points(part.difference),
            points_interval(part.low, part.high),
            p_value(part.adjusted_p_value),
            count(part.shared_tasks),
        )
        for each in (report.comparison.differences if report.comparison else ())
        for part in each.slices
    ]
    if rows:
        yield "#### By slice"
        head = ("Slice", "Run", "Difference", "95% interval", "p (Holm)", "Shared tasks")
        yield _table(head, rows, numbers_from=2)


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
        yield _table(("Reading", "Run", "Rate", "95% interval"), rows, numbers_from=2)


def _caveats(report: Report) -> Iterator[str]:
    if report.caveats:
        yield "## Before you quote this"
        yield "\n".join(
            f"- {escaped(caveat.text, 2000)}{_concerned(report, runs)}"
            for caveat, runs in grouped(report.caveats)
        )


def _slices(report: Report) -> Iterator[str]:
    names = dict.fromkeys(name for run in report.runs for name in run.summary.groups)
    for name in names:
        yield f"## By {escaped(name)}"
        yield _table(
            ("Value", "Run", "Rate", "95% interval", "Template average", "Tasks", "Trials",
             "Steps", "Tokens", "Cost"),
            (row for run in report.runs for row in _slice_rows(run, name)),
            numbers_from=2,
        )  # fmt: skip


def _slice_rows(run: RunReport, name: str) -> Iterator[tuple[str, ...]]:
    efforts = {each.value: each.effort for each in run.slice_efforts if each.group == name}
    for row in run.summary.groups.get(name, ()):
        effort = efforts.get(row.name)
        yield (
            escaped(row.name),
            escaped(run.label),
            percent(row.success.estimate),
            interval(row.success.new_tasks),
            percent(row.macro_average.estimate) if row.macro_average else NONE,
            count(row.success.tasks),
            count(row.success.trials),
            plain(effort.steps.mean) if effort else NONE,
            short(effort.tokens.mean) if effort else NONE,
            dollars(effort.cost_usd.mean) if effort else NONE,
        )


def _templates(report: Report) -> Iterator[str]:
    rows = [
        (
            escaped(row.name),
            escaped(run.label),
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
        yield _table(head, rows[:_MAX_TEMPLATES], numbers_from=2)
    if len(rows) > _MAX_TEMPLATES:
        yield f"{count(len(rows) - _MAX_TEMPLATES)} more rows are in report.json."


def _evaluation(report: Report) -> Iterator[str]:
    yield "## Evaluation"
    yield _table(
        (
            "Method",
            "Run",
            "Scored",
            "Passed",
            "High",
            "Medium",
            "Low confidence",
            "Mean confidence",
        ),
        (
            (
                escaped(row.method),
                escaped(run.label),
                count(row.scored),
                count(row.passed),
                *(count(row.confidence.get(each, 0)) for each in ("high", "medium", "low")),
                percent(row.mean_confidence),
            )
            for run in report.runs
            for row in run.methods
        ),
        numbers_from=2,
    )
    for run in report.runs:
        if run.audit:
            yield from _audit(run.label, run.audit)


def _audit(label: str, audit: JudgeAudit) -> Iterator[str]:
    yield f"### Query and judge apart: {escaped(label)}"
    rows = [
        (name, percent(read.interval.estimate) if read.interval else NONE, interval(read.interval),
         count(read.trials))
        for name, read in (
            ("Query alone", audit.query_only),
            ("Judge alone", audit.judge_only),
            ("Combined, as reported", audit.combined),
        )
    ]  # fmt: skip
    if audit.corrected:
        found = audit.corrected.new_tasks
        rows.append(("Corrected", percent(found.estimate), interval(found), f"{audit.known} known"))
    yield _table(("Reading", "Rate", "95% interval", "Trials"), rows)
    yield _table(
        ("", "Judge passed", "Judge failed"),
        (
            ("Query passed", count(audit.both_pass), count(audit.only_query)),
            ("Query failed", count(audit.only_judge), count(audit.both_fail)),
        ),
    )
    for name, found_ in (("query", audit.query_accuracy), ("judge", audit.judge_accuracy)):
        if found_:
            yield (
                f"Against {count(audit.known)} known trials the {name} is right in "
                f"{percent(found_.agreement.estimate)} ({interval(found_.agreement)}); sensitivity "
                f"{_known(found_.sensitivity)}, specificity {_known(found_.specificity)}."
            )
    if audit.refused:
        yield f"No corrected rate: {escaped(audit.refused, 500)}."


def _known(found: Interval | None) -> str:
    return f"{percent(found.estimate)} ({interval(found)})" if found else "unknown"


def _outcomes(report: Report) -> Iterator[str]:
    yield "## Outcomes"
    yield _table(
        ("Run", "How trials ended", "Trials"),
        (
            (escaped(run.label), escaped(status.value.replace("_", " ")), count(number))
            for run in report.runs
            for status, number in run.summary.statuses.items()
        ),
        numbers_from=2,
    )
    modes = [
        (escaped(run.label), escaped(mode), count(number))
        for run in report.runs
        for mode, number in run.summary.failure_modes.items()
    ]
    if modes:
        yield "### Why trials failed"
        yield _table(("Run", "Failure mode", "Trials"), modes, numbers_from=2)
    causes = [
        (escaped(run.label), escaped(cause), count(number))
        for run in report.runs
        for cause, number in run.summary.suspects.items()
    ]
    if causes:
        yield "### Scores that may not be the agent's own doing"
        yield _table(("Run", "Suspect", "Trials"), causes, numbers_from=2)
    yield from _exclusions(report)


def _integrity(report: Report) -> Iterator[str]:
    found = [(run, run.integrity) for run in report.runs if run.integrity is not None]
    if not found:
        return
    yield "## Integrity"
    yield "Attempts to score without doing the task. The success rate is the benchmark's own all the same."
    yield _table(
        (
            "Run",
            "Clean",
            "Flagged",
            "Unknown",
            "Unsealed",
            "Clean successes",
            "Voids",
            "Rate, voids as zero",
        ),
        (
            (
                escaped(run.label),
                *(_share(number, each.trials) for _, number in integrity_counts(each)),
                count(each.clean_successes),
                count(each.voids),
                _voids_rate(each),
            )
            for run, each in found
        ),
    )
    rows = [
        (
            escaped(f"{trial.task_id} #{trial.trial}"),
            escaped(run.label),
            _SYMBOLS[trial.success],
            escaped(reasons(trial), 600),
        )
        for run, each in found
        for trial in each.listed[:_MAX_FLAGGED]
    ]
    if rows:
        yield "### Flagged trials"
        yield _table(("Trial", "Run", "Success", "What was found"), rows, numbers_from=4)
    left = sum(max(0, each.flagged - _MAX_FLAGGED) for _, each in found)
    if left:
        yield f"{count(left)} more are in report.json."


def _share(number: int, trials: int) -> str:
    return f"{count(number)} ({percent(number / trials)})" if trials else count(number)


def _voids_rate(found: IntegritySummary) -> str:
    rate = found.voids_as_zero
    if rate is None:
        return "as reported"
    if rate.interval is None:
        return escaped(rate.refused or NONE)
    return f"{percent(rate.interval.estimate)} {interval(rate.interval)}"


def _exclusions(report: Report) -> Iterator[str]:
    rows = [
        (
            escaped(run.label),
            escaped(each.status.value.replace("_", " ")),
            count(each.count),
            escaped(": ".join(filter(None, (each.kind, each.message)))),
        )
        for run in report.runs
        for each in run.summary.exclusions
    ]
    if rows:
        counted = (
            "counted as failures" if report.count_errors_as_failures else "left out of the rate"
        )
        yield f"### Without a score, {counted}"
        yield _table(("Run", "Status", "Trials", "First reason"), rows, numbers_from=4)


def _effort(report: Report) -> Iterator[str]:
    yield "## Effort"
    rows = []
    for run in report.runs:
        for name, spread, write in (
            ("steps", run.summary.steps, plain),
            ("tokens", run.summary.tokens, short),
            ("cost", run.summary.cost_usd, dollars),
            ("time", run.summary.time_s, duration),
        ):
            figures = (spread.median, spread.mean, spread.p90, spread.largest, spread.total)
            rows.append((escaped(run.label), name, *map(write, figures), count(spread.unknown)))
    head = ("Run", "Per trial", "Median", "Mean", "90% below", "Largest", "Total", "Unknown for")
    yield _table(head, rows, numbers_from=2)


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
        cells = [_cell(by_run.get(index, ())) for index in range(len(report.runs))]
        rows.append((escaped(task.task_id), escaped(task.goal, 120), *cells))
    yield _table(
        ("Task", "Goal", *(escaped(run.label) for run in report.runs)), rows, numbers_from=9
    )
    yield f"Each symbol is a trial: ✓ passed, ✗ failed, {NONE} not scored."
    if len(report.tasks) > _MAX_TASKS:
        yield f"{count(len(report.tasks) - _MAX_TASKS)} more tasks are in report.json."


def _cell(rows: Sequence[TrialRow]) -> str:
    return " ".join(_SYMBOLS[row.success] for row in rows)


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
        yield _table((escaped(run.label), ""), known, numbers_from=2)


def _footer(report: Report) -> Iterator[str]:
    yield f"Made by {escaped(report.generator)} on {report.generated:%Y-%m-%d}."


_PARTS: tuple[Callable[[Report], Iterator[str]], ...] = (
    _banner,
    _headline,
    _comparison,
    looks,
    ranking,
    noise,
    _readings,
    _caveats,
    _slices,
    _templates,
    _outcomes,
    _evaluation,
    _integrity,
    _effort,
    _tasks,
    _methods,
    _provenance,
    _footer,
)
