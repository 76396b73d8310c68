"""The built-in world: local apps with REAL's protocol, for demos, tests and authors of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from multireal_harness.world.builtin import BuiltInWorld
    from multireal_harness.world.launch import built_in_world
    from multireal_harness.world.solutions_file import Solution, load_solutions

__all__ = [
    "BuiltInWorld",
    "Solution",
    "built_in_world",
    "load_solutions",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "builtin": ("BuiltInWorld",),
        "launch": ("built_in_world",),
        "solutions_file": ("Solution", "load_solutions"),
    },
)
