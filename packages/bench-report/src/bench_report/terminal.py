"""Records as a terminal shows them: aligned tables and sentences, every text made plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.cli import render_table
from bench_core.terminal import plain_text
from bench_report.text import numbers
from bench_report.text.phrases import difference_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench_core.statistics import GateResult
    from bench_report.comparison.designs import PlannedDesign
    from bench_report.model import Difference, Report, RunComparison

_MOST_TASKS = 20
_VERDICTS = {
    "fine": "FINE",
    "regression": "REGRESSION",
    "not_enough_evidence": "NOT ENOUGH EVIDENCE",
}


def report_lines(report: Report) -> list[str]:
    """Return each run's headline and every critical caveat, a line each."""
    lines = [
        f"{plain_text(run.label)}: {numbers.rate_words(run.summary.success)}" for run in report.runs
    ]
    serious = (each.text for each in report.caveats if each.severity == "critical")
    # several runs often have the same caveat
    return lines + [f"  ! {plain_text(text)}" for text in dict.fromkeys(serious)]


def comparison_lines(comparison: RunComparison) -> Iterator[str]:
    """Yield how runs differ from the baseline: as a whole, by slice, by task."""
    yield f"Differences from {plain_text(comparison.baseline)}, paired by task"
    yield ""
    yield render_table(
        (
            "run",
            "difference",
            "95% interval",
            "p",
            "p, sign flips",
            "detectable",
            "tasks",
            "better",
            "worse",
        ),
        [
            (each.run, *cells[:4], cells[5], each.shared_tasks, each.better, each.worse)
            for each in comparison.differences
            for cells in [difference_cells(each.value, each)]
        ],
    )
    for each in comparison.differences:
        if each.note:
            yield f"{plain_text(each.run)}: {plain_text(each.note)}"
        if each.same_tasks:
            yield (
                f"{plain_text(each.run)}, on these tasks: "
                f"{numbers.points_interval(each.same_tasks.low, each.same_tasks.high)} "
                f"(95% at each end), p = {numbers.p_value(each.p_same_tasks)} that it is the same agent"
            )
        if each.slices:
            yield from ("", f"By slice, {plain_text(each.run)}")
            yield render_table(
                ("slice", "new", "baseline", "difference", "95% interval", "p (Holm)", "tasks"),
                [
                    (
                        f"{part.group} {part.value}",
                        numbers.percent(part.new),
                        numbers.percent(part.baseline),
                        numbers.points(part.difference),
                        numbers.points_interval(part.low, part.high),
                        numbers.p_value(part.adjusted_p_value),
                        part.shared_tasks,
                    )
                    for part in each.slices
                ],
            )
        if each.tasks:
            yield from ("", f"Tasks with different rates, {plain_text(each.run)}")
            yield _task_table(each)


def _task_table(found: Difference) -> str:
    table = render_table(
        ("task", "new", "baseline", "p", "q"),
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
    return f"{table}\n... and {more:,} more (--json has all)" if more > 0 else table


def gate_lines(result: GateResult) -> Iterator[str]:
    """Yield the verdict first, then what it is based on."""
    yield f"{_VERDICTS[result.verdict]}: {plain_text(result.reason)}"
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
