"""A study's report as Markdown and as LaTeX tables."""

from __future__ import annotations

import re

from bench_report.formats import latex
from bench_report.formats.markdown import banner, headline
from bench_report.study_model import StudyReport
from bench_report.text.phrases import DIFFERENCES_NOTE
from bench_report.text.study_words import (
    EXPLORED_COLUMNS,
    EXPLORED_NOTE,
    NONE_DECLARED,
    declaration_lines,
    declared_note,
    declared_rows,
    declared_title,
    explored_rows,
    notes_on,
    pair_columns,
)
from bench_report.text.untrusted import inline, markdown, markdown_table


def render_study_markdown(report: StudyReport) -> str:
    """Return a study's report as CommonMark with GitHub's tables."""
    blocks = [f"# {markdown(report.name)}"]
    blocks.append("\n".join(f"- {markdown(line, 2000)}" for line in declaration_lines(report)))
    if report.declaration.notes:
        blocks.append(markdown(report.declaration.notes, 5000))
    blocks.append("## Declared comparisons")
    for number, each in enumerate(report.declared, 1):
        blocks.append(f"### {markdown(declared_title(each, number))}")
        blocks.append(markdown_table(pair_columns(each), declared_rows(each), words=3))
        blocks += [markdown(line, 2000) for line in (declared_note(each), *notes_on(each))]
    if not report.declared:
        blocks.append(NONE_DECLARED)
    for part in report.benchmarks:
        blocks.append(f"## All arms on {markdown(part.name)}")
        blocks += list(headline(part.report))[1:]
        blocks += banner(part.report)
    if report.explored:
        blocks.append("## Explorations")
        blocks.append(EXPLORED_NOTE.format(number=report.explored))
        blocks.append(markdown_table(EXPLORED_COLUMNS, explored_rows(report), words=3))
        blocks.append(DIFFERENCES_NOTE)
    blocks.append(f"Made by {markdown(report.generator)}.")
    return "\n\n".join(blocks) + "\n"


def render_study_latex(report: StudyReport) -> str:
    """Return tables of the declared comparisons, of all arms by benchmark, and of the explorations."""
    head = [
        f"% {inline(report.name, 200)}",
        f"% Made by {inline(report.generator, 80)}.",
        *(f"% {inline(line, 500)}" for line in declaration_lines(report)),
        *latex.NEEDS,
    ]
    blocks = ["\n".join(head), latex.ANY_ENGINE]
    for number, each in enumerate(report.declared, 1):
        blocks.append(
            latex.table(
                f"declared-{number}",
                f"{declared_title(each, number)}. {declared_note(each)} {' '.join(notes_on(each))}",
                pair_columns(each),
                declared_rows(each),
                words=3,
            )
        )
    for part in report.benchmarks:
        label = re.sub(r"[^a-z0-9]+", "-", part.name.lower()).strip("-") or "benchmark"
        blocks += latex.headline(part.report, f"success-{label}", f" on {part.name}")
    if report.explored:
        blocks.append(
            latex.table(
                "explored",
                f"Explorations. {EXPLORED_NOTE.format(number=report.explored)} {DIFFERENCES_NOTE}",
                EXPLORED_COLUMNS,
                explored_rows(report),
                words=3,
            )
        )
    blocks += [latex.escape(line, 2000) for line in declaration_lines(report)]
    return "\n\n".join(blocks) + "\n"
