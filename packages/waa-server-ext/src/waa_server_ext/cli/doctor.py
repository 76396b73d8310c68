"""`waa-server-ext doctor`: checks the prerequisites and says how to fix what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bench_core.cli import execute_doctor, json_option
from waa_server_ext.cli.options import evaluator_options


@click.command()
@click.option("--vm", metavar="HOST[:PORT]", help="Check the VM's server and browser.")
@click.option("--url", metavar="URL", help="Check a running waa-server-ext from where clients are.")
@click.option("--server", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Check whether /evaluate is mounted in this main.py.")  # fmt: skip
@click.option("--tasks-dir", "tasks", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Check whether the reference files of these tasks are there.")  # fmt: skip
@evaluator_options
@json_option
def doctor(**options: Any) -> None:
    """Check checkout, packages, VM and network, and say how to fix what is missing."""
    from waa_server_ext.server.doctor import checks
    from waa_server_ext.server.startup import evaluator_settings

    found = checks(
        evaluator_settings(options),
        vm=options["vm"],
        url=options["url"],
        server=options["server"],
        tasks=options["tasks"],
    )
    execute_doctor(found, as_json=options["as_json"])
