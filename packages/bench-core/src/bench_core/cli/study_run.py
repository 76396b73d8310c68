"""The commands `study run`, `study status` and `study verify`."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from bench_core import exit_codes
from bench_core.cli.amounts import FiniteRange
from bench_core.cli.options import json_option
from bench_core.cli.tables import echo_wrapped, json_text, render_table
from bench_core.terminal import counted, dollars, duration, plain_lines

_STUDIES = "bench_core.studies"  # a tower: the base does not import it
_FOLDER = click.argument(
    "folder", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
_CODES = {"interrupted": exit_codes.INTERRUPTED, "aborted": exit_codes.ABORTED}


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="The study's folder.  [default: studies/NAME]")  # fmt: skip
@json_option
def run(file: Path, out: Path | None, *, as_json: bool) -> None:
    """Run the study that FILE declares; the same command continues it after any interruption.

    Before the first trial, everything that a run could refuse is checked, and the study is sealed. Exit codes: 0
    nothing is left to run, 1 some trials have no lasting result, 75 aborted, 130 interrupted.
    """
    from bench_core.progress.selection import make_progress
    from bench_core.redaction import Redactor

    studies = importlib.import_module(_STUDIES)
    study = studies.load_study(file)
    folder = out or Path("studies") / study.name
    redact = Redactor.from_environment().redact
    outcome = studies.run_study(
        study,
        folder,
        progress=make_progress(sys.stdout, as_json=as_json, redact=redact),
        guard=True,
        on_warning=lambda text: echo_wrapped(f"Warning: {plain_lines(text)}", sys.stderr),
    )
    if as_json:
        click.echo(outcome.model_dump_json())
    else:
        echo_wrapped(_status_text(studies.study_status(folder)))
    code = _CODES.get(
        outcome.outcome, exit_codes.FELL_SHORT if outcome.remaining else exit_codes.OK
    )
    if any(each.abandoned for each in outcome.runs.values()):
        # an exit would wait for the threads of abandoned trials, which may never end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


@click.command()
@_FOLDER
@click.option("--every", type=FiniteRange(min=1), metavar="SECONDS",
              help="Repeat until nothing is left to run or no process runs it.")  # fmt: skip
@json_option
def status(folder: Path, every: float | None, *, as_json: bool) -> None:
    """Show the progress of the study in FOLDER, even while it runs: all arms, money, time left."""
    while True:
        found = importlib.import_module(_STUDIES).study_status(folder)
        if as_json:
            click.echo(json_text(found))
        else:
            echo_wrapped(_status_text(found))
        if every is None or not (found.left and found.running):
            return
        time.sleep(every)


@click.command()
@_FOLDER
@json_option
def verify(folder: Path, *, as_json: bool) -> None:
    """Show what the study in FOLDER declared before its first trial, and what was changed when.

    Exit code 1 if something departs from the declaration without a recorded change.
    """
    found = importlib.import_module(_STUDIES).verify_study(folder)
    if as_json:
        click.echo(json_text(found))
    else:
        echo_wrapped(plain_lines(_verified_text(found)))
    sys.exit(exit_codes.FELL_SHORT if found.problems else exit_codes.OK)


def _status_text(found: Any) -> str:
    rows = [
        (
            each.benchmark,
            each.arm + (" (added later)" if each.added else ""),
            f"{each.done} of {each.planned}",
            f"{each.succeeded / each.scored:.1%}" if each.scored else None,
            None if each.spent.unpriced_calls else f"{each.spent.cost_usd:.2f}",
            each.state.replace("_", " "),
        )
        for each in found.arms
    ]
    headers = ("benchmark", "arm", "trials", "success", "dollars", "state")
    limit = "" if found.max_cost is None else f" of {dollars(found.max_cost)}"
    left = "" if found.seconds_left is None else f", about {duration(found.seconds_left)} left"
    looks = [
        f"Look {each.look.number} of {each.look.of} at {each.arm} against {each.baseline} on {each.benchmark}: "
        f"{each.look.reason}"
        for each in found.looks
    ]
    changes = f", {found.changes} changes since" if found.changes else ""
    return "\n".join(
        [
            f"{found.name}: sealed {found.sealed:%Y-%m-%d %H:%M:%S} UTC{changes}",
            "",
            render_table(headers, rows),
            "",
            *looks,
            f"{dollars(found.spent.cost_usd)}{limit} spent; {counted(found.left, 'trial')} left{left}",
            *(
                ["No process works on it: `bench-core study run FILE` goes on."]
                if found.left and not found.running
                else []
            ),
            f"Study folder: {found.folder}",
        ]
    )


def _verified_text(found: Any) -> str:
    sealed = found.sealed
    lines = [
        f"{sealed.name}: sealed {sealed.time.isoformat()}, sha256 {sealed.sha256}",
        f"  arms: {', '.join(sealed.arms)}; {sealed.trials} trials of each task; seed {sealed.seed}",
        *(
            f"  {each.name}: {each.count} tasks, {each.task_set_hash[:12]}, {each.order}"
            for each in sealed.benchmarks
        ),
        *(f"  {each.warning}" for part in (sealed, *found.changes) for each in part.reused),
        f"  looks: {len(sealed.looks)} pairs may be decided early"
        if sealed.looks
        else "  no looks before the end",
        "no trial yet"
        if found.first_trial is None
        else f"first run began {found.first_trial.isoformat()}",
        *(f"changed {each.time.isoformat()}: {each.text}" for each in found.changes),
        *(f"PROBLEM: {each}" for each in found.problems),
    ]
    if not found.problems:
        lines.append(
            "all fits the declaration" + (", but for the changes above" if found.changes else "")
        )
    return "\n".join(lines)
