"""The command `new`: files to begin with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from bench_core.errors import InputError
from bench_core.files import require_writable, write_atomic

__all__ = ["new"]


@click.group()
def new() -> None:
    """Write a file to begin with."""


@new.command("inspect-task")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def inspect_task(path: Path) -> None:
    """Write a module for Inspect: tasks over a run folder and over a session server.

    It needs inspect-ai alone, in an environment of its own: that of the benchmarks has other pins.
    """
    if path.exists():
        raise InputError(f"{path} exists")
    template = resources.files("bench_core.sessions").joinpath("templates/inspect_task.py.txt")
    require_writable(path)
    write_atomic(path, template.read_bytes())
    click.echo(path)
