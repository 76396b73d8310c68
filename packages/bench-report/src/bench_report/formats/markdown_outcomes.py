"""The parts of the Markdown report about trials' ends, failed checks, and methods of evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bench_core.statistics import Interval
from bench_report.analysis.checkers import doubt_words
from bench_report.analysis.integrity import integrity_counts, reasons
from bench_report.model import IntegritySummary, JudgeAudit, Report, RunReport
from bench_report.text import phrases
from bench_report.text.numbers import NONE, count, interval, percent
from bench_report.text.untrusted import markdown as escaped
from bench_report.text.untrusted import markdown_table

TRIAL_SYMBOLS = {True: "✓", False: "✗", None: NONE}
"""How a trial's success is written."""
_MAX_FLAGGED = 200
_MAX_PASSED = 50


def evaluation(report: Report) -> Iterator[str]:
    """Yield how trials were evaluated, and query and judge apart."""
    yield "## Evaluation"
    yield markdown_table(
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
                row.method,
                run.label,
                count(row.scored),
                count(row.passed),
                *(count(row.confidence.get(each, 0)) for each in ("high", "medium", "low")),
                percent(row.mean_confidence),
            )
            for run in report.runs
            for row in run.methods
        ),
        words=2,
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
    yield markdown_table(("Reading", "Rate", "95% interval", "Trials"), rows)
    yield markdown_table(
        ("", "Judge passed", "Judge failed"),
        (
            ("Query passed", count(audit.both_pass), count(audit.only_query)),
            ("Query failed", count(audit.only_judge), count(audit.both_fail)),
        ),
    )
    if audit.kinds:
        yield markdown_table(phrases.KIND_COLUMNS, phrases.kind_rows(audit), words=1)
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


def outcomes(report: Report) -> Iterator[str]:
    """Yield how trials ended, why they failed, and which checks they did not pass."""
    yield "## Outcomes"
    yield markdown_table(
        ("Run", "How trials ended", "Trials"),
        _counted(
            report, lambda run: {status.value: n for status, n in run.summary.statuses.items()}
        ),
        words=2,
    )
    modes = _counted(report, lambda run: run.summary.failure_modes)
    if modes:
        yield "### Why trials failed"
        yield markdown_table(("Run", "Failure mode", "Trials"), modes, words=2)
    checks = [(*row, escaped(example)) for *row, example in phrases.check_rows(report)]
    if checks:
        yield "### Checks that failed trials did not pass"
        head = ("Run", "Check", "Trials", "Tasks", "For example")
        yield markdown_table(head, checks, words=2)
    for run in report.runs:
        if run.when_passed:
            yield f"### When trials passed: {escaped(run.label)}"
            yield f"{phrases.passed_line(run.when_passed)} {phrases.PASSED_NOTE}"
            if rows := [row[1:] for row in phrases.passed_rows(run)[:_MAX_PASSED]]:
                yield markdown_table(phrases.PASSED_COLUMNS[1:], rows, words=1)
    causes = _counted(report, lambda run: run.summary.suspects)
    if causes:
        yield "### Scores that may not be the agent's own doing"
        yield markdown_table(("Run", "Suspect", "Trials"), causes, words=2)
    unscored = [
        (
            run.label,
            phrases.why_unscored(each.status, each.fault).replace("_", " "),
            count(each.count),
            escaped(": ".join(filter(None, (each.kind, each.message)))),
        )
        for run in report.runs
        for each in run.summary.exclusions
    ]
    if unscored:
        counted = (
            "counted as failures" if report.count_errors_as_failures else "left out of the rate"
        )
        yield f"### Without a score, {counted}"
        why = ("Run", "Status", "Trials", "First reason")
        yield markdown_table(why, unscored, words=2, numbers_from=4)


def _counted(
    report: Report, counts_of: Callable[[RunReport], Mapping[str, int]]
) -> list[tuple[str, str, str]]:
    """Return a row for each count of each run, named in words."""
    return [
        (run.label, name.replace("_", " "), count(number))
        for run in report.runs
        for name, number in counts_of(run).items()
    ]


def integrity(report: Report) -> Iterator[str]:
    """Yield the known attempts to score without doing the task."""
    found = [(run, run.integrity) for run in report.runs if run.integrity is not None]
    if not found:
        return
    yield "## Integrity"
    yield "Attempts to score without doing the task. The success rate is the benchmark's own all the same."
    yield markdown_table(
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
                run.label,
                *(
                    f"{count(n)} ({percent(n / each.trials)})" if each.trials else count(n)
                    for _, n in integrity_counts(each)
                ),
                count(each.clean_successes),
                count(each.voids),
                _voids_rate(each),
            )
            for run, each in found
        ),
    )
    rows = [
        (
            f"{trial.task_id} #{trial.trial}",
            run.label,
            TRIAL_SYMBOLS[trial.success],
            escaped(reasons(trial), 600),
        )
        for run, each in found
        for trial in each.listed[:_MAX_FLAGGED]
    ]
    if rows:
        yield "### Flagged trials"
        head = ("Trial", "Run", "Success", "What was found")
        yield markdown_table(head, rows, words=2, numbers_from=4)
    left = sum(max(0, each.flagged - _MAX_FLAGGED) for _, each in found)
    if left:
        yield f"{count(left)} more are in report.json."


def checkers(report: Report) -> Iterator[str]:
    """Yield the solved trials that their tasks' checkers may have passed wrongly."""
    listed = [(run, each) for run in report.runs if run.checkers for each in run.checkers.listed]
    if listed:
        yield "## Passed, perhaps wrongly"
        rows = [
            (f"{each.task_id} #{each.trial}", run.label, escaped(doubt_words(each), 300))
            for run, each in listed[:_MAX_FLAGGED]
        ]
        yield markdown_table(("Trial", "Run", "Why"), rows, words=3)
        if left := len(listed) - len(rows):
            yield f"{count(left)} more are in report.json."


def _voids_rate(found: IntegritySummary) -> str:
    rate = found.voids_as_zero
    if rate is None:
        return "as reported"
    if rate.interval is None:
        return escaped(rate.refused or NONE)
    return f"{percent(rate.interval.estimate)} {interval(rate.interval)}"
