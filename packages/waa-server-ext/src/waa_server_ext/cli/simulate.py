"""`waa-server-ext simulate`: a simulated Windows desktop behind the API of WAA's VM."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--scene", type=_FILE, metavar="FILE", help="What the desktop starts with (YAML).")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=5000, show_default=True,
              help="Where the VM's API answers; 0 takes a free port.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="What chance in programs on the desktop depends on.")  # fmt: skip
@click.option("--task", metavar="DOMAIN/STEM", help="Set this task up before listening.")
@click.option("--tasks-dir", "tasks", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="The folder the task is in; by default the built-in tasks.")  # fmt: skip
@click.option("--evaluate", is_flag=True, help="Score on it, too: answer POST /evaluate.")
@click.option("--evaluate-port", type=click.IntRange(0, 65535), default=5050, show_default=True,
              metavar="N", help="With --evaluate: where that answers; 0 takes a free port.")  # fmt: skip
@click.option("--no-token", is_flag=True, help="Answer every program of this machine.")
@click.option("--record", type=_FILE, metavar="FILE",
              help="Write what was seen as an animated WebP when it ends.")  # fmt: skip
@click.option("--snapshot", type=_FILE, metavar="FILE",
              help="Write the state it ends in as a scene (YAML).")  # fmt: skip
def simulate(
    scene: Path | None, host: str, port: int, seed: int, task: str | None, tasks: Path | None,
    record: Path | None, snapshot: Path | None, *, evaluate: bool, evaluate_port: int, no_token: bool,
) -> None:  # fmt: skip
    """Simulate a Windows desktop that speaks the API of WAA's VM.

    It is a stand-in to try agents and tools on: what is scored on it is never a WAA score.
    With --evaluate it is desktop and scorer in one command. Clients send a token to each of them as
    `Authorization: Bearer`: that of $WAA_VM_TOKEN and of $WAA_SERVER_TOKEN, or new ones in files that
    are named, where waa-client finds them.
    """
    from waa_server_ext.built_in.session import DesktopSession, run_session

    run_session(
        DesktopSession(
            scene=scene, host=host, port=port, seed=seed, task=task, tasks=tasks, record=record,
            snapshot=snapshot, evaluate=evaluate_port if evaluate else None, without_tokens=no_token,
        ),
        say=click.echo,
    )  # fmt: skip
