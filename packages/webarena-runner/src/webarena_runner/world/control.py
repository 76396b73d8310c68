"""A loopback endpoint by which another process resets sites and switches faults on."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, cast

from webarena_runner.world.faults import FAULTS
from webarena_runner.world.messages import Request, Response, json_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench_core.fault_switches import FaultSwitches
    from webarena_runner.world.faults import FaultKind
    from webarena_runner.world.site import Site

__all__ = ["ControlEndpoint"]


class ControlledWorld(Protocol):
    """The parts of a world that the endpoint uses; `BuiltInWorld` has them."""

    sites: dict[str, Site]

    @property
    def urls(self) -> Mapping[str, str]:
        """The URL of each site."""

    @property
    def faults(self) -> Mapping[str, FaultSwitches[FaultKind]]:
        """The fault switches of each site."""

    def reset(self, sites: Iterable[str] | None = None) -> None:
        """Reset the state of `sites` to the initial one of every trial."""


class ControlEndpoint:
    """Answers `GET /` and `POST /reset`, `/expire`, `/faults`, `/clear-faults`, all in JSON.

    Bodies name the sites: `{"sites": ["gitlab"]}`, all when absent; `/faults` also takes `kind`,
    `path` and `times`. Every path begins with a token, so that only who was given the whole URL is
    answered; pages are not, whatever they know.
    """

    def __init__(self, world: ControlledWorld) -> None:
        self._world = world
        self._token = secrets.token_urlsafe(24)
        self.refused = 0

    @property
    def prefix(self) -> str:
        """What every path begins with."""
        return f"/{self._token}"

    def handle(self, request: Request) -> Response:
        """Carry out a command and return the URLs of the sites."""
        if not self._may_ask(request):
            self.refused += 1
            return json_response({"error": "not for you"}, HTTPStatus.FORBIDDEN)
        return self._answer(request, request.path.removeprefix(self.prefix) or "/")

    def _may_ask(self, request: Request) -> bool:
        """Whether a request has the token and is no page's."""
        given = request.path.split("/")[1] if "/" in request.path else ""
        known = secrets.compare_digest(given.encode(), self._token.encode())
        # a browser says which page asks; who was given the URL is no page
        asked_by_page = "origin" in request.headers or "sec-fetch-site" in request.headers
        return known and not asked_by_page

    def _answer(self, request: Request, path: str) -> Response:
        command = request.json if isinstance(request.json, dict) else {}
        sites = command.get("sites") or list(self._world.sites)
        unknown = sorted(set(sites) - set(self._world.sites))
        if unknown:
            return json_response({"error": f"unknown sites {unknown}"}, HTTPStatus.BAD_REQUEST)
        if request.method == "POST" and not self._carry_out(path, sites, command):
            return json_response({"error": f"cannot do {path}"}, HTTPStatus.BAD_REQUEST)
        return json_response({"sites": self._world.urls})

    def _carry_out(self, path: str, sites: list[str], command: dict[str, object]) -> bool:
        if path == "/reset":
            self._world.reset(sites)
        elif path == "/expire":
            for name in sites:
                self._world.sites[name].expire_sessions()
        elif path == "/clear-faults":
            for name in sites:
                self._world.faults[name].clear()
        elif path == "/faults" and command.get("kind") in FAULTS:
            self._switch_on(sites, command)
        else:
            return False
        return True

    def _switch_on(self, sites: list[str], command: dict[str, object]) -> None:
        times = command.get("times")
        for name in sites:
            self._world.faults[name].switch_on(
                cast("FaultKind", command["kind"]),
                str(command.get("path", "/")),
                times if isinstance(times, int) else None,
            )
