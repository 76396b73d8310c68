"""Run and score agents on Windows Agent Arena from any machine.

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports
from waa_client.__about__ import __version__

if TYPE_CHECKING:
    from waa_client.benchmark import WaaBenchmark
    from waa_client.options import WaaRunOptions, WaaTaskOptions
    from waa_client.runs import run
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

__getattr__ = lazy_exports(
    __name__,
    {
        "benchmark": ("WaaBenchmark",),
        "options": ("WaaRunOptions", "WaaTaskOptions"),
        "runs": ("run",),
        "tasks": ("TaskQuery", "load_tasks", "resolve_task_id", "select_tasks"),
        "vm": ("SyncVmClient", "VmClient", "VmOptions"),
    },
)
