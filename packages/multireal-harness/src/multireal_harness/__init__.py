"""Run and score multi-app web tasks in a real browser: queries decide first, a judge second.

Names are re-exported lazily: `import multireal_harness` loads no heavy library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports
from multireal_harness.__about__ import __version__

if TYPE_CHECKING:
    from multireal_harness.definitions import Definition, Eval, Site
    from multireal_harness.eval_rules.queries import evaluate_query, matches, query_checks
    from multireal_harness.options import MultiRealRunOptions
    from multireal_harness.runs import run
    from multireal_harness.states.files import EndStates, load_states, read_states
    from multireal_harness.tasks import TaskQuery, load_definitions, load_tasks, select_tasks

__all__ = [
    "Definition",
    "EndStates",
    "Eval",
    "MultiRealRunOptions",
    "Site",
    "TaskQuery",
    "__version__",
    "evaluate_query",
    "load_definitions",
    "load_states",
    "load_tasks",
    "matches",
    "query_checks",
    "read_states",
    "run",
    "select_tasks",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "definitions": ("Definition", "Eval", "Site"),
        "eval_rules.queries": ("evaluate_query", "matches", "query_checks"),
        "options": ("MultiRealRunOptions",),
        "runs": ("run",),
        "states.files": ("EndStates", "load_states", "read_states"),
        "tasks": ("TaskQuery", "load_definitions", "load_tasks", "select_tasks"),
    },
)
