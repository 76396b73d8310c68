"""A small simulated Windows desktop that speaks the API of WAA's VM: pixels, tree, input, state."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waa_server_ext.simulate.recorder import Recorder
    from waa_server_ext.simulate.scene import Scene, load_scene, snapshot
    from waa_server_ext.simulate.simulated_vm import SimulatedVm
    from waa_server_ext.simulate.solutions import Solution
    from waa_server_ext.simulate.world import SimulatedDesktopWorld

__all__ = [
    "Recorder",
    "Scene",
    "SimulatedDesktopWorld",
    "SimulatedVm",
    "Solution",
    "load_scene",
    "snapshot",
]

_HOME_OF = {
    "Recorder": "recorder",
    "Scene": "scene",
    "SimulatedDesktopWorld": "world",
    "SimulatedVm": "simulated_vm",
    "Solution": "solutions",
    "load_scene": "scene",
    "snapshot": "scene",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
