"""Workers: processes, on this machine or others, that run attempts for the scheduler of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.workers.attempt import WorkerLimits, WorkerLostError
    from bench_core.workers.executor import WorkerExecutor
    from bench_core.workers.placement import Bindings, NodeRoom, Placement
    from bench_core.workers.process import PipeTransport, WorkerProcess
    from bench_core.workers.recipe import Recipe
    from bench_core.workers.transport import Link, Transport

__all__ = [
    "Bindings",
    "Link",
    "NodeRoom",
    "PipeTransport",
    "Placement",
    "Recipe",
    "Transport",
    "WorkerExecutor",
    "WorkerLimits",
    "WorkerLostError",
    "WorkerProcess",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "attempt": ("WorkerLimits", "WorkerLostError"),
        "executor": ("WorkerExecutor",),
        "placement": ("Bindings", "NodeRoom", "Placement"),
        "process": ("PipeTransport", "WorkerProcess"),
        "recipe": ("Recipe",),
        "transport": ("Link", "Transport"),
    },
)
