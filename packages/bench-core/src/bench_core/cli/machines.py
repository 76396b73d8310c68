"""The commands `machines list`, `reap` and `stop`: machines that run for trials, and their remains."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.cli.coroutines import run_coroutine
from bench_core.cli.options import json_option
from bench_core.cli.tables import render_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench_core.machines import Machine, Reaped

_FOLDER = click.option(
    "--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Folder of the machines' records  [default: $PROCTOR_MACHINES, or one in the home folder]",
)  # fmt: skip
_PROVIDER = click.option("--provider", metavar="NAME", help="Only machines of this provider.")


@click.group()
def machines() -> None:
    """Show, reap or stop the machines that trials run on: processes, virtual machines, containers."""


@machines.command("list")
@_PROVIDER
@click.option("--owner", metavar="NAME", help="Only machines that this owner holds.")
@_FOLDER
@json_option
def list_(provider: str | None, owner: str | None, folder: Path | None, *, as_json: bool) -> None:
    """List machines that run, should run or left something behind."""
    from bench_core.machines import list_machines

    found = run_coroutine(list_machines(folder, provider=provider, owner=owner))
    if as_json:
        click.echo(_as_json(found))
    else:
        click.echo(_as_text(found) if found else "no machines")


@machines.command()
@_PROVIDER
@_FOLDER
@json_option
def reap(provider: str | None, folder: Path | None, *, as_json: bool) -> None:
    """Remove machines whose owners are gone; those of live owners stay. Safe at any time.

    Exit codes: 0 nothing is left over, 1 something could not be removed.
    """
    from bench_core.machines.overview import reap_machines

    found = run_coroutine(reap_machines(folder, provider=provider))
    if as_json:
        records = {name: each.model_dump(mode="json") for name, each in found.items()}
        click.echo(json.dumps(records, indent=2))
    else:
        click.echo("\n".join(_report(found)))
    if any(each.failed for each in found.values()):
        sys.exit(exit_codes.FELL_SHORT)


@machines.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--even-held", is_flag=True, help="Also stop machines that a program is using.")
@_FOLDER
@json_option
def stop(names: Sequence[str], folder: Path | None, *, even_held: bool, as_json: bool) -> None:
    """Stop the machines with these names or keys, and remove all their parts."""
    from bench_core.machines import stop_machines

    stopped = run_coroutine(stop_machines(names, folder, even_held=even_held))
    if as_json:
        click.echo(_as_json(stopped))
    else:
        click.echo("\n".join(f"stopped {each.name}" for each in stopped))


def machine_commands() -> list[click.Command]:
    """Return `list`, `reap` and `stop` for another program's group; their examples are that program's."""
    found = [copy.copy(each) for each in machines.commands.values()]
    for each in found:
        each.epilog = None
    return found


def _as_json(found: Sequence[Machine]) -> str:
    return json.dumps([each.model_dump(mode="json") for each in found], indent=2)


def _as_text(found: Sequence[Machine]) -> str:
    columns = ("provider", "name", "key", "state", "owner", "addresses")
    return render_table(
        columns,
        [
            (m.provider, m.name, m.key, m.state, m.owner, ", ".join(sorted(m.urls.values())))
            for m in found
        ],
    )


def _report(found: Mapping[str, Reaped]) -> list[str]:
    lines = [f"removed {name}" for each in found.values() for name in each.removed]
    lines += [
        f"not removed: {name or provider}: {why}"
        for provider, each in found.items()
        for name, why in each.failed.items()
    ]
    kept = sum(each.kept for each in found.values())
    return [*lines, f"{sum(len(e.removed) for e in found.values())} removed, {kept} kept"]
