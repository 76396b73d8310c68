"""The command `serve`: sessions for programs that speak OpenEnv's or NeMo Gym's protocol."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import click

from bench_core.cli.amounts import FiniteRange
from bench_core.errors import InputError

_COMMAND = "bench_core.sessions.command"  # a tower: the base does not import it


@click.command()
@click.option("--openenv", metavar="BENCHMARK", help="Serve it to OpenEnv clients.")
@click.option(
    "--nemo-gym", metavar="BENCHMARK", help="Serve it to NeMo Gym, as a resources server."
)
@click.option("--dataset", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="With --nemo-gym: write the data set's JSON lines and end.")  # fmt: skip
@click.option(
    "--world", type=click.Choice(["built-in", "real"]), default="built-in", show_default=True
)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
              help="An option of the benchmark's `run`, such as vms=URL; JSON or text.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Address to listen on.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, metavar="N",
              help="Port to listen on; 0 takes a free one.")  # fmt: skip
@click.option("--max-sessions", type=click.IntRange(1, 256), default=4, show_default=True,
              metavar="N", help="Worlds at once.")  # fmt: skip
@click.option("--max-steps", type=click.IntRange(1), default=None, metavar="N",
              help="Longest episode, in steps.")  # fmt: skip
@click.option("--time-limit", type=FiniteRange(0, min_open=True), default=None, metavar="SECONDS",
              help="Longest episode; its end state is scored.")  # fmt: skip
@click.option("--idle", type=FiniteRange(0, min_open=True), default=1800.0, show_default=True,
              metavar="SECONDS", help="Longest wait for a client's next step, in seconds.")  # fmt: skip
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Keep the artifacts and the record of each episode.")  # fmt: skip
@click.option("--no-token", is_flag=True, help="Need no token from local programs.")
def serve(
    *,
    openenv: str | None,
    nemo_gym: str | None,
    dataset: Path | None,
    world: str,
    options: tuple[str, ...],
    host: str,
    port: int,
    max_sessions: int,
    max_steps: int | None,
    time_limit: float | None,
    idle: float,
    keep: Path | None,
    no_token: bool,
) -> None:
    """Serve sessions of a benchmark: each client gets a world of its own, and a score or an error.

    Clients send a token as `Authorization: Bearer`: $BENCH_SESSION_TOKEN, or a new one in a file whose path is
    printed.
    """
    if (openenv is None) == (nemo_gym is None):
        raise InputError("say what to serve: --openenv BENCHMARK or --nemo-gym BENCHMARK")
    if dataset is not None and nemo_gym is None:
        raise InputError("--dataset goes with --nemo-gym")
    settings = {
        "world": world, "max_steps": max_steps, "time_limit_s": time_limit, "idle_s": idle,
        "keep": keep, "options": dict(map(_option, options)),
    }  # fmt: skip
    command = importlib.import_module(_COMMAND)
    if dataset is not None:
        count = command.write_dataset(nemo_gym, settings, dataset)
        click.echo(f"{count} tasks: {dataset}")
        return
    protocol = "openenv" if openenv is not None else "nemo-gym"
    command.serve_sessions(
        protocol, openenv or nemo_gym, settings, click.echo,
        host=host, port=port, sessions=max_sessions, open_to_all=no_token,
    )  # fmt: skip


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--option takes NAME=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
