"""`waa-server-ext wine`: WAA's own server in a Windows Python under Wine."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def wine() -> None:
    """Run WAA's own server under Wine, without Windows.

    For developing an agent or a VM: files, processes, windows, keyboard and the registry work, UI Automation does
    not. Its scores are recorded as world `wine` and are never WAA scores.
    """


@wine.command()
@click.argument("checkout", type=_FOLDER)
@click.option("--out", type=_FOLDER, default=Path("wine-machine"), show_default=True, metavar="FOLDER",
              help="Folder in which to build the machine; about 0.9 GB.")  # fmt: skip
def build(checkout: Path, out: Path) -> None:
    """Build a machine with the server of CHECKOUT, once.

    CHECKOUT is a clone of WindowsAgentArena or WindowsAgentArena-V2. A Windows Python and the server's dependencies
    come from the package index.
    """
    from waa_server_ext.wine.building import build_machine

    build_machine(checkout, out, click.echo)
    click.echo(f"built in {out}; start it: waa-server-ext wine serve {out}")


@wine.command()
@click.argument("machine", type=_FOLDER)
def serve(machine: Path) -> None:
    """Start a machine, until Ctrl-C; `waa-server-ext serve --vm` scores on it.

    Changes to the machine are not kept: each start begins from the build. Every program on this computer may act on
    the machine; the machine cannot reach this computer.
    """
    import asyncio

    from bench_core.errors import InputError
    from waa_server_ext.server.startup import ended_by_signals
    from waa_server_ext.wine.world import WineDesktopWorld

    world = WineDesktopWorld(machine, scored=False)
    with ended_by_signals() as stop:
        click.echo("Wine starts, which takes some 20 seconds")
        try:
            url = asyncio.run(world.start()).urls["vm"]
            host = url.split("/")[2].partition(":")[0]
            click.echo(f"WAA's server answers at {url}; Ctrl-C stops")
            click.echo(f"to score on it: waa-server-ext serve --vm {host} --tasks-dir DIR")
            while world.runs and not stop.wait(0.5):
                pass
            if not stop.is_set():
                raise InputError("the machine ended by itself: something in it ended WAA's server")
        finally:
            asyncio.run(world.stop())
