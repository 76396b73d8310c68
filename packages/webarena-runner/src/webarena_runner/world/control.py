"""A loopback endpoint by which another process resets sites and switches faults on."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from webarena_runner.world.faults import FAULTS
from webarena_runner.world.messages import Request, Response, json_response

if TYPE_CHECKING:
    from webarena_runner.world.builtin import BuiltInWorld
    from webarena_runner.world.faults import FaultKind

__all__ = ["ControlDesk"]


class ControlDesk:
    """Answers `GET /` and `POST /reset`, `/expire`, `/faults`, `/clear-faults`, all in JSON.

    Bodies name the sites: `{"sites": ["gitlab"]}`, all when absent; `/faults` also takes `kind`,
    `path` and `times`.
    """

    def __init__(self, world: BuiltInWorld) -> None:
        self._world = world

    def handle(self, request: Request) -> Response:
        """Do what was asked for and say where the sites are."""
        order = request.json if isinstance(request.json, dict) else {}
        sites = order.get("sites") or list(self._world.sites)
        unknown = sorted(set(sites) - set(self._world.sites))
        if unknown:
            return json_response({"error": f"unknown sites {unknown}"}, HTTPStatus.BAD_REQUEST)
        if request.method == "POST" and not self._obey(request.path, sites, order):
            return json_response({"error": f"cannot do {request.path}"}, HTTPStatus.BAD_REQUEST)
        return json_response({"sites": self._world.urls})

    def _obey(self, path: str, sites: list[str], order: dict[str, object]) -> bool:
        if path == "/reset":
            self._world.reset(sites)
        elif path == "/expire":
            for name in sites:
                self._world.sites[name].expire_sessions()
        elif path == "/clear-faults":
            for name in sites:
                self._world.faults[name].clear()
        elif path == "/faults" and order.get("kind") in FAULTS:
            self._switch_on(sites, order)
        else:
            return False
        return True

    def _switch_on(self, sites: list[str], order: dict[str, object]) -> None:
        times = order.get("times")
        for name in sites:
            self._world.faults[name].switch_on(
                cast("FaultKind", order["kind"]),
                str(order.get("path", "/")),
                times if isinstance(times, int) else None,
            )
