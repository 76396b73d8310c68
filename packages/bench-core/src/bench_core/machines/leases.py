"""Leases: the holders of machines, each until its lease runs out unless renewed.

An owner has one lease for all its machines, renewed by a thread. It lives while the lease does, and on
its own computer as long as its process runs: a laptop that slept must not lose its machines to the
first reaper that wakes up.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import threading
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError
from typing_extensions import Self

from bench_core.closing import Closing
from bench_core.files import folder_name, write_atomic
from bench_core.machines.records import Lease
from bench_core.process_table import namespace, start_token
from bench_core.scheduling import Clock, SystemClock

# two computers may have one name, and share the folder
_BOOT = Path("/proc/sys/kernel/random/boot_id")
DEFAULT_TTL_S = 120.0
"""How long an owner on another computer is believed to live without a word."""


class Leases:
    """The leases in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "leases"
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, lease: Lease) -> None:
        """Put a lease on the disk in place of the owner's last one."""
        write_atomic(self._path(lease.owner), lease.model_dump_json().encode())

    def read(self, owner: str) -> Lease | None:
        """Return the owner's lease; None if it gave it up or never had one."""
        try:
            return Lease.model_validate_json(self._path(owner).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def remove(self, owner: str) -> None:
        """End a lease at once."""
        self._path(owner).unlink(missing_ok=True)

    def lives(self, owner: str, now: datetime, grace_s: float = 0.0) -> bool:
        """Return whether `owner` may still be at work; in doubt it is, until its lease has run out."""
        lease = self.read(owner)
        if lease is None:
            return False
        if lease.pid is not None and lease.host == this_host():
            running = start_token(lease.pid)
            # Without a token (Windows) only the lease says anything.
            if lease.started is not None:
                return running == lease.started
        return now < lease.until + timedelta(seconds=grace_s)

    def sweep(self, held: frozenset[str], now: datetime, grace_s: float) -> None:
        """Remove the leases of owners that are gone and hold no machine."""
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, ValidationError):
                owner = Lease.model_validate_json(path.read_bytes()).owner
                if owner not in held and not self.lives(owner, now, grace_s):
                    path.unlink(missing_ok=True)

    def _path(self, owner: str) -> Path:
        return self._folder / f"{folder_name(owner)}.json"


class Owner(Closing):
    """One holder of machines.

    Args:
        leases: Store of its lease.
        name: Its name; by default drawn, with the host and process in it.
        ttl_s: Seconds for which a lease is good without being renewed.
        detached: The machines outlive this process, until the lease runs out.
        clock: Gives the time.

    Example:
        `with Owner(Leases(folder)) as owner: provider = JournaledProvider(backend, folder, owner)`
    """

    def __init__(
        self,
        leases: Leases,
        name: str | None = None,
        *,
        ttl_s: float = DEFAULT_TTL_S,
        detached: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.name = name or f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._leases = leases
        self._ttl_s = ttl_s
        self._detached = detached
        self._clock = clock or SystemClock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def renew(self) -> Lease:
        """Hold the machines for another `ttl_s` seconds from now."""
        lease = Lease(
            owner=self.name,
            until=self._clock.now() + timedelta(seconds=self._ttl_s),
            ttl_s=self._ttl_s,
            pid=None if self._detached else os.getpid(),
            started=None if self._detached else start_token(os.getpid()),
            host=this_host(),
        )
        self._leases.write(lease)
        return lease

    def keep_renewing(self) -> None:
        """Renew three times per `ttl_s` from now on, in a thread: a busy event loop loses nothing."""
        self.renew()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="machine-lease", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop renewing; give the machines up at once unless they outlive this process."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if not self._detached:
            self._leases.remove(self.name)

    def __enter__(self) -> Self:
        self.keep_renewing()
        return self

    def _run(self) -> None:
        while not self._ended.wait(self._ttl_s / 3):
            # a full disk may be free again at the next beat, before the lease has run out
            with contextlib.suppress(OSError):
                self.renew()


def this_host() -> str:
    """Return an id of this computer since its start, and the process ids of its containers."""
    try:
        boot = _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{platform.node()}/{boot}/{namespace()}"
