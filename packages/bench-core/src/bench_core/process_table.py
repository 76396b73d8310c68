"""Distinguish a process from a later one with the same id, and list what runs."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command_lines", "namespace", "start_token"]

_PROC = Path("/proc")


def start_token(pid: int) -> str | None:
    """Return letters and digits that stand for when `pid` started; None when it does not run.

    A process that ended and waits to be reaped does not run.
    """
    if sys.platform == "win32":
        return None
    if _has_proc():
        return _token_from_proc(pid)
    return _token_from_ps(pid)


def namespace() -> str:
    """Return what distinguishes our process ids from those of another container on the same disk."""
    try:
        return f"{(_PROC / 'self/ns/pid').stat().st_ino:x}"
    except OSError:
        return "0"


def command_lines() -> Iterator[tuple[int, str]]:
    """Yield process id and command line of everything we may see."""
    if sys.platform == "win32":
        return
    if not _has_proc():
        yield from _command_lines_from_ps()
        return
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:  # it ended meanwhile
                continue
            yield int(entry.name), line.replace(b"\0", b" ").decode(errors="replace")


def _has_proc() -> bool:
    return (_PROC / "self" / "stat").exists()


def _token_from_proc(pid: int) -> str | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name in parentheses may hold anything; what follows it is fields 3 to 52 of proc(5).
    fields = stat.rpartition(b")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in (b"Z", b"X") else started.decode()


def _token_from_ps(pid: int) -> str | None:
    answer = _ps("-o", "stat=,lstart=", "-p", str(pid)).strip()
    state, _, started = answer.partition(" ")
    if not started or state.startswith("Z"):
        return None
    return f"{zlib.crc32(started.strip().encode()):x}"


def _command_lines_from_ps() -> Iterator[tuple[int, str]]:
    for line in _ps("-axo", "pid=,args=").splitlines():
        pid, _, rest = line.strip().partition(" ")
        if pid.isdigit():
            yield int(pid), rest


def _ps(*arguments: str) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    command = ["/bin/ps", *arguments]
    done = subprocess.run(  # noqa: S603  # a fixed program with our own arguments
        command, capture_output=True, text=True, check=False, env=environment
    )
    return done.stdout
