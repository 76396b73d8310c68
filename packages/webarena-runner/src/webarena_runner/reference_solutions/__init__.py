"""Reference solutions: the traffic and the answer that a task's definition expects, without any agent.

The real evaluator's scores of them show which tasks can be scored at all (`scorability`), and together
they are a corpus of all 812 tasks for measurements and comparisons of evaluators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from webarena_runner.reference_solutions.answers import answer_for
    from webarena_runner.reference_solutions.scorability import (
        Note,
        Scorability,
        derive_notes,
        shipped_notes,
    )
    from webarena_runner.reference_solutions.traffic import traffic_for
    from webarena_runner.reference_solutions.trials import write_trial

__all__ = [
    "Note",
    "Scorability",
    "answer_for",
    "derive_notes",
    "shipped_notes",
    "traffic_for",
    "write_trial",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "answers": ("answer_for",),
        "scorability": ("Note", "Scorability", "derive_notes", "shipped_notes"),
        "traffic": ("traffic_for",),
        "trials": ("write_trial",),
    },
)
