"""How a VM that is none says so: in the answer to `GET /probe`, which every client asks for.

WAA's own server knows nothing of it, so an answer without the field is a real VM's.
"""

from __future__ import annotations

from bench_core.records import World
from waa_server_ext.vm.client import VmResponse

PROBE = {
    "status": "Probe successful",
    "message": "Service is operational",
    "world": "built-in",
}
"""What a stand-in answers to `GET /probe`: what WAA's server does, and its world."""


def world_of(probe: VmResponse) -> World:
    """Return the world of the VM that answered `GET /probe` so."""
    try:
        answer = probe.json()
    except (ValueError, RecursionError):
        return "real"
    world = answer.get("world") if isinstance(answer, dict) else None
    return "built-in" if world == PROBE["world"] else "real"
