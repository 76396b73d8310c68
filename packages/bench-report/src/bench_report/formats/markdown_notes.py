"""People's notes on trials, in the Markdown report."""

from __future__ import annotations

from collections.abc import Iterator

from bench_report.model import Report
from bench_report.text import note_phrases
from bench_report.text.numbers import count
from bench_report.text.untrusted import markdown as escaped
from bench_report.text.untrusted import markdown_table

_MOST_NOTES = 200


def notes(report: Report) -> Iterator[str]:
    """Yield people's notes, how often each label was given and how far they agree."""
    for run in report.runs:
        if run.notes is None:
            continue
        yield f"## Notes{f': {escaped(run.label)}' if len(report.runs) > 1 else ''}"
        yield escaped(" ".join(note_phrases.note_sentences(run.notes)), 5000)
        if rows := note_phrases.label_rows(run):
            yield markdown_table(note_phrases.LABEL_COLUMNS, rows, words=5)
        if rows := note_phrases.agreement_rows(run):
            yield markdown_table(note_phrases.AGREEMENT_COLUMNS, rows, words=5)
        yield markdown_table(
            ("Task", "Trial", "About", "By", "Label", "Note"),
            (
                (
                    each.task_id,
                    str(each.trial),
                    note_phrases.note_place(each),
                    each.by,
                    each.label or "",
                    f"{each.text}{' (of an earlier result)' if each.earlier else ''}",
                )
                for each in run.notes.notes[:_MOST_NOTES]
            ),
            words=6,
        )
        if len(run.notes.notes) > _MOST_NOTES:
            yield f"{count(len(run.notes.notes) - _MOST_NOTES)} more notes are in report.json."
    if rows := note_phrases.label_difference_rows(report):
        yield "### Labels compared with the first run"
        yield markdown_table(note_phrases.LABEL_DIFFERENCE_COLUMNS, rows, words=2)
