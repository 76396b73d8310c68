"""The commands all runners share: parsed options in, one library call, text or JSON out."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.cli.checkers import execute_checkers
from bench_core.cli.tables import echo_wrapped, json_text, render_table
from bench_core.terminal import counted, dollars, duration, plain_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench_core.checkers import Checker
    from bench_core.cli.checkers import AuditOptions
    from bench_core.records import Task
    from bench_core.runs.capacity import Capacity
    from bench_core.runs.dry_run import RunPlan
    from bench_core.runs.each_step import EachStepOutcome
    from bench_core.runs.execute import RunOutcome
    from bench_core.runs.options import RunOptions, TaskOptions
    from bench_core.runs.prepare import Prepare
    from bench_core.runs.rescore import RescoreOutcome
    from bench_core.trial import Benchmark

_SHOWN_CHANGES = 50


def execute_prepared(
    prepare: Prepare, options: RunOptions, *, dry_run: bool = False, as_json: bool = False
) -> None:
    """Carry out a `run` command: one call of the library, shown, and the right exit code.

    Exit codes: 0 every planned trial has a lasting result with a score, or without one if that was
    asked for, 1 some have none, 75 aborted, 130 interrupted.
    """
    from bench_core.progress.selection import make_progress
    from bench_core.redaction import Redactor
    from bench_core.runs.prepare import plan_prepared, run_prepared

    if options.looks is not None and options.against is None:
        click.echo(f"compared with {options.baseline()}", err=True)
    if dry_run:
        plan = plan_prepared(prepare, options, on_warning=_warn)
        click.echo(json_text(plan)) if as_json else echo_wrapped(_plan_text(plan))
        return
    redact = Redactor.from_environment().redact
    progress = make_progress(sys.stdout, as_json=as_json, redact=redact)
    outcome = run_prepared(prepare, options, progress=progress, guard=True, on_warning=_warn)
    record = {"event": "outcome", **outcome.model_dump(mode="json")}
    if as_json:
        click.echo(json.dumps(record))
    else:
        echo_wrapped(_outcome_text(outcome))
    unscored = outcome.unscored - outcome.rescored
    short = outcome.remaining or (unscored and not options.without_scores)
    fell_short = exit_codes.FELL_SHORT if short else exit_codes.OK
    codes = {"interrupted": exit_codes.INTERRUPTED, "aborted": exit_codes.ABORTED}
    code = codes.get(outcome.outcome, fell_short)
    if outcome.abandoned:
        # an exit would wait for the threads of abandoned trials, which may never end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    if code:
        raise click.exceptions.Exit(code)


def list_tasks(
    tasks: Sequence[Task],
    options: TaskOptions,
    columns: Sequence[str] = (),
    *,
    as_json: bool = False,
    audit: AuditOptions | None = None,
    checker: Callable[[], Checker] | None = None,
) -> None:
    """Carry out a `tasks` command: print the tasks that fit the options.

    `columns` are names of groups to show between id and goal; all by default. With `audit`, print the mutants
    that the benchmark's own `checker` accepts instead.
    """
    from bench_core.run_spec import select_tasks

    chosen = select_tasks(tasks, options.task_filter())
    if audit is not None and checker is not None:
        execute_checkers(checker(), chosen, audit, as_json=as_json)
        return
    if as_json:
        fields = {"config", "inputs"}
        records = [t.model_dump(mode="json", exclude=fields, exclude_none=True) for t in chosen]
        click.echo(json.dumps(records, indent=2))
        return
    names = columns or sorted({name for task in chosen for name in task.groups})
    rows = [
        (task.task_id, *(", ".join(task.groups.get(name, ())) for name in names), task.goal)
        for task in chosen
    ]
    click.echo(render_table(("task", *names, "goal"), rows, one_line=True))
    click.echo(f"\n{len(chosen)} of {len(tasks)} tasks")


def execute_rescore(
    benchmark: Benchmark,
    run_folder: Path,
    *,
    name: str | None = None,
    profile: str | None = None,
    reason: str | None = None,
    workers: int = 1,
    each_step: bool = False,
    as_json: bool = False,
) -> None:
    """Carry out a `rescore` command: score a run again from its artifacts and show the changes.

    `profile` names the rules `benchmark` scores by if these are not the run's; `reason` goes
    into the record. With `each_step` the states after steps are scored, and nothing else.
    """
    if each_step:
        from bench_core.runs.each_step import score_each_step

        found = score_each_step(benchmark, run_folder)
        if as_json:
            click.echo(json_text(found))
        else:
            echo_wrapped(plain_lines(_steps_text(found)))
        return
    from bench_core.files.temporary import temporary_folder
    from bench_core.runs.rescore import rescore_run_sync

    with temporary_folder():
        outcome = rescore_run_sync(
            benchmark, run_folder, name=name, profile=profile, reason=reason, workers=workers
        )
    if as_json:
        click.echo(json_text(outcome))
    else:
        echo_wrapped(plain_lines(_rescore_text(outcome)))
    if outcome.unscored:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def _warn(warning: str) -> None:
    echo_wrapped(f"Warning: {warning}", sys.stderr)


def _outcome_text(outcome: RunOutcome) -> str:
    lines = ["", f"Run folder: {outcome.folder}", _standing(outcome)]
    if outcome.spent.usage.requests:
        tokens = f"{outcome.spent.usage.total_tokens:,} tokens"
        cost = "" if outcome.spent.unpriced_calls else f", {dollars(outcome.spent.cost_usd)}"
        lines.append(f"Spent: {tokens}{cost} in {outcome.spent.usage.requests:,} model calls")
    if outcome.stopped:
        lines.append(f"Looks: {outcome.stopped}; `bench-report gate` says what that means.")
    if outcome.remaining:
        lines.append(
            f"{outcome.remaining} of {outcome.planned} trials have no lasting result: run the "
            "same command again to try them again."
        )
    if outcome.rescored:
        lines.append(
            f"{outcome.rescored} of {outcome.planned} trials got their score later, in {outcome.rescore}; "
            "reports show the first results."
        )
    if outcome.unscored > outcome.rescored:
        unscored = outcome.unscored - outcome.rescored
        lines.append(
            f"{unscored} of {outcome.planned} trials have no score: `{_rescore_command()} {outcome.folder}` "
            "scores those that left enough for it; the same command with --rerun unscored runs them again."
        )
    return "\n".join(lines)


def _rescore_command() -> str:
    """Return the command that scores runs of the command under way again."""
    context = click.get_current_context()
    benchmark = context.params.get("benchmark")
    return " ".join(filter(None, [context.find_root().command.name, "rescore", benchmark]))


def _standing(outcome: RunOutcome) -> str:
    by_status = ", ".join(f"{count} {status}" for status, count in outcome.statuses.items())
    rest = f" ({by_status})" if by_status else ""
    standing = f"{outcome.succeeded} of {outcome.scored} scored trials succeeded{rest}"
    if not outcome.suspects:
        return standing
    left = outcome.scored - outcome.suspects
    clear = f"without them {outcome.succeeded - outcome.suspects_succeeded} of {left}"
    return f"{standing}; {outcome.suspects} of them are suspect, {clear}"


def _plan_text(plan: RunPlan) -> str:
    lines = [
        (
            f"{plan.benchmark}: {plan.tasks} tasks x {plan.trials} = {plan.planned} trials, "
            f"{plan.done} done, {plan.to_run} to run"
        ),
        f"Run folder: {plan.folder}" + (" (continued)" if plan.continues else ""),
        f"Workers: {plan.workers}, at best {plan.speed_up:.1f} times as fast as one",
    ]
    if plan.at_most_s is not None:
        lines.append(f"Time: at most {duration(plan.at_most_s)} if no trial is tried again")
    if plan.expected_s is not None:
        lines.append(f"Time: about {duration(plan.expected_s)} by what a trial is expected to take")
    if plan.capacities:
        lines += ["", _capacity_text(plan)]
    if plan.resources:
        bound = any(each.bound_to for each in plan.resources)
        rows = [
            (
                each.name,
                each.shared,
                each.exclusive,
                *([", ".join(each.bound_to) or None] if bound else []),
            )
            for each in plan.resources
        ]
        headers = ("resource", "shared by", "alone", *(["on nodes with"] if bound else []))
        lines += ["", render_table(headers, rows)]
    return "\n".join(lines)


def _capacity_text(plan: RunPlan) -> str:
    """Show the run's time and cost with other numbers of machines; unknown columns are left out."""
    columns: list[tuple[str, Callable[[Capacity], str | None]]] = [
        ("machines", lambda c: str(c.workers)),
        ("times as fast", lambda c: f"{c.speed_up:.1f}"),
        ("about", lambda c: None if c.expected_s is None else duration(c.expected_s)),
        ("dollars", lambda c: _dollars(c.expected_dollars)),
        ("at most", lambda c: None if c.at_most_s is None else duration(c.at_most_s)),
        ("dollars at most", lambda c: _dollars(c.at_most_dollars)),
    ]
    known = [(name, of) for name, of in columns if of(plan.capacities[0]) is not None]
    rows = [tuple(of(each) or "-" for _, of in known) for each in plan.capacities]
    table = render_table(tuple(name for name, _ in known), rows)
    return f"{table}\nMore than {plan.enough_workers} machines make it less than 2 percent shorter."


