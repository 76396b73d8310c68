"""Lint of a task set: find queries that no correct run can satisfy, and rewrite them.

Names are re-exported lazily, because reading tasks needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from multireal_harness.lint.findings import EvalReport, Finding, Fix
    from multireal_harness.lint.report import LintReport, fixed_definition, lint_tasks, write_fixed
    from multireal_harness.lint.rules import lint_task

__all__ = [
    "EvalReport",
    "Finding",
    "Fix",
    "LintReport",
    "fixed_definition",
    "lint_task",
    "lint_tasks",
    "write_fixed",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "findings": ("EvalReport", "Finding", "Fix"),
        "report": ("LintReport", "fixed_definition", "lint_tasks", "write_fixed"),
        "rules": ("lint_task",),
    },
)
