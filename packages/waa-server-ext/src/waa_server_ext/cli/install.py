"""`waa-server-ext install` and `uninstall`: mount /evaluate in WAA's own server, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core.cli import json_option

if TYPE_CHECKING:
    from waa_server_ext.server.installation import InstallReport

_FILE = click.Path(dir_okay=False, path_type=Path)
_server_option = click.option(
    "--server", type=_FILE, required=True, metavar="FILE",
    help="The main.py in src/win-arena-container/vm/setup/server.",
)  # fmt: skip


@click.command()
@_server_option
@click.option("--vm", default="127.0.0.1", show_default=True, metavar="HOST[:PORT]",
              help="Address at which evaluators reach the server from its own machine.")  # fmt: skip
@click.option("--cache", default="waa-server-ext", show_default=True, metavar="DIR",
              help="Folder for the journal and scratch files, on the server's machine.")  # fmt: skip
@click.option("--waa-checkout", "checkout", metavar="DIR",
              help="Run the evaluators of this checkout, on the server's machine.")  # fmt: skip
@click.option("--fidelity", type=click.Choice(["v2", "orig", "fixed"]), help="Scoring rules.")
@click.option("--assets", metavar="DIR", help="Reference files by URL, on the server's machine.")
@click.option("--tasks-dir", "tasks", metavar="DIR",
              help="Tasks that requests may name, on the server's machine.")  # fmt: skip
@json_option
def install(server: Path, as_json: bool, **options: Any) -> None:
    """Mount /evaluate in WAA's own server; waa-server-ext must be installed where that runs."""
    from waa_server_ext.server.installation import install as run

    given = {name: value for name, value in options.items() if value is not None}
    _show(run(server, given), as_json, "/evaluate is mounted in", "it was already in")


@click.command()
@_server_option
@json_option
def uninstall(server: Path, as_json: bool) -> None:
    """Undo install; the file is restored byte for byte."""
    from waa_server_ext.server.installation import uninstall as run

    _show(run(server), as_json, "removed from", "nothing to remove in")


def _show(report: InstallReport, as_json: bool, done: str, nothing: str) -> None:
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    kept = f"; the file before is {report.backup}" if report.backup else ""
    click.echo(f"{done if report.changed else nothing} {report.server}{kept}")
