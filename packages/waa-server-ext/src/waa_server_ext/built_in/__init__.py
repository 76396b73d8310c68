"""The built-in world: the simulated desktop with its tasks, their solutions and a server that scores them."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from bench_core.errors import MissingExtraError
from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.built_in.solutions import Solution
    from waa_server_ext.built_in.world import SimulatedDesktopWorld, built_in_tasks

__all__ = [
    "SimulatedDesktopWorld",
    "Solution",
    "built_in_tasks",
]

# named here once, before any module of the world fails to import the first of them
for _module in ("numpy", "PIL", "rapidfuzz", "yaml"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError("the simulated desktop", _module, "waa-server-ext", "simulate")

__getattr__ = lazy_exports(
    __name__,
    {
        "solutions": ("Solution",),
        "world": ("SimulatedDesktopWorld", "built_in_tasks"),
    },
)