def _dollars(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _steps_text(outcome: EachStepOutcome) -> str:
    lines = [
        f"{counted(outcome.trials, 'trial')} of which it can be said, {outcome.evaluated} scored now: {outcome.file}",
        f"{outcome.passed} had a state that passes, {counted(outcome.steps_after, 'step')} followed the first such state",
        f"{outcome.undone} of them did not end in one",
    ]
    if outcome.why_unknown:
        lines.append(
            f"{counted(outcome.unknown, 'trial is')} unknown, the first since {outcome.why_unknown}"
        )
    return "\n".join(lines)


def _rescore_text(outcome: RescoreOutcome) -> str:
    lines = [
        (
            f"{outcome.rescored - outcome.unscored} trials scored again into {outcome.folder}, "
            f"{len(outcome.changes)} of them differ"
        )
    ]
    if outcome.unscored:
        why = f", most often because {outcome.why_unscored}" if outcome.why_unscored else ""
        lines.append(
            f"{outcome.unscored} could not be scored{why}: `run` with --rerun unscored runs them again"
        )
    if outcome.changes:
        rows = [
            (c.task_id, c.trial, c.status_before.value, c.score_before, c.status.value, c.score)
            for c in outcome.changes[:_SHOWN_CHANGES]
        ]
        headers = ("task", "trial", "status before", "score before", "status", "score")
        lines += ["", render_table(headers, rows)]
    if len(outcome.changes) > _SHOWN_CHANGES:
        lines.append(f"... and {len(outcome.changes) - _SHOWN_CHANGES} more in changes.json")
    return "\n".join(lines)
