"""The traffic and the answer that a task's definition asks for, made without any agent.

What the real evaluator says of them shows which tasks can be scored at all (`scorability`), and
makes a corpus of all 812 tasks for whoever wants to measure or compare evaluators.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webarena_runner.oracle.answers import answer_for
    from webarena_runner.oracle.scorability import Note, Scorability, derive_notes, shipped_notes
    from webarena_runner.oracle.traffic import traffic_for
    from webarena_runner.oracle.trials import write_trial

__all__ = [
    "Note",
    "Scorability",
    "answer_for",
    "derive_notes",
    "shipped_notes",
    "traffic_for",
    "write_trial",
]

_HOMES = {
    "answers": ("answer_for",),
    "scorability": ("Note", "Scorability", "derive_notes", "shipped_notes"),
    "traffic": ("traffic_for",),
    "trials": ("write_trial",),
}
_HOME_OF = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
