"""The built-in world: the simulated desktop with its tasks, their solutions and a server that scores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.built_in.solutions import Solution
    from waa_server_ext.built_in.world import SimulatedDesktopWorld, built_in_tasks

__all__ = [
    "SimulatedDesktopWorld",
    "Solution",
    "built_in_tasks",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "solutions": ("Solution",),
        "world": ("SimulatedDesktopWorld", "built_in_tasks"),
    },
)
