"""Rows of people's notes on trials, alike in every format."""

from __future__ import annotations

from collections.abc import Iterator

from bench_report.model import NoteEntry, Report, RunNotes, RunReport
from bench_report.text.numbers import (
    NONE,
    count,
    counted,
    interval,
    percent,
    points,
    points_interval,
)

LABEL_COLUMNS = (
    "Label",
    "Slice",
    "Trials",
    "Share of labelled failures",
    "95% interval, new tasks",
)
AGREEMENT_COLUMNS = ("People", "Labels", "Trials of both", "Alike", "Kappa, 95% interval")
LABEL_DIFFERENCE_COLUMNS = ("Label", "Run", "Difference in points", "95% interval")


def note_sentences(notes: RunNotes) -> Iterator[str]:
    """Say how many notes there are, and to which trials the shares of labels apply."""
    people = ", ".join(f"{by} ({count(number)})" for by, number in notes.people.items())
    yield f"Notes by {people or 'no one'}; {counted(notes.labelled, 'trial has')} a label. They change no score."
    if notes.labelled_failures:
        drawn = f"{count(notes.drawn_failures)} of {counted(notes.labelled_failures, 'labelled failure was')}"
        yield (
            f"{drawn} chosen at random by the queue: a share holds for all failures of its kind only as far "
            f"as the choice was random."
        )
    if notes.corrected:
        yield (
            f"By the outcomes that people stated for {counted(notes.outcomes, 'trial')}, the success rate is "
            f"{percent(notes.corrected.new_tasks.estimate)} {interval(notes.corrected.new_tasks)} instead of "
            f"{percent(notes.corrected.judged.estimate)}; trials count as cases."
        )
    elif notes.refused:
        yield f"No rate is corrected by the outcomes that people stated: {notes.refused}."
    if notes.disputed:
        yield f"They disagree on the outcome of {counted(notes.disputed, 'trial')}; this leaves them out."
    yield from (f"{each}." for each in notes.problems)


def note_place(note: NoteEntry) -> str:
    """Write the subject of a note in its trial: a check, a step, or nothing for the whole trial."""
    return note.check or ("" if note.step is None else f"step {note.step}")


def note_line(note: NoteEntry) -> str:
    """Write a note in one line with its place and person."""
    earlier = " (of an earlier result)" if note.earlier else ""
    what = ": ".join(filter(None, (note.label, note.text)))
    return f"{note.by}, {note_place(note) or 'the trial'}: {what}{earlier}"


def label_rows(run: RunReport) -> list[tuple[str, ...]]:
    """Write how often each label was given, by `LABEL_COLUMNS`; in slices only if it was."""
    return [
        (
            each.label,
            f"{each.group} {each.value}" if each.group else "all",
            count(each.trials),
            percent(each.failures.interval.estimate) if each.failures.interval else NONE,
            interval(each.failures.interval)
            if each.failures.interval
            else each.failures.refused or NONE,
        )
        for each in (run.notes.labels if run.notes else ())
        if each.trials or not each.group
    ]


def agreement_rows(run: RunReport) -> list[tuple[str, ...]]:
    """Write how far each two people agree, by `AGREEMENT_COLUMNS`."""
    return [
        (
            f"{each.first}, {each.second}",
            "all together" if each.label is None else each.label,
            count(each.trials),
            count(each.alike),
            f"{each.kappa.estimate:.2f} [{each.kappa.low:.2f}, {each.kappa.high:.2f}]"
            if each.kappa
            else each.refused or NONE,
        )
        for each in (run.notes.agreement if run.notes else ())
    ]


def label_difference_rows(report: Report) -> list[tuple[str, ...]]:
    """Write how shares of labels differ from the first run's, by `LABEL_DIFFERENCE_COLUMNS`."""
    return [
        (each.label, each.run, points(each.value), points_interval(each.low, each.high))
        for each in report.label_differences
    ]
