"""Multi-app web exams in a real browser: queries first, judge second.

Names are re-exported lazily: `import multireal_harness` loads no heavy library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from multireal_harness.__about__ import __version__

if TYPE_CHECKING:
    from multireal_harness.definitions import Definition, Eval, Site
    from multireal_harness.queries import evaluate_query, matches, query_checks
    from multireal_harness.running import MultiRealRunOptions, run
    from multireal_harness.states import EndStates, load_states, read_states
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

_HOMES = {
    "multireal_harness.definitions": ("Definition", "Eval", "Site"),
    "multireal_harness.queries": ("evaluate_query", "matches", "query_checks"),
    "multireal_harness.running": ("MultiRealRunOptions", "run"),
    "multireal_harness.states": ("EndStates", "load_states", "read_states"),
    "multireal_harness.tasks": ("TaskQuery", "load_definitions", "load_tasks", "select_tasks"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
