"""Routes that control a simulation, all below `/simulation`; a real VM does not have them.

They act on the simulation rather than on its desktop, so its clock does not move. Sharing one prefix lets one
rule decide who may call them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, request


def control_routes(reset: Callable[[], None]) -> Blueprint:
    """Return the routes: `POST /simulation/reset` puts the desktop back to its scene.

    `keep` marks the current state, and `restore` returns to the mark, or to the start if there is none. The file from
    which a desktop's process is rebuilt does both, so they only answer here.
    """
    routes = Blueprint("simulation", __name__, url_prefix="/simulation")
    routes.before_request(_refuse_forms)

    @routes.post("/reset")
    def reset_desktop() -> dict[str, Any]:
        reset()
        return {"status": "success"}

    @routes.post("/keep")
    @routes.post("/restore")
    def marked() -> dict[str, Any]:
        return {"status": "success"}

    return routes


def _refuse_forms() -> None:
    """Demand JSON, which a web page of another origin cannot send unasked."""
    request.get_json()
