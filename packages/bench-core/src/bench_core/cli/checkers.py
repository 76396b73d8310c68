"""The work of `tasks --checkers`: audit a benchmark's own checkers, or make one mutant again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bench_core.cli.panels import option, stacked
from bench_core.cli.tables import json_text, render_table
from bench_core.errors import InputError
from bench_core.terminal import counted

if TYPE_CHECKING:
    from bench_core.checkers import Checker, CheckerAudit, Outcome
    from bench_core.records import Task

checker_options = stacked(
    option("Results", "--checkers", is_flag=True,
           help="Test each task's own checker on end states made wrong, or harmlessly different, by seed."),
    option("Results", "--mutant", metavar="NAME", help="With --checkers and one --task: only this end state."),
    option("Results", "--draw", type=click.IntRange(min=1), metavar="N",
           help="With --checkers: print N end states for a person to judge, without the expected verdict."),
    option("Results", "--labels", is_flag=True, help="With --draw: also print the expected verdict and the "
                                                     "checker's."),
    option("Results", "--checkers-seed", "seed", type=int, default=0, show_default=True, metavar="N",
           help="The seed of the end states."),
)  # fmt: skip
"""The options of `tasks` in a runner whose checkers can be audited."""


@dataclass(frozen=True)
class AuditOptions:
    """Options of `--checkers`.

    Attributes:
        mutant: Only this end state of one task.
        draw: So many end states for a reader, instead of the tables.
        labels: Whether the reader's states also have their expected verdicts.
    """

    mutant: str | None = None
    draw: int | None = None
    labels: bool = False
    seed: int = 0


def execute_checkers(
    checker: Checker, tasks: Sequence[Task], asked: AuditOptions, *, as_json: bool = False
) -> None:
    """Print which of the tasks' mutants the checker accepts, one of them, or some for a reader."""
    from bench_core.checkers import Outcome, audit_checkers, find_mutant

    if asked.labels and asked.draw is None:
        raise InputError("--labels adds to what --draw N prints: give both")
    if asked.mutant is not None:
        if len(tasks) != 1:
            raise InputError(f"--mutant {asked.mutant} is of one task: name it with --task")
        made = find_mutant(checker, tasks[0], asked.mutant, asked.seed)
        accepted, said = checker.judge(tasks[0], made)
        outcome = Outcome(mutant=made, accepted=accepted, said=said)
        click.echo(json_text(outcome) if as_json else _mutant_text(tasks[0], outcome))
        return
    audit = audit_checkers(checker, tasks, asked.seed)
    if asked.draw is not None:
        goals = {task.task_id: task.goal for task in tasks}
        for number, each in enumerate(audit.drawn(asked.draw), start=1):
            click.echo(json.dumps(_drawn(number, goals, each, labels=asked.labels)))
        return
    click.echo(json_text(audit) if as_json else audit_text(audit))


def _drawn(
    number: int, goals: dict[str, str], outcome: Outcome, *, labels: bool
) -> dict[str, object]:
    made = outcome.mutant
    shown = {
        "number": number,
        "task": goals[made.task_id],
        "change": made.change,
        "evidence": made.evidence,
    }
    if labels:
        names = {"task_id": made.task_id, "mutant": made.mutant_id, "verdict": made.verdict}
        shown |= names | {"why": made.why, "accepted": outcome.accepted}
    return shown


def _mutant_text(task: Task, outcome: Outcome) -> str:
    made, says = outcome.mutant, {True: "accepted", False: "refused", None: "not decided"}
    lines = [
        f"task      {task.task_id}: {task.goal}",
        f"mutant    {made.mutant_id}: {made.change}",
        f"should be {made.verdict}: {made.why}",
        f"checker   {says[outcome.accepted]}" + (f": {outcome.said}" if outcome.said else ""),
        json.dumps(made.evidence, indent=2),
    ]
    return "\n".join(lines)


def audit_text(audit: CheckerAudit) -> str:
    """Return the table of tasks, that of operators, and the shares with their intervals."""
    rows = []
    for task in audit.tasks:
        examples = [
            f"{each.mutant.mutant_id} accepted: {each.mutant.change}"
            for each in task.wrong_accepted[:1]
        ]
        examples += [
            f"{each.mutant.mutant_id} refused: {each.mutant.change}"
            for each in task.right_refused[:1]
        ]
        rows.append((
            task.task_id,
            f"{len(task.wrong_accepted)} of {len(task.decided('wrong'))}",
            f"{len(task.right_refused)} of {len(task.decided('right'))}",
            task.none_because or "; ".join(examples) or None,
        ))  # fmt: skip
    operators = [
        (name, verdict, f"{count} of {total}")
        for name, verdict, count, total in audit.by_operator()
    ]
    return "\n".join([
        render_table(("task", "wrong accepted", "right refused", "example"), rows),
        "",
        render_table(("operator", "should be", "accepted"), operators),
        "",
        f"{audit.checker}, seed {audit.seed}, {counted(len(audit.tasks), 'task')}",
        _share(audit, "wrong end states accepted", lambda a: a.wrong_accepted),
        _share(audit, "right end states refused", lambda a: a.right_refused),
    ])  # fmt: skip


def _share(audit: CheckerAudit, name: str, of: Callable[[CheckerAudit], object]) -> str:
    interval = of(audit)
    return f"{name}: {'too few tasks for a rate' if interval is None else interval}"
