"""What this process and those it started listen on, for exploits that look for the harness's servers."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

__all__ = ["listening_places"]

_PROC = Path("/proc")
_SOCKETS = _PROC / "net/tcp"
_INODE = re.compile(r"socket:\[(\d+)\]")
_LISTENING = "0A"


def listening_places() -> list[str]:
    """Return the URLs of what this process and its children listen on, on loopback; empty without /proc.

    Servers of others are left alone: they are no part of the world that is tried, and their owners
    expect no exploits.
    """
    if not _SOCKETS.exists():
        return []
    places, own = set(), _own_sockets()
    for line in _SOCKETS.read_text("ascii").splitlines()[1:]:
        fields = line.split()
        address, port = fields[1].split(":")
        octets = [int(address[at : at + 2], 16) for at in (6, 4, 2, 0)]
        if fields[3] == _LISTENING and octets[0] == 127 and fields[9] in own:  # loopback
            places.add(f"http://{'.'.join(map(str, octets))}:{int(port, 16)}")
    return sorted(places)


def _own_sockets() -> set[str]:
    """Return the inodes of the sockets of this process and of those it started."""
    found = set()
    for process in _family():
        with contextlib.suppress(OSError):  # it ended meanwhile
            for handle in (_PROC / str(process) / "fd").iterdir():
                with contextlib.suppress(OSError):
                    found.update(_INODE.findall(str(handle.readlink())))
    return found


def _family() -> set[int]:
    parents = {}
    for entry in _PROC.iterdir():
        with contextlib.suppress(OSError, ValueError):
            # the name in parentheses may hold anything; the parent is the second field after it
            stat = (entry / "stat").read_text("utf-8", "replace")
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family
