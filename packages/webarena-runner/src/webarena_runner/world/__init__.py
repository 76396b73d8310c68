"""Stand-in sites on which real WebArena-Verified task ids are completed in a real browser."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webarena_runner.world.builtin import BuiltInWorld
    from webarena_runner.world.scripts import demo_task_ids, script_for, scripted_task_ids

__all__ = ["BuiltInWorld", "demo_task_ids", "script_for", "scripted_task_ids"]

_HOME_OF = {
    "BuiltInWorld": "webarena_runner.world.builtin",
    "demo_task_ids": "webarena_runner.world.scripts",
    "script_for": "webarena_runner.world.scripts",
    "scripted_task_ids": "webarena_runner.world.scripts",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
