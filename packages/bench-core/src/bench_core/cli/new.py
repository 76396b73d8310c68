"""The command `new`: files and projects to begin with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench_core.cli.study_plan import new_study
from bench_core.errors import InputError
from bench_core.files import require_writable, write_atomic

if TYPE_CHECKING:
    from bench_core.new_project import ProjectKind

_HELP: dict[ProjectKind, str] = {
    "agent": "Write the project NAME: an agent that works in browsers and on desktops.",
    "benchmark": "Write the project NAME: a benchmark with tasks, an environment and a score.",
    "judge": "Write the project NAME: a judge that decides whether an end state meets its criteria.",
    "reporter": "Write the project NAME: a reporter that makes a page from run folders.",
}


@click.group()
def new() -> None:
    """Write a starter file or project."""


@new.command("inspect-task")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def inspect_task(path: Path) -> None:
    """Write a module for Inspect: tasks over a run folder and over a session server.

    Run it in a separate environment with only inspect-ai: the benchmarks pin other versions.
    """
    if path.exists():
        raise InputError(f"{path} exists")
    template = resources.files("bench_core.sessions").joinpath("templates/inspect_task.py.txt")
    require_writable(path)
    write_atomic(path, template.read_bytes())
    click.echo(path)


new.add_command(new_study)


def _add_project(kind: ProjectKind) -> None:
    @new.command(kind, help=_HELP[kind])
    @click.argument("name")
    @click.option("--into", type=click.Path(file_okay=False, path_type=Path), default=Path(),
                  metavar="DIR", help="Folder in which to make the project's folder.  [default: here]")  # fmt: skip
    def project(name: str, into: Path, *, with_model: bool = False) -> None:
        from bench_core.new_project import write_project

        for path in write_project(kind, name, into, with_model=with_model):
            click.echo(path)

    if kind == "agent":
        click.option("--with-model", is_flag=True, help="Ask the run's model what to do.")(project)


for _kind in _HELP:
    _add_project(_kind)
