"""Distinguish a process from a later one with the same id, and list running processes."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# psutil is not used: its start times shift when the system's clock is set, and folders and leases
# of living processes would be taken for those of dead ones.
PROC = Path("/proc")


class _Stat(NamedTuple):
    state: str
    parent: int
    group: int
    started: str


def start_token(pid: int) -> str | None:
    """Return letters and digits that stand for when `pid` started; None when it does not run.

    A process that ended and waits to be reaped does not run.
    """
    if sys.platform == "win32":
        return None
    if not _has_proc():
        return _token_from_ps(pid)
    found = stat_of(pid)
    return None if found is None or found.state in {"Z", "X"} else found.started


def namespace() -> str:
    """Return an id that distinguishes our process ids from those of another container on the same disk."""
    try:
        return f"{(PROC / 'self/ns/pid').stat().st_ino:x}"
    except OSError:
        return "0"


def command_lines() -> Iterator[tuple[int, str]]:
    """Yield id and command line of every process that we may see."""
    if sys.platform == "win32":
        return
    if not _has_proc():
        for row in _ps("-axo", "pid=,args=").splitlines():
            pid, _, rest = row.strip().partition(" ")
            if pid.isdigit():
                yield int(pid), rest
        return
    for number in pids():
        try:
            line = (PROC / str(number) / "cmdline").read_bytes()
        except OSError:  # it has ended since
            continue
        yield number, line.replace(b"\0", b" ").decode(errors="replace")


def pids() -> Iterator[int]:
    """Yield the id of every process in /proc."""
    return (int(each.name) for each in PROC.iterdir() if each.name.isdigit())


def stat_of(pid: int) -> _Stat | None:
    """Return the fields of a process in /proc; None if it has none."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything; fields 3 to 52 of proc(5) follow it.
    fields = text.rpartition(")")[2].split()
    return _Stat(fields[0], int(fields[1]), int(fields[2]), fields[19])


def _has_proc() -> bool:
    return (PROC / "self" / "stat").exists()


def _token_from_ps(pid: int) -> str | None:
    answer = _ps("-o", "stat=,lstart=", "-p", str(pid)).strip()
    state, _, started = answer.partition(" ")
    if not started or state.startswith("Z"):
        return None
    return f"{zlib.crc32(started.strip().encode()):x}"


def _ps(*arguments: str) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    command = ["/bin/ps", *arguments]
    done = subprocess.run(  # noqa: S603  # a fixed program with our own arguments
        command, capture_output=True, text=True, check=False, env=environment
    )
    return done.stdout
