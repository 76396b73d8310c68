"""The built-in world: stand-in sites for real WebArena-Verified task ids, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from webarena_runner.world.builtin import BuiltInWorld
    from webarena_runner.world.launch import (
        Environment,
        WorldReset,
        built_in_world,
        environment_of,
        real_environment,
        with_resets,
    )
    from webarena_runner.world.scripts import demo_task_ids, script_for, scripted_task_ids

__all__ = [
    "BuiltInWorld",
    "Environment",
    "WorldReset",
    "built_in_world",
    "demo_task_ids",
    "environment_of",
    "real_environment",
    "script_for",
    "scripted_task_ids",
    "with_resets",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "builtin": ("BuiltInWorld",),
        "launch": (
            "Environment",
            "WorldReset",
            "built_in_world",
            "environment_of",
            "real_environment",
            "with_resets",
        ),
        "scripts": ("demo_task_ids", "script_for", "scripted_task_ids"),
    },
)
