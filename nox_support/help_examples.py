"""The command lines that the helps of our programs show as examples."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

import click

from nox_support.command_lines import Line
from nox_support.packages import packages

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PROGRAMS", "command_of", "examples"]

PROGRAMS = [each.name for each in packages()]


def examples() -> list[Line]:
    """Return the example lines of every command's help; one without text where it has none."""
    found = []
    for program in PROGRAMS:
        for path, command in _commands(command_of(program), program):
            shown = (command.epilog or "").partition("Example:\n")[2]
            for line in shown.splitlines() or [""]:
                found += [Line(f"help of {path}", part.strip()) for part in line.split(" && ")]
    return found


def command_of(program: str) -> click.Command:
    """Return the program's command."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=program)
    command = script.load()
    if not isinstance(command, click.Command):
        raise TypeError(f"{program} is no click command")
    return command


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below `command` that is not hidden, with its words."""
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _commands(inner, f"{path} {name}")
    elif not command.hidden:
        yield path, command
