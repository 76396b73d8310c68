"""`waa-server-ext serve`: answer POST /evaluate for a VM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bench_core.cli import FiniteRange
from waa_server_ext.cli.options import evaluator_options

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--vm", required=True, metavar="HOST[:PORT]",
              help="Address of WAA's server in the VM, also as http://HOST:PORT; the port is 5000 unless given.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", type=click.IntRange(0, 65535), default=5050, show_default=True,
              help="Listen on this port; 0 takes a free one.")  # fmt: skip
@click.option("--tasks-dir", "tasks", type=_FOLDER, metavar="DIR",
              help="Tasks that requests may name; by default the checkout's own.")  # fmt: skip
@click.option("--timeout", "timeout_s", type=FiniteRange(min=1), default=900.0,
              show_default=True, metavar="SECONDS", help="Time limit of one evaluation.")  # fmt: skip
@click.option("--no-token", is_flag=True, help="Need no token from local programs.")
@evaluator_options
def serve(**options: Any) -> None:
    """Answer POST /evaluate, outside the VM or inside it.

    Clients send a token as `Authorization: Bearer`: $WAA_SERVER_TOKEN, or a new one in a file whose path is printed,
    where waa-client finds it.
    """
    from bench_core.serving import ServerToken
    from waa_server_ext.server.startup import evaluator_settings, serve_forever
    from waa_server_ext.vm.access import TOKEN_VARIABLE

    token = ServerToken.choose(TOKEN_VARIABLE, host=options["host"], without=options["no_token"])
    settings = evaluator_settings(options)
    serve_forever(
        settings,
        vm=options["vm"],
        host=options["host"],
        port=options["port"],
        tasks=options["tasks"],
        timeout_s=options["timeout_s"],
        token=token,
        say=click.echo,
    )
