"""`waa-server-ext simulate`: a simulated Windows desktop behind the API of WAA's VM."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--scene", type=_FILE, metavar="FILE", help="Initial state of the desktop (YAML).")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=5000, show_default=True,
              help="Port of the VM's API; 0 takes a free one.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="Seed of randomness in the desktop's programs.")  # fmt: skip
@click.option("--task", metavar="DOMAIN/STEM", help="Set this task up before listening.")
@click.option("--tasks-dir", "tasks", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Folder of the task; by default the built-in tasks.")  # fmt: skip
@click.option("--evaluate", is_flag=True, help="Score on it, too: answer POST /evaluate.")
@click.option("--evaluate-port", type=click.IntRange(0, 65535), default=5050, show_default=True,
              metavar="N", help="With --evaluate: port of the evaluator; 0 takes a free one.")  # fmt: skip
@click.option("--no-token", is_flag=True, help="Need no token from local programs.")
@click.option("--record", type=_FILE, metavar="FILE",
              help="At the end, write the screenshots taken as an animated WebP.")  # fmt: skip
@click.option("--snapshot", type=_FILE, metavar="FILE",
              help="At the end, write the state as a scene (YAML).")  # fmt: skip
def simulate(
    scene: Path | None, host: str, port: int, seed: int, task: str | None, tasks: Path | None,
    record: Path | None, snapshot: Path | None, *, evaluate: bool, evaluate_port: int, no_token: bool,
) -> None:  # fmt: skip
    """Simulate a Windows desktop that speaks the API of WAA's VM.

    It is a stand-in for trying agents and tools: its scores are never WAA scores. With --evaluate, one command runs
    desktop and scorer. Clients send each a token as `Authorization: Bearer`: $WAA_VM_TOKEN and $WAA_SERVER_TOKEN, or
    new ones in files whose paths are printed, where waa-client finds them.
    """
    from waa_server_ext.built_in.session import DesktopSession, run_session

    run_session(
        DesktopSession(
            scene=scene, host=host, port=port, seed=seed, task=task, tasks=tasks, record=record,
            snapshot=snapshot, evaluate=evaluate_port if evaluate else None, without_tokens=no_token,
        ),
        say=click.echo,
    )  # fmt: skip
