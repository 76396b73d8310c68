"""The worlds of runs: VMs of the user's, or a simulated desktop for each trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_client.world.launch import BuiltInDesktops, Found, built_in_world, look_around

__all__ = [
    "BuiltInDesktops",
    "Found",
    "built_in_world",
    "look_around",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "launch": ("BuiltInDesktops", "Found", "built_in_world", "look_around"),
    },
)
