"""The built-in world: every stand-in site on a port of its own, started and stopped together."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from bench_core.fault_switches import FaultSwitches
from bench_core.protocols import WorldInfo
from webarena_runner.unserved import Served
from webarena_runner.world.messages import Request, Response, json_response
from webarena_runner.world.server import FAULTS, FaultKind, SiteServer
from webarena_runner.world.site import SiteAccount, StandInSite
from webarena_runner.world.sites.gitlab import GitLab
from webarena_runner.world.sites.map import Map
from webarena_runner.world.sites.reddit import Reddit
from webarena_runner.world.sites.shopping import Shopping
from webarena_runner.world.sites.shopping_admin import ShoppingAdmin

_SITES: tuple[type[StandInSite], ...] = (Shopping, ShoppingAdmin, Reddit, GitLab, Map)


class BuiltInWorld:
    """Stand-ins for the sites of WebArena-Verified, on loopback and on hosts of their own.

    Example:
        >>> import asyncio
        >>> from webarena_runner.world import BuiltInWorld
        >>> async def main():
        ...     world = BuiltInWorld()
        ...     info = await world.start()
        ...     try:
        ...         return sorted(info.urls)
        ...     finally:
        ...         await world.stop()
        >>> asyncio.run(main())
        ['gitlab', 'map', 'reddit', 'shopping', 'shopping_admin']
    """

    name = "webarena"

    def __init__(self) -> None:
        self.sites: dict[str, StandInSite] = {}
        self._servers: dict[str, SiteServer] = {}
        self._control: SiteServer | None = None
        self._prefix = ""

    async def start(self) -> WorldInfo:
        """Start every site with fresh state and return their URLs."""
        began = time.perf_counter()
        if not self._servers:
            await asyncio.to_thread(self._start)
        return WorldInfo(name=self.name, urls=self.urls, startup_s=time.perf_counter() - began)

    async def stop(self) -> None:
        """Stop every site; safe to call twice."""
        servers = [*self._servers.values(), *([self._control] if self._control else [])]
        self._servers, self._control = {}, None
        for each in servers:
            await asyncio.to_thread(each.stop)

    @property
    def urls(self) -> dict[str, str]:
        """The URL of each site, with `/admin` for the back office."""
        return {
            name: server.origin + self.sites[name].entry for name, server in self._servers.items()
        }

    @property
    def accounts(self) -> dict[str, SiteAccount]:
        """The account of each site for its tasks."""
        return {name: site.account for name, site in self.sites.items()}

    @property
    def control_url(self) -> str:
        """The URL at which other processes reset sites, expire sessions and switch faults on.

        It holds a token: give it to no agent.
        """
        if self._control is None:
            raise RuntimeError("the world is not started")
        return self._control.origin + self._prefix

    @property
    def faults(self) -> dict[str, FaultSwitches[FaultKind]]:
        """The fault switches of each site."""
        return {name: server.faults for name, server in self._servers.items()}

    def served_since(self, moment: float) -> set[Served]:
        """Return every answer of a site since a `moment` of `time.monotonic`."""
        return set[Served]().union(*(each.served_since(moment) for each in self._servers.values()))

    def reset(self, sites: Iterable[str] | None = None) -> None:
        """Reset the state of `sites` (all by default) to the initial one of every trial."""
        for name in self.sites if sites is None else sites:
            self.sites[name].reset()

    def _start(self) -> None:
        self.sites = {each.name: each() for each in _SITES}
        for name, site in self.sites.items():
            self._servers[name] = SiteServer(site, site.hostname)
        endpoint = _ControlEndpoint(self)
        self._prefix = endpoint.prefix
        self._control = SiteServer(endpoint, "127.0.0.1")
        for server in (*self._servers.values(), self._control):
            server.start()


class _ControlEndpoint:
    """Answers `GET /` and `POST /reset`, `/expire`, `/faults`, `/clear-faults`, all in JSON.

    Bodies name the sites: `{"sites": ["gitlab"]}`, all when absent; `/faults` also takes `kind`,
    `path` and `times`. Every path begins with a token, so only holders of the whole URL are
    answered; pages are refused even with the token.
    """

    def __init__(self, world: BuiltInWorld) -> None:
        self._world = world
        self._token = secrets.token_urlsafe(24)

    @property
    def prefix(self) -> str:
        """The prefix of every path."""
        return f"/{self._token}"

    def handle(self, request: Request) -> Response:
        """Carry out a command and return the URLs of the sites."""
        given = request.path.split("/")[1] if "/" in request.path else ""
        known = secrets.compare_digest(given.encode(), self._token.encode())
        # a browser says which page asks; a client that was given the URL is not a page
        if not known or "origin" in request.headers or "sec-fetch-site" in request.headers:
            return json_response({"error": "not for you"}, HTTPStatus.FORBIDDEN)
        path = request.path.removeprefix(self.prefix) or "/"
        command = request.json if isinstance(request.json, dict) else {}
        sites = command.get("sites") or list(self._world.sites)
        unknown = sorted(set(sites) - set(self._world.sites))
        if unknown:
            return json_response({"error": f"unknown sites {unknown}"}, HTTPStatus.BAD_REQUEST)
        if request.method == "POST" and not self._carry_out(path, sites, command):
            return json_response({"error": f"cannot do {path}"}, HTTPStatus.BAD_REQUEST)
        return json_response({"sites": self._world.urls})

    def _carry_out(self, path: str, sites: list[str], command: dict[str, Any]) -> bool:
        known = path in {"/reset", "/expire", "/clear-faults"}
        if not known and not (path == "/faults" and command.get("kind") in FAULTS):
            return False
        for name in sites:
            faults = self._world.faults[name]
            if path == "/reset":
                self._world.reset([name])
            elif path == "/expire":
                self._world.sites[name].expire_sessions()
            elif path == "/clear-faults":
                faults.clear()
            else:
                times, where = command.get("times"), str(command.get("path", "/"))
                faults.switch_on(command["kind"], where, times if isinstance(times, int) else None)
        return True
