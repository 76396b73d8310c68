"""The `demo` command: runs whose scores are known beforehand, and a check of these scores."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.cli.tables import render_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench_core.progress.interface import Progress
    from bench_core.runs.demo import DemoRun


def execute_demo(
    run_demo: Callable[[Progress], Sequence[DemoRun]],
    *,
    as_json: bool = False,
) -> None:
    """Carry out a `demo` command, show the results and exit with the right code.

    Exit codes: 0 all is as expected, 1 it is not, 130 interrupted.
    """
    from bench_core.progress.selection import make_progress

    runs = run_demo(make_progress(sys.stderr if as_json else sys.stdout))
    records = [each.model_dump(mode="json") for each in runs]
    click.echo(json.dumps(records, indent=2) if as_json else _demo_text(runs))
    if any(each.outcome == "interrupted" for each in runs):
        raise click.exceptions.Exit(exit_codes.INTERRUPTED)
    if not all(each.as_expected for each in runs):
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def _demo_text(runs: Sequence[DemoRun]) -> str:
    columns = runs[0].columns
    rows = [tuple(getattr(each, field) for field in columns) for each in runs]
    table = render_table(tuple(columns.values()), rows)
    wrong = [
        f"{row[0]}: {line}"
        for each, row in zip(runs, rows, strict=True)
        for line in each.unexpected
    ]
    verdict = "Everything is as expected." if all(each.as_expected for each in runs) else ""
    return "\n".join(["", table, "", *wrong, verdict]).rstrip()
