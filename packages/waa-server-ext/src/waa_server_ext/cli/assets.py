"""`waa-server-ext assets`: fetch and list the reference files of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.cli import json_option, render_table
from bench_core.errors import InputError

if TYPE_CHECKING:
    from waa_server_ext.evaluation.asset_fetch import FetchReport

_FOLDER = click.Path(file_okay=False, path_type=Path)
_assets_option = click.option(
    "--assets", "folder", type=_FOLDER, default="waa-assets", show_default=True, metavar="DIR",
    help="Folder for `serve --assets`.",
)  # fmt: skip


@click.group()
def assets() -> None:
    """Fetch and list the reference files of tasks, to score and set up without the web."""


@assets.command()
@click.option("--tasks-dir", "tasks", type=_FOLDER, required=True, metavar="DIR",
              help="Folder of <domain>/<task>.json, or the one above.")  # fmt: skip
@_assets_option
@click.option("--refresh", is_flag=True, help="Fetch again files that are there.")
@json_option
def fetch(tasks: Path, folder: Path, refresh: bool, as_json: bool) -> None:  # click's flags
    """Fetch the set-up and gold files of all tasks; run it again to continue."""
    from waa_server_ext.evaluation.asset_fetch import fetch_assets
    from waa_server_ext.evaluation.tasks import TaskFolder

    report = fetch_assets(
        TaskFolder(tasks), folder, refresh=refresh, say=lambda line: click.echo(line, err=True)
    )
    click.echo(report.model_dump_json(indent=2) if as_json else _text(report))
    if report.failed:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@assets.command(name="list")
@_assets_option
@json_option
def list_(folder: Path, as_json: bool) -> None:
    """List the fetched files."""
    from waa_server_ext.evaluation.assets import AssetStore

    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: `waa-server-ext assets fetch` makes it")
    index = AssetStore(folder).index()
    if as_json:
        click.echo(index.model_dump_json(indent=2))
        return
    rows = [(a.size, f"{a.fetched:%Y-%m-%d}", url) for url, a in sorted(index.assets.items())]
    click.echo(render_table(("bytes", "fetched", "url"), rows))


def _text(report: FetchReport) -> str:
    counts = f"{len(report.fetched)} fetched, {len(report.held)} there already"
    return f"{counts}, {len(report.failed)} failed"
