"""Running many trials at once: resources, deadlines, retries, budgets, interruption."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.scheduling.backoff import Backoff
    from bench_core.scheduling.clocks import Clock, SystemClock
    from bench_core.scheduling.machine_locks import FileLocks, MachineLocks, NoLocks
    from bench_core.scheduling.resources import Claim, ResourceQueue
    from bench_core.scheduling.runner import Sink
    from bench_core.scheduling.scheduler import Policy, Scheduler

__all__ = [
    "Backoff",
    "Claim",
    "Clock",
    "FileLocks",
    "MachineLocks",
    "NoLocks",
    "Policy",
    "ResourceQueue",
    "Scheduler",
    "Sink",
    "SystemClock",
]

_HOME_OF = {
    "Backoff": "backoff",
    "Claim": "resources",
    "Clock": "clocks",
    "FileLocks": "machine_locks",
    "MachineLocks": "machine_locks",
    "NoLocks": "machine_locks",
    "Policy": "scheduler",
    "ResourceQueue": "resources",
    "Scheduler": "scheduler",
    "Sink": "runner",
    "SystemClock": "clocks",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
