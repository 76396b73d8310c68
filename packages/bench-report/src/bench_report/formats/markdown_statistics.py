"""The parts of the Markdown report about looks, ranks and noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_report.text.numbers import NONE, count, counted, level, percent
from bench_report.text.phrases import (
    DIFFERENCE_COLUMNS,
    DRIFT_COLUMNS,
    DRIFT_NOTE,
    LOOK_COLUMNS,
    LOOKS_NOTE,
    NOISE_NOTE,
    RANKS_NOTE,
    baseline_of_looks,
    drift_rows,
    drift_sentence,
    look_rows,
    pair_rows,
    ranks,
)
from bench_report.text.untrusted import markdown as escaped
from bench_report.text.untrusted import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_report.model import Report


def looks(report: Report) -> Iterator[str]:
    """Yield what looks found, of runs that may stop early."""
    for run in report.runs:
        if run.looks:
            yield f"### Looks of {escaped(run.label)}"
            yield markdown_table(LOOK_COLUMNS, look_rows(run), words=0, numbers_from=1)
            yield LOOKS_NOTE.format(baseline=escaped(baseline_of_looks(run)))


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
        yield NOISE_NOTE


def drift(report: Report) -> Iterator[str]:
    """Yield the rates of each run by trial number and by start time."""
    for run in report.runs:
        if rows := drift_rows(run):
            yield f"### {escaped(run.label)} by trial number and by time"
            yield markdown_table(DRIFT_COLUMNS, rows, words=2)
            yield escaped(drift_sentence(run), 1000)
            yield DRIFT_NOTE


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
                ranks(each),
                escaped(by.get(each.model, NONE)),
            )
            for each in board.ranks
        ),
    )
    yield RANKS_NOTE.format(confidence=level(1 - board.alpha))
    if pairs := pair_rows(report.ranking):
        yield "#### All pairs"
        yield markdown_table(("Run", "Against", *DIFFERENCE_COLUMNS), pairs, words=2)
    items = report.ranking.items
    if items:
        yield (
            f"Of {counted(len(items.tasks), 'task')} that all runs have, {count(items.always)} succeeded in "
            f"every trial of every run and {count(items.never)} in none: these distinguish no two runs."
        )
