"""Whether a disk has room: asked before work whose result would not fit."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench_core.errors import RunFolderError

_MB = 10**6
TO_BEGIN = 200 * _MB
"""Bytes that must be free before a run begins or is continued."""
TO_GO_ON = 20 * _MB
"""Bytes that must be free before each attempt: what is in flight can still be written down."""


def require_space(folder: Path, least: int) -> None:
    """Raise where fewer than `least` bytes are free on the disk of `folder`, which may be missing yet.

    Raises:
        RunFolderError: Says how many there are.
    """
    try:
        usage = shutil.disk_usage(folder)  # asked before each attempt, when it is there
    except FileNotFoundError:
        there = next((each for each in folder.absolute().parents if each.exists()), folder)
        usage = shutil.disk_usage(there)
    free = usage.free
    # some network file systems do not report their size
    if usage.total and free < least:
        raise RunFolderError(
            f"only {free / _MB:,.0f} MB are free on the disk of {folder}, and {least / _MB:,.0f} MB are the "
            f"least to run trials with: free some and run the same command again, or use another folder"
        )
