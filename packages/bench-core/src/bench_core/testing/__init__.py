"""What plugin authors and Proctor's own packages test with.

`make_run` and its parts write realistic run folders and need nothing but bench-core. The
conformance classes need pytest: subclass the one of your plugin's kind in a test module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.testing.runs import make_results, make_run, make_tasks

__all__ = ["make_results", "make_run", "make_tasks"]

_HOMES = {"bench_core.testing.runs": ("make_results", "make_run", "make_tasks")}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
