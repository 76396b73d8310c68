"""Sees who connects to Chromium's own debugging port past the gateway.

The port can be found by whoever looks through the ports of this machine, and nothing can refuse a
connection there. The system's table of connections shows them, for a minute after they were closed, too.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from bench_core.records.integrity import IntegrityCode

_TABLES = ("net/tcp", "net/tcp6")
_PROC = Path("/proc/self")
_LISTENING = "0A"
# a connection that is reset leaves nothing in the table
_EVERY_S = 0.25
_GAP_S = 5.0
"""Longer between two looks, and a connection may have come and gone unseen: the run was stopped, say."""


class PortWatch:
    """Collects the connections to a port of this machine from `arm` to `disarm`.

    Where the system has no table of connections (anything but Linux), it sees none.

    Args:
        port: Chromium's.
        own: The local ports that the gateway has used so far.
        peers: Returns the other ends of the connections to the port.

    Attributes:
        missed: Whether there was a time at which it did not look.
    """

    def __init__(
        self,
        port: int,
        own: Callable[[], Collection[int]],
        peers: Callable[[int], set[int]] | None = None,
    ) -> None:
        self._port, self._own, self._peers = port, own, peers or peers_of
        self.missed = False
        self._before: set[int] = set()
        self._seen: set[int] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def arm(self) -> None:
        """Begin: whoever is connected now is the harness itself."""
        self._before = self._peers(self._port)
        self._thread = threading.Thread(target=self._run, name="port watch", daemon=True)
        self._thread.start()

    async def report(self, found: Callable[[IntegrityCode, bool, str], None]) -> None:
        """End, and call `found` where connections were no one's that may connect."""
        strangers = await asyncio.to_thread(self.disarm)
        if strangers:
            detail = f"connections to the browser's own port: {strangers}"
            found(IntegrityCode.DEBUGGING_PORT, False, detail)  # nothing has blocked it

    def disarm(self) -> int:
        """End, and return how many connections were no one's that may connect."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
            self._seen |= self._peers(self._port)
        return len(self._seen - self._before - set(self._own()))

    def _run(self) -> None:
        looked, over = time.monotonic(), False
        while not over:
            over = self._stop.wait(_EVERY_S)
            self._seen |= self._peers(self._port)
            looked, before = time.monotonic(), looked
            self.missed |= looked - before > _GAP_S


def peers_of(port: int) -> set[int]:
    """Return the ports at the other ends of all connections to `port` on this machine's loopback."""
    found = set()
    for table in _TABLES:
        try:
            lines = (_PROC / table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING:
                continue
            here, there = (int(each.rpartition(":")[2], 16) for each in fields[1:3])
            # each connection has a row for either end, of which the one that closed first stays longer
            if port in (here, there) and _is_loopback(fields[1]):
                found.add(there if here == port else here)
    return found


def _is_loopback(address: str) -> bool:
    """Whether a table's address is 127.0.0.0/8, as such or inside IPv6."""
    host = address.partition(":")[0]
    return host[-2:] == "7F" and set(host[:-8]) <= {"0", "F"}
