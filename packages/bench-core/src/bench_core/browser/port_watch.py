"""Detects clients that connect to Chromium's own debugging port past the gateway.

Any process can find the port by scanning this machine's ports, and nothing can refuse a
connection there. The system's table of connections shows them, for a minute after they were closed, too.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench_core.records.integrity import IntegrityCode

_TABLES = ("net/tcp", "net/tcp6")
_PROC = Path("/proc/self")
_LISTENING = "0A"
# a connection that is reset leaves nothing in the table
_EVERY_S = 0.25
_GAP_S = 5.0
"""Longer between two looks, and a connection may have come and gone unseen: the run was stopped, say."""
_WAITING = "03"
_WAIT_S = 60.0
"""So long Linux keeps a closed connection in its table."""
_CLOSING_S = 10.0
"""So late the other end may close, too: Chromium on a busy machine."""


class Peer(NamedTuple):
    """The other end of a connection to the port.

    Attributes:
        socket: The number of its socket; 0 if it is closed.
        closed: When it was closed, on the clock of `time.monotonic`; None if that is not known.
    """

    port: int
    socket: int
    closed: float | None = None


class OwnEnds:
    """The gateway's own ends of its connections to Chromium.

    A port alone says nothing: once the gateway has closed it, others may use it.
    """

    def __init__(self) -> None:
        self._sockets: set[int] = set()
        self._closed: dict[int, float] = {}

    def new_socket(self, family: int) -> socket.socket:
        """Return a socket with a port, which is known before the other side can show the connection."""
        made = _NotedSocket(family)
        made.settimeout(0)  # as an event loop needs it
        made.bind(("", 0))
        port = made.getsockname()[1]
        self._sockets.add(os.fstat(made.fileno()).st_ino)
        self._closed[port] = math.inf
        made.note = lambda: self._closed.update({port: time.monotonic()})
        return made

    def has(self, peer: Peer) -> bool:
        """Whether a connection was made by one of these sockets."""
        if peer.socket:
            return peer.socket in self._sockets
        latest = self._closed.get(peer.port)
        if latest is None or peer.closed is None:
            return latest is not None
        return peer.closed <= latest + _CLOSING_S


class _NotedSocket(socket.socket):
    note: Callable[[], None] | None = None

    def close(self) -> None:
        """Close it, and say so."""
        super().close()
        if self.note is not None:
            self.note()


class PortWatch:
    """Collects the connections to a port of this machine from `arm` to `disarm`.

    On systems without a table of connections (all but Linux) it sees none.

    Args:
        port: Chromium's.
        own: The gateway's ends; None if there is no gateway.
        peers: Returns the other ends of the connections to the port.

    Attributes:
        missed: Whether there was a time at which it did not look.
    """

    def __init__(
        self,
        port: int,
        own: OwnEnds | None = None,
        peers: Callable[[int], set[Peer]] | None = None,
    ) -> None:
        self._port, self._own, self._peers = port, own or OwnEnds(), peers or peers_of
        self.missed = False
        self._before: set[int] = set()
        self._strangers: set[int] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def arm(self) -> None:
        """Begin; connections of this moment are the harness's own."""
        self._before = {each.port for each in self._peers(self._port)}
        self._thread = threading.Thread(target=self._run, name="port watch", daemon=True)
        self._thread.start()

    async def report(self, found: Callable[[IntegrityCode, bool, str], None]) -> None:
        """End, and call `found` if unknown clients connected."""
        strangers = await asyncio.to_thread(self.disarm)
        if strangers:
            detail = f"connections to the browser's own port: {strangers}"
            found(IntegrityCode.DEBUGGING_PORT, False, detail)  # nothing has blocked it

    def disarm(self) -> int:
        """End, and return the number of connections from unknown clients."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
            self._look()
        return len(self._strangers)

    def _look(self) -> None:
        seen = (each for each in self._peers(self._port) if each.port not in self._before)
        self._strangers |= {each.port for each in seen if not self._own.has(each)}

    def _run(self) -> None:
        looked, over = time.monotonic(), False
        while not over:
            over = self._stop.wait(_EVERY_S)
            self._look()
            looked, before = time.monotonic(), looked
            self.missed |= looked - before > _GAP_S


def peers_of(port: int) -> set[Peer]:
    """Return the other ends of all connections to `port` on this machine's loopback."""
    found: dict[int, Peer] = {}
    written = (
        f":{port:04X} "  # a busy machine has thousands of rows, and few of them are the port's
    )
    for table in _TABLES:
        try:
            rows = (_PROC / table).read_text("ascii").splitlines()
        except OSError:
            continue
        now, hertz = time.monotonic(), os.sysconf("SC_CLK_TCK")
        for fields in (row.split() for row in rows if written in row):
            here, there = (int(each.rpartition(":")[2], 16) for each in fields[1:3])
            if fields[3] == _LISTENING or port not in (here, there) or not _is_loopback(fields[1]):
                continue
            # each connection has a row for either end, of which the one that closed first stays longer
            timer, left = fields[5].split(":")
            closed = now - _WAIT_S + int(left, 16) / hertz if timer == _WAITING else None
            if there == port:
                found[here] = Peer(here, int(fields[9]), closed)
            else:
                found.setdefault(there, Peer(there, 0, closed))
    return set(found.values())


def _is_loopback(address: str) -> bool:
    """Whether a table's address is 127.0.0.0/8, as such or inside IPv6."""
    host = address.partition(":")[0]
    return host[-2:] == "7F" and set(host[:-8]) <= {"0", "F"}
