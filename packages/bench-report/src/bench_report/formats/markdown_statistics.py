"""The parts of the Markdown report about looks, ranks and noise."""

from __future__ import annotations

from collections.abc import Iterator

from bench_report.model import Report
from bench_report.text import phrases
from bench_report.text.numbers import NONE, count, counted, level, percent
from bench_report.text.untrusted import markdown as escaped
from bench_report.text.untrusted import markdown_table


def looks(report: Report) -> Iterator[str]:
    """Yield the findings of looks, of runs that may stop early."""
    for run in report.runs:
        if run.looks:
            yield f"### Looks of {escaped(run.label)}"
            yield markdown_table(
                phrases.LOOK_COLUMNS, phrases.look_rows(run), words=0, numbers_from=1
            )
            yield phrases.LOOKS_NOTE.format(baseline=escaped(phrases.baseline_of_looks(run)))


def noise(report: Report) -> Iterator[str]:
    """Yield where the noise of each run comes from."""
    rows = [
        (
            run.label,
            *(percent(found.shares[part]) for part in ("template", "task", "trial")),
            f"{found.icc:.2f}",
            NONE if found.icc_low is None else f"{found.icc_low:.2f} to {found.icc_high:.2f}",
            percent(found.width_twice_trials),
            percent(found.width_twice_tasks),
        )
        for run in report.runs
        if (found := run.noise)
    ]
    if rows:
        yield "### Where the noise comes from"
        head = (
            "Run",
            "Templates",
            "Tasks",
            "Trials",
            "ICC",
            "95% interval",
            "Width with twice the trials",
            "with twice the tasks",
        )
        yield markdown_table(head, rows)
        yield phrases.NOISE_NOTE


def drift(report: Report) -> Iterator[str]:
    """Yield the rates of each run by trial number and by start time."""
    for run in report.runs:
        if rows := phrases.drift_rows(run):
            yield f"### {escaped(run.label)} by trial number and by time"
            yield markdown_table(phrases.DRIFT_COLUMNS, rows, words=2)
            yield escaped(phrases.drift_sentence(run), 1000)
            yield phrases.DRIFT_NOTE


def ranking(report: Report) -> Iterator[str]:
    """Give every run the ranks that all paired comparisons leave open."""
    if report.ranking is None:
        return
    board = report.ranking.leaderboard
    by = {each.model: each.by for each in report.ranking.dominance if each.dominated}
    yield "### Ranks"
    yield markdown_table(
        ("Run", "Rate", "Ranks", "Worse and dearer than"),
        (
            (
                each.model,
                percent(each.rate),
                phrases.ranks(each),
                escaped(by.get(each.model, NONE)),
            )
            for each in board.ranks
        ),
    )
    yield phrases.RANKS_NOTE.format(confidence=level(1 - board.alpha))
    if pairs := phrases.pair_rows(report.ranking):
        yield "#### All pairs"
        yield markdown_table(("Run", "Against", *phrases.DIFFERENCE_COLUMNS), pairs, words=2)
    items = report.ranking.items
    if items:
        yield (
            f"Of {counted(len(items.tasks), 'task')} that all runs have, {count(items.always)} succeeded in "
            f"every trial of every run and {count(items.never)} in none: these distinguish no two runs."
        )
