"""The words and table cells of a study's report, the same in all of its forms."""

from __future__ import annotations

from collections.abc import Iterator

from bench_report.model import Difference
from bench_report.study_model import DeclaredResult, StudyPair, StudyReport
from bench_report.text import numbers
from bench_report.text.phrases import DIFFERENCE_COLUMNS, difference_cells

_PLACES = (0, 1, 2, 3, 4, 6, 7)
"""Of `DIFFERENCE_COLUMNS`: all but the p-value about these very tasks."""
EXPLORED_COLUMNS = ("Benchmark", "Arm", "Against", *(DIFFERENCE_COLUMNS[n] for n in _PLACES))
EXPLORED_NOTE = (
    "These pairs were not declared before the first trial, so that they suggest what to study next and prove nothing. "
    "Together: over all {number} of them. Slices and tasks, in the reports of the benchmarks, are explorations, too."
)
UNSEALED = "Nothing was sealed before the first trial: all comparisons below are explorations, those of the file included."
NONE_DECLARED = "None was declared before the first trial."
_OUTCOMES = {"success_rate": "success rate", "score": "mean score"}
_VERDICTS = {
    "better": "better",
    "worse": "worse",
    "no_such_drop": "no drop of {drop}",
    "undecided": "not decided",
    "not_run": "not run",
}


def pair_columns(result: DeclaredResult) -> tuple[str, ...]:
    """Return the heads of `declared_rows`, with the level that was declared."""
    level = numbers.level(result.comparison.level)
    heads = (DIFFERENCE_COLUMNS[n].replace("95%", level) for n in _PLACES)
    return ("Benchmark", "Arm", "Result", *heads)


def declared_title(result: DeclaredResult, number: int) -> str:
    """Name a declared comparison: `Comparison 1: against base, success rate`."""
    asked = result.comparison
    return f"Comparison {number}: against {asked.baseline}, {_OUTCOMES[asked.outcome]}"


def declared_note(result: DeclaredResult) -> str:
    """Say how a declared comparison was to be decided, and under which conditions its results hold."""
    asked, level = result.comparison, numbers.level(result.comparison.level)
    pairs = "one pair" if result.together == 1 else f"{result.together} pairs"
    parts = [
        f"Declared: {pairs}, right together with {level} confidence (Bonferroni)",
        f"the drop that matters is {_drop(asked.drop)}" if asked.drop else "no drop that matters was declared",
        "only drops were looked for; the intervals have two sides all the same" if asked.sides == "drop" else "",
        f"looked at {asked.looks} times, the end included: the interval together is the repeated one of the last look, valid at whatever look it stops" if asked.looks > 1 else "",
    ]  # fmt: skip
    return "; ".join(filter(None, parts)) + "."


def declared_rows(result: DeclaredResult) -> list[tuple[str, ...]]:
    """Write the pairs of a declared comparison, a row each."""
    return [
        (each.benchmark, each.difference.run, verdict_words(each, result), *_cells(each.difference))
        for each in result.pairs
    ]


def verdict_words(pair: StudyPair, result: DeclaredResult) -> str:
    """Say the result of a pair."""
    return _VERDICTS[pair.verdict].format(drop=_drop(result.comparison.drop))


def notes_on(result: DeclaredResult) -> list[str]:
    """Say why pairs have no interval, with the further caveats about them."""
    found = []
    for each in result.pairs:
        part = each.difference
        place = f"{part.run} on {each.benchmark}"
        if part.note:
            found.append(f"{place}: {part.note}.")
        if part.left_out:
            tasks = "task" if part.left_out == 1 else "tasks"
            found.append(
                f"{place}: {part.left_out} {tasks} with a score of one arm alone are left out."
            )
        if part.timing:
            found.append(f"{part.timing}.")
    return found


def explored_rows(report: StudyReport) -> Iterator[tuple[str, ...]]:
    """Write the pairs that were not declared, a row each, by `EXPLORED_COLUMNS`."""
    for part in report.benchmarks:
        for each in part.explored:
            yield (part.name, each.run, each.baseline, *_cells(each))


def declaration_lines(report: StudyReport) -> list[str]:
    """Say when the study was declared, and list the changes and additions since."""
    known = report.declaration
    if not known.sealed:
        return [UNSEALED]
    when = f" on {known.declared:%Y-%m-%d %H:%M} UTC" if known.declared else ""
    digest = f", SHA-256 {known.sha256}" if known.sha256 else ""
    lines = [f"Declared before the first trial{when}{digest}."]
    if known.anonymised:
        lines.append(
            "Names were taken out of the study's file since, so that the one here has another."
        )
    lines += [f"{each.warning}." for each in report.reused]
    lines += known.problems
    lines += [
        f"After the seal{f', {each.time:%Y-%m-%d %H:%M}' if each.time else ''}: {each.text}"
        for each in report.changes
    ]
    for part in report.benchmarks:
        if part.added:
            lines.append(f"Not declared, on {part.name}: {', '.join(part.added)}.")
        if part.missing:
            lines.append(f"Declared and not run, on {part.name}: {', '.join(part.missing)}.")
    if (
        not known.problems
        and not report.changes
        and not any(part.added for part in report.benchmarks)
    ):
        lines.append("Nothing was changed or added after that.")
    return lines


def _cells(found: Difference) -> tuple[str, ...]:
    cells = difference_cells(found.value, found)
    return tuple(cells[n] for n in _PLACES)


def _drop(value: float | None) -> str:
    return numbers.points(value).lstrip("+")
