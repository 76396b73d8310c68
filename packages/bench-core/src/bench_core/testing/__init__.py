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
    from bench_core.testing.runs import make_results, make_run, make_tasks

__all__ = [
    "AgentConformance",
    "BenchmarkConformance",
    "JudgeConformance",
    "ReporterConformance",
    "WorldConformance",
    "make_results",
    "make_run",
    "make_tasks",
]

_CONFORMANCE = "bench_core.testing.conformance"
_HOMES = {
    _CONFORMANCE: (
        "AgentConformance", "BenchmarkConformance", "JudgeConformance", "ReporterConformance",
        "WorldConformance",
    ),
    "bench_core.testing.runs": ("make_results", "make_run", "make_tasks"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name.endswith("Conformance"):
        _explain_asserts()
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _explain_asserts() -> None:
    """Have pytest rewrite the asserts of the conformance classes, as it does those of tests."""
    if _CONFORMANCE not in sys.modules:
        import pytest  # noqa: PLC0415  # only here is it needed

        pytest.register_assert_rewrite(_CONFORMANCE)
