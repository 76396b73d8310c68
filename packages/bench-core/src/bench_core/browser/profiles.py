"""Temporary profiles that carry their owner's name, and removal of those whose owner is dead."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench_core.browser.keeper import remove_tree
from bench_core.browser.processes import command_lines, namespace, start_token

__all__ = ["create_profile", "sweep_leftovers"]

# Short, because Chromium puts a socket below it, and paths of sockets are.
_PREFIX = "proctor-c"
_NAME = re.compile(rf"{_PREFIX}-(?P<pid>\d+)-(?P<started>\w+)-(?P<namespace>[0-9a-f]+)-\w+")


@dataclass(frozen=True)
class _Owner:
    pid: int
    started: str
    namespace: str

    @classmethod
    def of(cls, folder: Path) -> _Owner | None:
        match = _NAME.fullmatch(folder.name)
        if match is None:
            return None
        return cls(int(match["pid"]), match["started"], match["namespace"])

    @property
    def is_dead(self) -> bool:
        return self.namespace == namespace() and start_token(self.pid) != self.started


def create_profile(root: Path) -> Path:
    """Make an empty profile folder in `root` whose name says who owns it."""
    root.mkdir(parents=True, exist_ok=True)
    pid = os.getpid()
    owner = f"{pid}-{start_token(pid) or 0}-{namespace()}"
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}-{owner}-", dir=root))


def sweep_leftovers(root: Path | None = None) -> list[Path]:
    """End browsers and remove profiles in `root` whose owner is dead; return the profiles.

    A live owner's profile is never touched, nor one of another container or another user.
    Does nothing on Windows, where owners cannot be told from later processes.
    """
    if sys.platform == "win32":
        return []
    root = root or Path(tempfile.gettempdir())
    leftovers = [folder for folder in root.glob(f"{_PREFIX}-*") if _is_leftover(folder)]
    if leftovers:
        _end_browsers_of(leftovers)
    for folder in leftovers:
        remove_tree(folder)
    return leftovers


def _is_leftover(folder: Path) -> bool:
    owner = _Owner.of(folder)
    if owner is None or not owner.is_dead:
        return False
    try:
        return folder.is_dir() and folder.stat().st_uid == os.getuid()
    except FileNotFoundError:  # another process sweeps too
        return False


def _end_browsers_of(folders: list[Path]) -> None:
    marks = [f"--user-data-dir={folder} " for folder in folders]
    for pid, line in command_lines():
        if any(mark in f"{line} " for mark in marks):
            try:
                os.killpg(os.getpgid(pid), signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # its group was ended with an earlier process, or is not ours
