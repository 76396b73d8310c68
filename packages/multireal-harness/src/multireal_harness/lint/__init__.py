"""Check the exam itself: find queries that no correct run can satisfy, and rewrite them.

Names are re-exported lazily: reading tasks needs none of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multireal_harness.lint.findings import EvalReport, Finding, Fix
    from multireal_harness.lint.report import LintReport, fixed_definition, lint_tasks, write_fixed
    from multireal_harness.lint.rules import lint_task
    from multireal_harness.lint.schemas import (
        Schemas,
        learn_schemas,
        load_schemas,
        shipped_schemas,
    )

__all__ = [
    "EvalReport",
    "Finding",
    "Fix",
    "LintReport",
    "Schemas",
    "fixed_definition",
    "learn_schemas",
    "lint_task",
    "lint_tasks",
    "load_schemas",
    "shipped_schemas",
    "write_fixed",
]

_HOMES = {
    "findings": ("EvalReport", "Finding", "Fix"),
    "report": ("LintReport", "fixed_definition", "lint_tasks", "write_fixed"),
    "rules": ("lint_task",),
    "schemas": ("Schemas", "learn_schemas", "load_schemas", "shipped_schemas"),
}
_HOME_OF = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
