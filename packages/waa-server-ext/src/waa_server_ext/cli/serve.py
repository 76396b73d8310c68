"""`waa-server-ext serve`: answer POST /evaluate for a VM."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["evaluator_options", "serve"]

_FOLDER = click.Path(file_okay=False, path_type=Path)


def evaluator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which evaluators score, and on what."""
    for option in (
        click.option("--max-download", type=click.IntRange(min=1), default=256, show_default=True,
                     metavar="MB", help="Largest file that is fetched from VM or web."),
        click.option("--allow-host", "allow_hosts", multiple=True, metavar="HOST",
                     help="Also fetch files from HOST, beside the hosts of the task set."),
        click.option("--offline", is_flag=True, help="Fetch nothing from the web: assets only."),
        click.option("--assets", type=_FOLDER, metavar="DIR",
                     help="Reference files by URL, as `waa-server-ext assets fetch` leaves them; by default "
                     "in the cache, fetched when needed."),
        click.option("--fidelity", type=click.Choice(["v2", "orig", "fixed"]),
                     help="Whose rules score; by default WindowsAgentArena-V2's, or the checkout's."),
        click.option("--waa-checkout", "checkout", type=_FOLDER, metavar="DIR",
                     help="Run the evaluators of this Windows Agent Arena checkout."),
        click.option("--cache", type=_FOLDER, default=".waa-server-ext", show_default=True,
                     metavar="DIR", help="Journal, bodies of transcripts, scratch files."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.option("--vm", required=True, metavar="HOST[:PORT]",
              help="Where WAA's server in the VM answers; the port is 5000 unless given.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", type=click.IntRange(0, 65535), default=5050, show_default=True,
              help="Listen on this port; 0 takes a free one.")  # fmt: skip
@click.option("--tasks", type=_FOLDER, metavar="DIR",
              help="Tasks that requests may name; by default the checkout's own.")  # fmt: skip
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=1), default=900.0,
              show_default=True, metavar="SECONDS", help="Longest that one evaluation may take.")  # fmt: skip
@evaluator_options
def serve(**options: Any) -> None:
    """Answer POST /evaluate, beside the VM or inside it.

    The token in WAA_SERVER_TOKEN is required of clients; without one only this machine may ask.
    """
    from waa_server_ext.running import evaluator_settings, serve_forever  # noqa: PLC0415  # heavy
    from waa_server_ext.server.access import TOKEN_VARIABLE  # noqa: PLC0415  # with it

    settings = evaluator_settings(options)
    serve_forever(
        settings,
        vm=options["vm"],
        host=options["host"],
        port=options["port"],
        tasks=options["tasks"],
        timeout_s=options["timeout_s"],
        token=os.environ.get(TOKEN_VARIABLE) or None,
        say=click.echo,
    )
