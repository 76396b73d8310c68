"""The commands `study`: check, plan, run and report what one file compares."""

from __future__ import annotations

import click


@click.group()
def study() -> None:
    """Compare several agents on several benchmarks, as one file declares it beforehand."""
