"""How a stand-in for a VM identifies itself: in the answer to `GET /probe`, which every client requests.

WAA's own server does not know the field, so an answer without it is a real VM's.
"""

from __future__ import annotations

from bench_core.records import World
from waa_server_ext.vm.client import VmResponse

PROBE = {
    "status": "Probe successful",
    "message": "Service is operational",
    "world": "built-in",
}
"""A stand-in's answer to `GET /probe`: that of WAA's server, and its world."""


def world_of(probe: VmResponse) -> World:
    """Return the world of the VM that gave this answer to `GET /probe`."""
    try:
        answer = probe.json()
    except (ValueError, RecursionError):
        return "real"
    world = answer.get("world") if isinstance(answer, dict) else None
    return "built-in" if world == PROBE["world"] else "real"
