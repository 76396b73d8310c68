"""Temporary folders named after their owner's process, and removal of those whose owner is dead."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench_core.browser.processes import command_lines, namespace, start_token
from bench_core.browser.supervisor import remove_tree

__all__ = ["create_profile", "owned_folder", "owned_name", "sweep_leftovers"]

# Short, because Chromium puts a socket below it, and paths of sockets are.
_PREFIX = "proctor-c"
_NAME = re.compile(
    # browser-use puts a folder of its own, named after its agent's id, beside ours
    r"(?:proctor-(?:c|agent|browser-use)|browser_use_agent_proctor)"
    r"-(?P<pid>\d+)-(?P<started>\w+)-(?P<namespace>[0-9a-f]+)-\w+"
)
_PATTERNS = ("proctor-*", "browser_use_agent_proctor-*")


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
    return owned_folder(_PREFIX, root)


def owned_folder(prefix: str, root: Path | None = None) -> Path:
    """Make an empty folder in `root`, the system's temporary one by default, and return it.

    Its name says who owns it, so that a later start removes it where this process is killed.

    Args:
        prefix: `proctor-c`, `proctor-agent` or `proctor-browser-use`.
        root: Where.
    """
    return Path(tempfile.mkdtemp(prefix=f"{owned_name(prefix)}-", dir=root))


def owned_name(prefix: str) -> str:
    """Return a name that says that this process owns what has it; something is to follow it."""
    pid = os.getpid()
    return f"{prefix}-{pid}-{start_token(pid) or 0}-{namespace()}"


def sweep_leftovers(root: Path | None = None) -> list[Path]:
    """End browsers and remove folders in `root` whose owner is dead; return the folders.

    A live owner's folder is never touched, nor one of another container or another user.
    Does nothing on Windows, where owners cannot be distinguished from later processes.
    """
    if sys.platform == "win32":
        return []
    root = root or Path(tempfile.gettempdir())
    found = (folder for pattern in _PATTERNS for folder in root.glob(pattern))
    leftovers = [folder for folder in found if _is_leftover(folder)]
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
