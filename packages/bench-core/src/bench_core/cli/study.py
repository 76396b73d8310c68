"""The commands `study`: check, plan, run and report what one file compares."""

from __future__ import annotations

import click

from bench_core.cli.study_report import export, report, reproduce


@click.group()
def study() -> None:
    """Compare several agents on several benchmarks, as one file declares it beforehand."""


study.add_command(report)
study.add_command(export)
study.add_command(reproduce)
