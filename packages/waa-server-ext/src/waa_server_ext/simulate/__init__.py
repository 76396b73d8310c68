"""A small simulated Windows desktop that speaks the API of WAA's VM: pixels, tree, input, state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.simulate.api.simulated_vm import SimulatedVm
    from waa_server_ext.simulate.desktop.recorder import Recorder
    from waa_server_ext.simulate.scene import Scene, load_scene, snapshot

__all__ = [
    "Recorder",
    "Scene",
    "SimulatedVm",
    "load_scene",
    "snapshot",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "api.simulated_vm": ("SimulatedVm",),
        "desktop.recorder": ("Recorder",),
        "scene": ("Scene", "load_scene", "snapshot"),
    },
)
