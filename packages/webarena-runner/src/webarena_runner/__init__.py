"""Run browser agents on WebArena-Verified, record the traffic, score with the real evaluator.

Names are re-exported lazily: `import webarena_runner` loads no heavy library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from webarena_runner.__about__ import __version__

if TYPE_CHECKING:
    from webarena_runner.benchmark import WebArenaBenchmark
    from webarena_runner.config import EnvironmentConfig, load_config
    from webarena_runner.evaluation import Evaluation, evaluate
    from webarena_runner.running import WebArenaRunOptions, run
    from webarena_runner.tasks import TaskQuery, load_tasks, select_tasks
    from webarena_runner.worlds import Environment

__all__ = [
    "Environment",
    "EnvironmentConfig",
    "Evaluation",
    "TaskQuery",
    "WebArenaBenchmark",
    "WebArenaRunOptions",
    "__version__",
    "evaluate",
    "load_config",
    "load_tasks",
    "run",
    "select_tasks",
]

_HOMES = {
    "webarena_runner.benchmark": ("WebArenaBenchmark",),
    "webarena_runner.config": ("EnvironmentConfig", "load_config"),
    "webarena_runner.evaluation": ("Evaluation", "evaluate"),
    "webarena_runner.running": ("WebArenaRunOptions", "run"),
    "webarena_runner.tasks": ("TaskQuery", "load_tasks", "select_tasks"),
    "webarena_runner.worlds": ("Environment",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
