"""A loopback endpoint by which another process resets sites and switches faults on."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from webarena_runner.world.messages import Request, Response, json_response
from webarena_runner.world.server import FAULTS

if TYPE_CHECKING:
    from webarena_runner.world.builtin import BuiltInWorld

__all__ = ["ControlEndpoint"]


class ControlEndpoint:
    """Answers `GET /` and `POST /reset`, `/expire`, `/faults`, `/clear-faults`, all in JSON.

    Bodies name the sites: `{"sites": ["gitlab"]}`, all when absent; `/faults` also takes `kind`,
    `path` and `times`. Every path begins with a token, so that only who was given the whole URL is
    answered; pages are not, whatever they know.
    """

    def __init__(self, world: BuiltInWorld) -> None:
        self._world = world
        self._token = secrets.token_urlsafe(24)

    @property
    def prefix(self) -> str:
        """What every path begins with."""
        return f"/{self._token}"

    def handle(self, request: Request) -> Response:
        """Carry out a command and return the URLs of the sites."""
        given = request.path.split("/")[1] if "/" in request.path else ""
        known = secrets.compare_digest(given.encode(), self._token.encode())
        # a browser says which page asks; who was given the URL is no page
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
