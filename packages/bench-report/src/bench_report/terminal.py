"""Records as a terminal shows them: aligned tables and sentences, every text made plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.cli import render_table
from bench_core.terminal import plain_text
from bench_report.text import numbers, phrases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bench_core.statistics import GateResult
    from bench_report.comparison.designs import PlannedDesign
    from bench_report.model import Difference, Report, RunComparison

_MOST_TASKS = 20
_ALONE, _TOGETHER, _DETECTABLE, _SHARED = (0, 1, 2), (3, 4), 6, 7
"""Places in `DIFFERENCE_COLUMNS`."""
_TASKS_NOTE = (
    "p: by Fisher's exact test of each task, which errs in at most 5% of tasks that do not differ. "
    "q: of the tasks with a q of at most 5%, some 5% are there by chance (Benjamini and Hochberg)."
)
_VERDICTS = {
    "fine": "FINE",
    "regression": "REGRESSION",
    "not_enough_evidence": "NOT ENOUGH EVIDENCE",
}


def report_lines(report: Report) -> list[str]:
    """Return a line for each run's headline, then the critical caveats and those about checkers."""
    lines = [
        f"{plain_text(run.label)}: {numbers.rate_words(run.summary.success)}" for run in report.runs
    ]
    serious = (
        each.text
        for each in report.caveats
        if each.severity == "critical" or each.code in {"checkers", "files_left_out"}
    )
    # several runs often have the same caveat
    return lines + [f"  ! {plain_text(text)}" for text in dict.fromkeys(serious)]


def comparison_lines(comparison: RunComparison, max_width: int | None = None) -> Iterator[str]:
    """Yield how runs differ from the baseline: as a whole, by slice, by task."""
    several = len(comparison.differences) > 1
    shown = (*_TOGETHER * several, _DETECTABLE, _SHARED)
    of_slices = (*_ALONE, *_TOGETHER, _SHARED)
    yield f"Differences from {plain_text(comparison.baseline)}, paired by task"
    yield from _damage_lines(comparison.damage)
    yield ""
    yield render_table(
        ("run", *_heads(_ALONE), "better", "worse", *_heads(shown)),
        [
            (each.run, *cells[: len(_ALONE)], each.better, each.worse, *(cells[n] for n in shown))
            for each in comparison.differences
            for cells in [phrases.difference_cells(each.value, each)]
        ],
        max_width=max_width,
    )
    for each in comparison.differences:
        if each.note:
            yield f"{plain_text(each.run)}: {plain_text(each.note)}"
        if each.slices:
            yield from ("", f"By slice, {plain_text(each.run)}")
            yield render_table(
                ("slice", "new", "baseline", *_heads(of_slices)),
                [
                    (
                        part.name,
                        numbers.percent(part.new),
                        numbers.percent(part.baseline),
                        *(cells[n] for n in of_slices),
                    )
                    for part in each.slices
                    for cells in [phrases.difference_cells(part.difference, part)]
                ],
                max_width=max_width,
            )
        if each.tasks:
            yield from ("", f"Tasks with different rates, {plain_text(each.run)}")
            yield _task_table(each)
    yield ""
    yield from map(plain_text, (*phrases.difference_remarks(comparison), phrases.DIFFERENCES_NOTE))


def _heads(places: Iterable[int]) -> list[str]:
    """Return heads of columns as the terminal writes them."""
    return [
        phrases.DIFFERENCE_COLUMNS[n][:1].lower() + phrases.DIFFERENCE_COLUMNS[n][1:]
        for n in places
    ]


def _task_table(found: Difference) -> str:
    table = render_table(
        ("task", "new", "baseline", "p, alone", "q, together"),
        [
            (
                each.task_id,
                numbers.percent(each.new),
                numbers.percent(each.baseline),
                numbers.p_value(each.p_value),
                numbers.p_value(each.q_value),
            )
            for each in found.tasks[:_MOST_TASKS]
        ],
    )
    more = len(found.tasks) - _MOST_TASKS
    rest = f"... and {more:,} more (--json has all)\n" if more > 0 else ""
    return f"{table}\n{rest}{_TASKS_NOTE}"


def _damage_lines(damage: Sequence[str]) -> Iterator[str]:
    yield from (f"DAMAGED: {plain_text(each)}" for each in damage)


def gate_lines(result: GateResult) -> Iterator[str]:
    """Yield the verdict first, then its basis."""
    yield f"{_VERDICTS[result.verdict]}: {plain_text(result.reason)}"
    yield from _damage_lines(result.damage)
    yield ""
    if result.looks:
        yield render_table(
            ("look", "tasks", "difference", "repeated interval", "result"),
            [
                (
                    f"{each.number} of {each.of}",
                    each.tasks,
                    numbers.points(each.difference),
                    numbers.points_interval(each.low, each.high),
                    each.reason,
                )
                for each in result.looks
            ],
        )
        return
    yield render_table(
        ("part", "tasks", "difference", "at worst", "p (one-sided, Tarone)", "power"),
        [
            (
                each.name,
                each.tasks,
                numbers.points(each.difference),
                numbers.points(each.worst),
                numbers.p_value(each.p_adjusted),
                numbers.percent(each.power) if each.reason is None else each.reason,
            )
            for each in result.checks
        ],
    )
    yield ""
    whole = result.checks[0]
    yield (
        f"Regression: p that the agent is unchanged on these tasks; such an agent is called a "
        f"regression in at most {numbers.level(result.alpha)} of runs, over all parts. "
        f"At worst, with {numbers.level(1 - result.alpha)} confidence: on these tasks "
        f"{numbers.points(whole.worst)} ({whole.pairs:,} pairs of trials), on new tasks of this kind "
        f"{numbers.points(whole.worst_new_tasks)} ({whole.clusters:,} independent tasks or templates). "
        f"Power: the chance to find a true drop of {numbers.points(result.tolerance).lstrip('+')}, "
        "the tolerance."
    )
    if result.broken:
        shown = ", ".join(map(plain_text, result.broken[:_MOST_TASKS]))
        more = len(result.broken) - _MOST_TASKS
        rest = f" and {more:,} more" if more > 0 else ""
        yield f"Solved in every trial before and in none now: {shown}{rest}"


def plans_text(plans: Sequence[PlannedDesign]) -> str:
    """Return designs side by side, and how to read them."""
    asked = next((each.difference for each in plans if each.found is not None), None)
    head = ["tasks", "templates", "trials", "trials in all", "detectable", "half width"]
    rows = [
        [
            each.tasks,
            each.templates,
            each.trials,
            each.runs,
            numbers.points(each.detectable).lstrip("+") if each.detectable <= 1 else "none",
            numbers.points(each.half_width).lstrip("+"),
        ]
        for each in plans
    ]
    if asked is not None:
        head.append(f"finds {numbers.points(asked).lstrip('+')}")
        rows = [[*row, numbers.percent(each.found)] for row, each in zip(rows, plans, strict=True)]
    first = plans[0]
    return (
        f"{render_table(head, rows)}\n\n"
        f"Two agents, {first.design}. Detectable: the smallest true difference found in "
        f"{numbers.percent(first.power)} of comparisons at the {numbers.level(1 - first.level)} level. "
        "Half width: of one agent's interval for new tasks. Templates: independent groups of tasks; a "
        "task without one is its own. Tasks first: at the same number of trials in all, three times the "
        "tasks show more than three trials of each."
    )
