"""The words and table cells about looks, ranks and noise that all formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_report.text import numbers

if TYPE_CHECKING:
    from bench_core.statistics import RankSet
    from bench_report.model import RunReport

__all__ = [
    "LOOKS_NOTE",
    "LOOK_COLUMNS",
    "NOISE_NOTE",
    "RANKS_NOTE",
    "baseline_of_looks",
    "look_rows",
    "ranks",
    "unknown",
]

LOOK_COLUMNS = (
    "Look", "Tasks", "Difference", "Repeated interval", "t", "Critical", "Power left", "Result",
)  # fmt: skip
LOOKS_NOTE = (
    "Differences from {baseline} at complete random batches of tasks, drawn and stored with the boundaries "
    "(O'Brien and Fleming's spending) before the first trial. The repeated interval holds at whatever look a "
    "run stops; an estimate at an early stop lies beyond the truth by about a point in the mean."
)

RANKS_NOTE = (
    "Ranks that all paired comparisons leave open (Holm over all pairs), with {confidence} confidence for "
    "all runs together. A run is called worse and dearer only where both are clear."
)
NOISE_NOTE = (
    "Shares of the variance of the rate on new tasks. ICC: how alike trials of one task are. Where tasks "
    "make most of it, more tasks help and more trials hardly do; a comparison on the same tasks gains from both."
)


def ranks(found: RankSet) -> str:
    """Write a rank set: `2` or `1 to 3`."""
    return f"{found.best}" if found.best == found.worst else f"{found.best} to {found.worst}"


def unknown(run: RunReport) -> str | None:
    """Write what trials without a score leave open; `None` where every planned trial has one."""
    found = run.summary.bounds
    if found is None or not found.unknown:
        return None
    ends = f"{numbers.percent(found.proven)} proven, {numbers.percent(found.not_disproven)} not disproven"
    return f"{numbers.percent(found.unknown)} unknown: {ends}"


def look_rows(run: RunReport) -> list[tuple[str, ...]]:
    """Write the looks of a run, a row each, by `LOOK_COLUMNS`."""
    return [
        (
            f"{each.number} of {each.of}",
            numbers.count(each.tasks),
            numbers.points(each.difference),
            numbers.points_interval(each.low, each.high),
            numbers.NONE if each.statistic is None else f"{each.statistic:.2f}",
            numbers.NONE if each.critical is None else f"{each.critical:.2f}",
            numbers.percent(each.conditional_power),
            each.reason,
        )
        for each in run.looks
    ]


def baseline_of_looks(run: RunReport) -> str:
    """Return the name of the run that looks compare with."""
    return str((run.info.stopping_rule or {}).get("baseline", "?"))
