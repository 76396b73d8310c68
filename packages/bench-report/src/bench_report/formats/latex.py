"""The report as LaTeX tables (booktabs), to be included in a paper with `input`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bench_report.analysis.integrity import integrity_counts
from bench_report.analysis.rate_variants import rate_variants
from bench_report.model import Report
from bench_report.text import note_phrases, numbers, phrases
from bench_report.text.untrusted import inline

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "\u2212": r"\ensuremath{-}",
    "\N{EN DASH}": "--", "\u00b7": r"\textperiodcentered{}", "\u2026": r"\ldots{}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "[": "{[}", "*": "{*}",  # an argument of the line break if they begin a row
}  # fmt: skip
# Characters without a glyph in T1-encoded fonts, some of them from Latin Extended-A; pdfTeX stops at those.
_BEYOND_T1 = (
    r"[^\x00-\x7f\xa0-\u017f\u2014\u2018-\u201a\u201c-\u201e\u2022\u20ac\u2122]"
    r"|[\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167\u017f]"
)
_ESCAPED = re.compile("|".join([*map(re.escape, _SPECIAL), _BEYOND_T1]))
ANY_ENGINE = r"""\ifdefined\Umathchar % LuaTeX or XeTeX: whatever the font has
  \DeclareRobustCommand\proctorchar[2]{#2}
\else
  \DeclareRobustCommand\proctorchar[2]{{[}U+#1]}
\fi"""
NEEDS = (
    r"% Needs \usepackage{booktabs}, \usepackage{longtable}, \usepackage[T1]{fontenc} and",
    r"% \usepackage{textcomp}; pdfTeX shows characters that are not Latin by their number.",
)
_MOST_ROWS = 120


def escape(text: str, limit: int = 200) -> str:
    r"""Return one line of text that LaTeX sets as it is.

    >>> escape("50% of $x_1")
    '50\\% of \\$x\\_1'
    """
    return _ESCAPED.sub(_replacement, inline(text, limit))


def _replacement(match: re.Match[str]) -> str:
    char = match.group()
    return _SPECIAL.get(char) or rf"\proctorchar{{{ord(char):04X}}}{{{char}}}"


def render_latex(report: Report) -> str:
    """Return tables of headline, differences, ranks, readings, slices, outcomes, checks and effort, and the methods."""
    head = [
        f"% {inline(report.title, 200)}",
        f"% Made by {inline(report.generator, 80)} on {report.generated:%Y-%m-%d}.",
        *NEEDS,
    ]
    notes = [
        f"% ! {inline(each.text, 500)}" for each in report.caveats if each.severity == "critical"
    ]
    blocks = ["\n".join([*head, *notes]), ANY_ENGINE]
    for part in (
        headline,
        _looks,
        _differences,
        _ranking,
        _drift,
        _readings,
        _slices,
        _outcomes,
        _checks,
        _notes,
        _effort,
        _methods,
    ):
        blocks += part(report)
    return "\n\n".join(blocks) + "\n"


def table(
    label: str,
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
) -> str:
    """Return a table whose first `words` columns are text and whose others are figures."""
    found = [" & ".join(map(escape, row)) + r" \\" for row in rows]
    more = len(found) - _MOST_ROWS
    if more > 0:
        found = [
            *found[:_MOST_ROWS],
            rf"\multicolumn{{{len(head)}}}{{l}}{{{more} more in report.json}} \\",
        ]
    columns = "l" * words + "r" * (len(head) - words)
    # longtable, because slices and outcomes can fill more than a page
    return "\n".join(
        [
            rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
            rf"\caption{{{escape(caption, 1000)}}}\label{{tab:{label}}} \\",
            r"\toprule",
            " & ".join(map(escape, head)) + r" \\",
            r"\midrule",
            r"\endhead",
            r"\bottomrule",
            r"\endlastfoot",
            *found,
            r"\end{longtable}",
        ]
    )


def headline(report: Report, label: str = "success", of: str = "") -> Iterator[str]:
    """Yield the table of success rates; `label` is unique in the document, `of` is its caption's subject."""
    strict = "Strict success" if report.count_errors_as_failures else "Success"
    found = phrases.headline_interval(report)
    how = (
        f", {numbers.level(found.level)} intervals about new tasks ({found.method})"
        if found
        else ""
    )
    mixed = [run.label for run in report.runs if len(run.programs) > 1]
    verb = "mixes" if len(mixed) == 1 else "mix"
    warning = f" {', '.join(mixed)} {verb} several programs of the agent." if mixed else ""
    yield table(
        label,
        f"{strict} rates{of}{how}.{warning}",
        ("Run", "Rate", "Interval", "Trials", "Tasks", "Clusters", "Left out"),
        (
            (
                run.label,
                numbers.percent(run.summary.success.estimate),
                numbers.interval(run.summary.success.new_tasks),
                *phrases.headline_counts(report, run),
            )
            for run in report.runs
        ),
    )


def _differences(report: Report) -> Iterator[str]:
    if report.comparison is None:
        return
    rows = []
    for each in report.comparison.differences:
        rows.append((each.run, "all", *phrases.difference_cells(each.value, each)))
        rows += [
            (each.run, part.name, *phrases.difference_cells(part.difference, part))
            for part in each.slices
        ]
    yield table(
        "differences",
        f"Paired differences from {report.comparison.baseline}. {phrases.DIFFERENCES_NOTE} "
        + " ".join(phrases.difference_remarks(report.comparison)),
        ("Run", "Part", *phrases.DIFFERENCE_COLUMNS),
        rows,
        words=2,
    )


def _looks(report: Report) -> Iterator[str]:
    rows = [(run.label, *row) for run in report.runs for row in phrases.look_rows(run)]
    if rows:
        names = ", ".join(phrases.baseline_of_looks(run) for run in report.runs if run.looks)
        yield table(
            "looks",
            phrases.LOOKS_NOTE.format(baseline=names),
            ("Run", *phrases.LOOK_COLUMNS),
            rows,
            words=2,
        )


def _ranking(report: Report) -> Iterator[str]:
    if report.ranking is None:
        return
    board = report.ranking.leaderboard
    by = {each.model: each.by for each in report.ranking.dominance if each.dominated}
    yield table(
        "ranks",
        phrases.RANKS_NOTE.format(confidence=numbers.level(1 - board.alpha)),
        ("Run", "Worse and dearer than", "Rate", "Ranks"),
        [
            (
                each.model,
                by.get(each.model, numbers.NONE),
                numbers.percent(each.rate),
                phrases.ranks(each),
            )
            for each in board.ranks
        ],
        words=2,
    )
    yield table(
        "pairs",
        f"All pairs of runs. {phrases.DIFFERENCES_NOTE}",
        ("Run", "Against", *phrases.DIFFERENCE_COLUMNS),
        phrases.pair_rows(report.ranking),
        words=2,
    )


def _drift(report: Report) -> Iterator[str]:
    rows = [row for run in report.runs for row in phrases.drift_rows(run)]
    if rows:
        words = " ".join(phrases.drift_sentence(run) for run in report.runs)
        yield table("drift", f"{phrases.DRIFT_NOTE} {words}", phrases.DRIFT_COLUMNS, rows, words=2)


def _readings(report: Report) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [
        (
            variant.name,
            report.runs[each.run].label,
            numbers.percent(each.value),
            numbers.interval(each.interval),
        )
        for variant in rate_variants(report)
        for each in variant.values
    ]
    for run, audit in ((run, run.audit) for run in report.runs if run.audit):
        audited = [
            ("Query alone", audit.query_only.interval),
            ("Judge alone", audit.judge_only.interval),
            ("Corrected", audit.corrected and audit.corrected.new_tasks),
        ]
        rows += [
            (name, run.label, numbers.percent(found.estimate), numbers.interval(found))
            for name, found in audited
            if found
        ]
    if rows:
        yield table(
            "readings",
            "Other readings of success.",
            ("Reading", "Run", "Rate", "95% interval"),
            rows,
            words=2,
        )


def _slices(report: Report) -> Iterator[str]:
    for group in phrases.slice_groups(report):
        # without the columns of effort
        rows = [row[:7] for row in phrases.slice_rows(report, group)]
        head = (
            group.replace("_", " ").capitalize(),
            "Run",
            "Rate",
            "95% interval",
            "Template avg.",
            "Tasks",
            "Trials",
        )
        label = re.sub(r"[^a-z0-9]+", "-", group.lower()).strip("-") or "slice"
        yield table(f"by-{label}", f"Success by {group}.", head, rows, words=2)


def _outcomes(report: Report) -> Iterator[str]:
    rows = [
        (run.label, name.replace("_", " "), numbers.count(number))
        for run in report.runs
        for name, number in (
            *((status.value, n) for status, n in run.summary.statuses.items()),
            *((f"failed: {mode}", n) for mode, n in run.summary.failure_modes.items()),
            *((f"suspect: {cause}", n) for cause, n in run.summary.suspects.items()),
            *((f"integrity: {state}", n) for state, n in integrity_counts(run.integrity)),
        )
    ]
    yield table(
        "outcomes",
        "How trials ended, and why they failed.",
        ("Run", "Outcome", "Trials"),
        rows,
        words=2,
    )


def _checks(report: Report) -> Iterator[str]:
    rows = [row[:4] for row in phrases.check_rows(report)]
    if rows:
        yield table(
            "checks",
            "The checks that failed trials did not pass.",
            ("Run", "Check", "Trials", "Tasks"),
            rows,
            words=2,
        )


def _notes(report: Report) -> Iterator[str]:
    """Yield people's notes: counts of labels, how far people agree, and runs against each other."""
    noted = [run for run in report.runs if run.notes]
    words = " ".join(
        f"{run.label}: {' '.join(note_phrases.note_sentences(run.notes))}"
        for run in noted
        if run.notes
    )
    found = (
        (
            "labels",
            f"What people noted. {words}",
            note_phrases.LABEL_COLUMNS,
            note_phrases.label_rows,
        ),
        (
            "agreement",
            "How far people agree.",
            note_phrases.AGREEMENT_COLUMNS,
            note_phrases.agreement_rows,
        ),
    )
    for name, caption, columns, rows_of in found:
        if rows := [(run.label, *row) for run in noted for row in rows_of(run)]:
            yield table(name, caption, ("Run", *columns), rows, words=3)
    if rows := note_phrases.label_difference_rows(report):
        caption = "Labels compared with the first run."
        yield table(
            "label-differences", caption, note_phrases.LABEL_DIFFERENCE_COLUMNS, rows, words=2
        )


def _effort(report: Report) -> Iterator[str]:
    yield table(
        "effort",
        "What trials used.",
        ("Run", "Per trial", "Median", "Mean", "90% below", "Largest", "Total"),
        (row[:-1] for row in phrases.effort_rows(report)),
        words=2,
    )
    if costs := phrases.cost_rows(report):
        yield table(
            "costs",
            "What a scored trial costs, in the mean over tasks.",
            phrases.COST_COLUMNS,
            costs,
        )


def _methods(report: Report) -> Iterator[str]:
    """Yield how this was measured, and the sources."""
    yield r"\paragraph{How this was measured.}"
    for paragraph in report.methods:
        yield escape(paragraph, 5000)
    if report.references:
        items = [rf"\item {escape(each, 1000)}" for each in report.references]
        yield "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])
