"""Run and score agents on Windows Agent Arena from anywhere.

Names load lazily.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from waa_client.__about__ import __version__

if TYPE_CHECKING:
    from waa_client.benchmark import WaaBenchmark
    from waa_client.running import WaaRunOptions, WaaTaskOptions, run
    from waa_client.tasks import TaskQuery, load_tasks, resolve_task_id, select_tasks
    from waa_client.vm import SyncVmClient, VmClient, VmOptions

__all__ = [
    "SyncVmClient",
    "TaskQuery",
    "VmClient",
    "VmOptions",
    "WaaBenchmark",
    "WaaRunOptions",
    "WaaTaskOptions",
    "__version__",
    "load_tasks",
    "resolve_task_id",
    "run",
    "select_tasks",
]

_HOMES = {
    "benchmark": ("WaaBenchmark",),
    "running": ("WaaRunOptions", "WaaTaskOptions", "run"),
    "tasks": ("TaskQuery", "load_tasks", "resolve_task_id", "select_tasks"),
    "vm": ("SyncVmClient", "VmClient", "VmOptions"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
