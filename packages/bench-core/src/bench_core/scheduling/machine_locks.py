"""Resources held against other processes on the same machine, without blocking the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from bench_core.files.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench_core.records import Resource

# a lock file does not tell when it is released, so it is tried at growing intervals
_FIRST_POLL_S = 0.02
_LONGEST_POLL_S = 0.1


class Held(Protocol):
    """Resources that are held."""

    def release(self) -> None:
        """Give them back; safe to call twice."""
        ...

    def when_lost(self, call: Callable[[], object]) -> None:
        """Call `call`, in the event loop, if they are lost before they are given back."""
        ...


class MachineLocks(Protocol):
    """Holds resources against all other users."""

    async def acquire(
        self, resources: Sequence[Resource], on_wait: Callable[[Resource], None]
    ) -> Held:
        """Wait until all `resources` are held; call `on_wait` once for each that is not free."""
        ...


class NoLocks:
    """Holds nothing: for runs whose resources no other process can reach."""

    async def acquire(
        self, resources: Sequence[Resource], on_wait: Callable[[Resource], None]
    ) -> Held:
        """Return at once."""
        del resources, on_wait
        return _HeldFiles([])


class FileLocks:
    """Holds a lock file per resource, one after the other in the order of their names.

    All processes take them in this order, so they cannot wait for each other in a circle.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    async def acquire(
        self, resources: Sequence[Resource], on_wait: Callable[[Resource], None]
    ) -> Held:
        """Wait until all `resources` are held; call `on_wait` once for each that is not free."""
        locks: list[FileLock] = []
        held = _HeldFiles(locks)
        try:
            # in one order in all processes, so that no two wait for each other
            for resource in sorted(resources, key=lambda each: each.name):
                locks.append(FileLock.for_resource(resource.name, self._folder))
                await _wait_for(locks[-1], resource, on_wait)
        except BaseException:
            held.release()
            raise
        return held


class _HeldFiles:
    def __init__(self, locks: list[FileLock]) -> None:
        self._locks = locks

    def release(self) -> None:
        for lock in reversed(self._locks):
            lock.release()

    def when_lost(self, call: Callable[[], object]) -> None:
        """Do nothing: the system takes no lock away."""


async def _wait_for(
    lock: FileLock, resource: Resource, on_wait: Callable[[Resource], None]
) -> None:
    shared = resource.mode == "shared"
    if lock.try_acquire(shared=shared):
        return
    on_wait(resource)
    # A lock on a file cannot be awaited, and a thread for each waiting trial costs more.
    poll_s = _FIRST_POLL_S
    while not lock.try_acquire(shared=shared):
        await asyncio.sleep(poll_s)
        poll_s = min(_LONGEST_POLL_S, poll_s * 1.5)
