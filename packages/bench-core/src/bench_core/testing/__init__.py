"""What plugin authors and Proctor's own packages test with.

`make_run` and its parts write realistic run folders and need nothing but bench-core. The
conformance classes need pytest: subclass the one of your plugin's kind in a test module.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.testing.conformance import (
        AgentConformance,
        BenchmarkConformance,
        JudgeConformance,
        ReporterConformance,
        WorldConformance,
    )
    from bench_core.testing.fault_matrix import FaultMatrix
    from bench_core.testing.providers import ProviderConformance
    from bench_core.testing.runs import make_results, make_run, make_tasks, reseal

__all__ = [
    "AgentConformance",
    "BenchmarkConformance",
    "FaultMatrix",
    "JudgeConformance",
    "ProviderConformance",
    "ReporterConformance",
    "WorldConformance",
    "make_results",
    "make_run",
    "make_tasks",
    "reseal",
]

_CONFORMANCE = "bench_core.testing.conformance"
_MATRIX = "bench_core.testing.fault_matrix"
_PROVIDERS = "bench_core.testing.providers"
_HOMES = {
    _CONFORMANCE: (
        "AgentConformance", "BenchmarkConformance", "JudgeConformance", "ReporterConformance",
        "WorldConformance",
    ),
    _MATRIX: ("FaultMatrix",),
    _PROVIDERS: ("ProviderConformance",),
    "bench_core.testing.runs": ("make_results", "make_run", "make_tasks", "reseal"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home in {_CONFORMANCE, _MATRIX, _PROVIDERS}:
        _explain_asserts(home)
    return getattr(importlib.import_module(home), name)


def _explain_asserts(module: str) -> None:
    """Have pytest rewrite the asserts of a module of tests, as it does those of others."""
    if module not in sys.modules:
        import pytest  # only here is it needed

        pytest.register_assert_rewrite(module)
