"""The built-in world: four local apps with REAL's protocol, and tasks on them."""

from __future__ import annotations

import time
from collections.abc import Iterable

from bench_core.protocols import WorldInfo
from multireal_harness.world.clones import APPS
from multireal_harness.world.faults import FaultKind
from multireal_harness.world.server import CloneServer


class BuiltInWorld:
    """Servers of the apps, each on a port of its own, in threads, so that no event loop is needed.

    Args:
        apps: Names of the apps to serve.
    """

    name = "multireal"

    def __init__(self, apps: Iterable[str] = APPS) -> None:
        self._apps = tuple(apps)
        self._servers: dict[str, CloneServer] = {}

    @property
    def urls(self) -> dict[str, str]:
        """The origin of each app."""
        return {app: server.origin for app, server in self._servers.items()}

    async def start(self) -> WorldInfo:
        """Start the apps."""
        began = time.monotonic()
        self.open()
        return WorldInfo(name=self.name, urls=self.urls, startup_s=time.monotonic() - began)

    async def stop(self) -> None:
        """Stop the apps; safe to call twice."""
        self.close()

    def open(self) -> None:
        """Start the servers; the blocking part of `start`."""
        for app in self._apps:
            if app not in self._servers:
                self._servers[app] = CloneServer(app)
                self._servers[app].start()

    def close(self) -> None:
        """Stop the servers; the blocking part of `stop`."""
        while self._servers:
            _, server = self._servers.popitem()
            server.stop()

    def fail(
        self, app: str, kind: FaultKind, path: str = "/", times: int | None = None, value: float = 0
    ) -> None:
        """Make an app misbehave; see `multireal_harness.world.faults`."""
        self._servers[app].faults.switch_on(kind, path, times, value)

    def mend(self) -> None:
        """Make all apps work again."""
        for server in self._servers.values():
            server.faults.clear()
