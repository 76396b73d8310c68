"""Running many trials at once: resources, deadlines, retries, budgets, interruption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

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

__getattr__ = lazy_exports(
    __name__,
    {
        "backoff": ("Backoff",),
        "clocks": ("Clock", "SystemClock"),
        "machine_locks": ("FileLocks", "MachineLocks", "NoLocks"),
        "resources": ("Claim", "ResourceQueue"),
        "runner": ("Sink",),
        "scheduler": ("Policy", "Scheduler"),
    },
)
