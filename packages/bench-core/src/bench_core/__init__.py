"""Records, run folders, scheduling and protocols that Proctor's packages share.

Names are re-exported lazily: `import bench_core` loads no heavy library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.__about__ import __version__
from bench_core.lazy_exports import lazy_exports

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

__getattr__ = lazy_exports(
    __name__,
    {
        "errors": ("BenchError",),
        "protocols": ("Agent", "Judge", "Reporter", "TrialContext", "World"),
        "records": ("Check", "Status", "Step", "Task", "TrialKey", "TrialResult", "Usage"),
        "trial": ("Benchmark", "Evaluation", "Evidence", "TrialEnvironment"),
    },
)
