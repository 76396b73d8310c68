"""The commands `study check`, `study plan` and `new study`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from bench_core import exit_codes
from bench_core.cli.options import json_option
from bench_core.cli.tables import echo_wrapped, json_text, render_table
from bench_core.terminal import plain_lines

_STUDIES = "bench_core.studies"  # a tower: the base does not import it
_FILE = click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
_RUNS = click.option(
    "--from-run", "runs", multiple=True, metavar="RUN",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="An existing run folder; repeat it for several.",
)  # fmt: skip


@click.command("study")
@_FILE
@_RUNS
def new_study(file: Path, runs: tuple[Path, ...]) -> None:
    """Write a study file, with a comment on each key.

    With --from-run, it compares the benchmarks, tasks, agents, models and settings of these runs.
    """
    click.echo(importlib.import_module(_STUDIES).write_study(file, runs))


@click.command()
@_FILE
@json_option
def check(file: Path, *, as_json: bool) -> None:
    """Check whether the runs of the study in FILE can start, with their benchmarks' doctors; no trial is run.

    Exit code 1 if something must be fixed first.
    """
    studies = importlib.import_module(_STUDIES)
    found = studies.check_study(studies.load_study(file))
    lines = [
        *(f"Warning: {each}" for each in found.warnings),
        *found.problems,
        f"{found.runs} runs checked, and {found.checks} things that they need: {len(found.problems)} to mend",
    ]
    echo_wrapped(json_text(found) if as_json else plain_lines("\n".join(lines)))
    sys.exit(exit_codes.FELL_SHORT if found.problems else exit_codes.OK)


@click.command()
@_FILE
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="The study's folder.  [default: studies/NAME]")  # fmt: skip
@_RUNS
@json_option
def plan(file: Path, out: Path | None, runs: tuple[Path, ...], *, as_json: bool) -> None:
    """Estimate what the study in FILE costs and which differences it can detect; nothing is run.

    Hours and dollars come from trials in the study's folder, else from earlier runs of the same benchmark, agent and
    model (--from-run); dollars also from such runs with other models, at the new model's prices.
    """
    studies = importlib.import_module(_STUDIES)
    study = studies.load_study(file)
    found = studies.plan_study(study, out or Path("studies") / study.name, runs)
    if as_json:
        click.echo(json_text(found))
    else:
        echo_wrapped(plain_lines(_plan_text(found)))


def _plan_text(found: Any) -> str:
    rows = [
        (
            each.benchmark,
            each.arm,
            each.trials,
            each.left,
            _amount(each.hours),
            _amount(each.dollars),
        )
        for each in found.runs
    ]
    table = render_table(("benchmark", "arm", "trials", "left", "hours", "dollars"), rows)
    lines = [f"{found.name}: {found.left} trials left", "", table, ""]
    if found.hours is None:
        lines.append("Hours: not known of all arms; --from-run RUN names a run that says so.")
    else:
        lines.append(f"Hours: about {found.hours:.2f} by the clock.")
    if found.dollars is None:
        lines.append("Dollars: not known of all arms; --from-run RUN names a run that says so.")
    else:
        lines.append(f"Dollars: about {found.dollars:.2f}.")
    if priced := [f"{each.arm} on {each.benchmark}" for each in found.runs if each.priced]:
        lines.append(f"By the price table, with tokens of other models' runs: {', '.join(priced)}.")
    lines += dict.fromkeys(
        f"{each.arm} costs ${each.price[0]:.2f} for a million tokens in, ${each.price[1]:.2f} out."
        for each in found.runs
        if each.price is not None and not each.priced
    )
    for each in found.comparisons:
        lines += ["", _comparison_text(each)]
    return "\n".join([*lines, *(f"Note: {each}" for each in found.notes)])


def _comparison_text(each: Any) -> str:
    head = f"{', '.join(each.arms)} against {each.baseline} on {each.benchmark}"
    found = f"find a true difference of {each.detectable:.1%}"
    if each.detectable > 1.0:
        found = "are too few to find any difference"
    text = f"{head}: {each.tasks} tasks x {each.trials} {found} in four of five repetitions."
    if each.drop is None:
        return text
    text += f" The {each.drop:.1%} that matter are found in {each.power:.0%} of them"
    if each.missing == 0:
        return f"{text}."
    more = f" or {each.tasks_needed} tasks" if each.tasks_needed is not None else ""
    if each.missing is None:
        return f"{text}; no number of trials is enough{more and f', but{more[3:]} would be'}."
    return f"{text}; {each.missing} more trials of each task{more} would be enough."


def _amount(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"
