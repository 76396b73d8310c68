"""Records, run folders, scheduling and protocols that Proctor's packages share.

Names are re-exported lazily: `import bench_core` loads no heavy library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bench_core.__about__ import __version__

if TYPE_CHECKING:
    from bench_core.errors import BenchError
    from bench_core.protocols import Agent, Judge, Reporter, TrialContext, World
    from bench_core.records import Check, Status, Step, Task, TrialKey, TrialResult, Usage
    from bench_core.trial import Benchmark, Evaluation, Evidence, TrialEnvironment

__all__ = [
    "Agent",
    "BenchError",
    "Benchmark",
    "Check",
    "Evaluation",
    "Evidence",
    "Judge",
    "Reporter",
    "Status",
    "Step",
    "Task",
    "TrialContext",
    "TrialEnvironment",
    "TrialKey",
    "TrialResult",
    "Usage",
    "World",
    "__version__",
]

_HOMES = {
    "bench_core.errors": ("BenchError",),
    "bench_core.protocols": ("Agent", "Judge", "Reporter", "TrialContext", "World"),
    "bench_core.records": (
        "Check", "Status", "Step", "Task", "TrialKey", "TrialResult", "Usage",
    ),
    "bench_core.trial": ("Benchmark", "Evaluation", "Evidence", "TrialEnvironment"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
