"""Local apps that speak REAL's protocol: a world for demos, tests and authors of agents."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multireal_harness.world.builtin import BuiltInWorld
    from multireal_harness.world.solutions_file import Solution, load_solutions

__all__ = ["BuiltInWorld", "Solution", "load_solutions"]

_HOMES = {"builtin": ("BuiltInWorld",), "solutions_file": ("Solution", "load_solutions")}
_HOME_OF = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
