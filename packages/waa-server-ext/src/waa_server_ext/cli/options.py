"""The options that several commands share, as decorators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_FOLDER = click.Path(file_okay=False, path_type=Path)


def evaluator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose the evaluators and their sources."""
    for option in (
        click.option("--max-download", type=click.IntRange(min=1), default=256, show_default=True,
                     metavar="MB", help="Largest file fetched from VM or web, in megabytes."),
        click.option("--allow-host", "allow_hosts", multiple=True, metavar="HOST",
                     help="Also fetch files from HOST, in addition to the task set's hosts."),
        click.option("--cdp", metavar="HOST:PORT",
                     help="Debugging port of the VM's browser; by default port 9222 of a VM on port 5000."),
        click.option("--offline", is_flag=True, help="Fetch nothing from the web: assets only."),
        click.option("--assets", type=_FOLDER, metavar="DIR",
                     help="Folder of reference files by URL, made by `waa-server-ext assets fetch`; by default in "
                          "the cache, fetched when needed."),
        click.option("--fidelity", type=click.Choice(["v2", "orig", "fixed"]),
                     help="Scoring rules; by default WindowsAgentArena-V2's, or the checkout's."),
        click.option("--waa-checkout", "checkout", type=_FOLDER, metavar="DIR",
                     help="Run the evaluators of this Windows Agent Arena checkout."),
        click.option("--cache", type=_FOLDER, default=".waa-server-ext", show_default=True,
                     metavar="DIR", help="Folder for the journal, bodies of transcripts and scratch files."),
    ):  # fmt: skip
        command = option(command)
    return command
