"""The `waa-server-ext` command; each subcommand is a module of this package."""

from __future__ import annotations

import importlib
import importlib.util

import click

from bench_core.cli import BenchGroup, runner_group
from waa_server_ext.__about__ import __version__
from waa_server_ext.cli.examples import EXAMPLES

_COMMANDS = {
    "serve": "serve",
    "evaluate": "evaluate",
    "rescore": "rescore",
    "simulate": "simulate",
    "wine": "wine",
    "assets": "assets",
    "install": "install",
    "uninstall": "install",
    "doctor": "doctor",
}
"""Command to the module that holds it under the same name; such modules import only click."""


class _LazyGroup(BenchGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands' names, in the order of use."""
        return [name for name in _COMMANDS if self.get_command(ctx, name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        module = f"{__name__}.{_COMMANDS.get(cmd_name, '')}"
        if cmd_name in _COMMANDS and importlib.util.find_spec(module) is not None:
            self.add_command(getattr(importlib.import_module(module), cmd_name), cmd_name)
        elif cmd_name not in _COMMANDS:
            self.list_commands(ctx)  # click suggests names among the imported commands only
        return super().get_command(ctx, cmd_name)


@runner_group("waa-server-ext", __version__, cls=_LazyGroup, examples=EXAMPLES)
def main() -> None:
    """Score Windows Agent Arena tasks over HTTP, exactly as the benchmark does."""
