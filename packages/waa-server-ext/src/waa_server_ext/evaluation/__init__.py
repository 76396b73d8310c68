"""What all evaluators share: the protocol, verdicts, tasks, reference files, and a process of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.evaluation.assets import AssetStore
    from waa_server_ext.evaluation.evaluators import (
        Description,
        Evaluator,
        EvaluatorSettings,
        make_evaluator,
    )
    from waa_server_ext.evaluation.isolation import IsolatedEvaluator
    from waa_server_ext.evaluation.tasks import TaskFolder
    from waa_server_ext.evaluation.verdicts import SetupReport, Verdict

__all__ = [
    "AssetStore",
    "Description",
    "Evaluator",
    "EvaluatorSettings",
    "IsolatedEvaluator",
    "SetupReport",
    "TaskFolder",
    "Verdict",
    "make_evaluator",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "assets": ("AssetStore",),
        "evaluators": ("Description", "Evaluator", "EvaluatorSettings", "make_evaluator"),
        "isolation": ("IsolatedEvaluator",),
        "tasks": ("TaskFolder",),
        "verdicts": ("SetupReport", "Verdict"),
    },
)
