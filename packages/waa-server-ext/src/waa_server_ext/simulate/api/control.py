"""Routes that control a simulation, all below `/simulation`: no real VM has them.

They act on the simulation and not on the desktop in it, so time on it does not move, and who may call
them is decided for all of them in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, request


def control_routes(reset: Callable[[], None]) -> Blueprint:
    """Return the routes: `POST /simulation/reset` puts the desktop back to its scene.

    `keep` marks how everything is, and `restore` puts everything back to that, or to the start; what a desktop's process
    is made from again does both.
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
