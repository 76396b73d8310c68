"""The commands `study`: check, plan, run and report the comparison in one file."""

from __future__ import annotations

import click

from bench_core.cli.study_plan import check, plan
from bench_core.cli.study_report import export, report, reproduce
from bench_core.cli.study_run import run, status, verify


@click.group()
def study() -> None:
    """Compare agents on benchmarks as declared in one file before the first trial."""


for _command in (check, plan, run, status, verify, report, export, reproduce):
    study.add_command(_command)
