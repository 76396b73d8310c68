"""Run browser agents on WebArena-Verified, record the traffic, score with the real evaluator.

Names are re-exported lazily: `import webarena_runner` loads no heavy library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports
from webarena_runner.__about__ import __version__

if TYPE_CHECKING:
    from webarena_runner.benchmark import WebArenaBenchmark
    from webarena_runner.config import EnvironmentConfig, load_config
    from webarena_runner.evaluation import Evaluation, evaluate
    from webarena_runner.options import WebArenaRunOptions
    from webarena_runner.runs import run
    from webarena_runner.tasks import TaskQuery, load_tasks, select_tasks
    from webarena_runner.world.launch import Environment

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

__getattr__ = lazy_exports(
    __name__,
    {
        "benchmark": ("WebArenaBenchmark",),
        "config": ("EnvironmentConfig", "load_config"),
        "evaluation": ("Evaluation", "evaluate"),
        "options": ("WebArenaRunOptions",),
        "runs": ("run",),
        "tasks": ("TaskQuery", "load_tasks", "select_tasks"),
        "world.launch": ("Environment",),
    },
)
