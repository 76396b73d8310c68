"""The evaluators of the user's own Windows Agent Arena checkout, run as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.vanilla.evaluator import VanillaEvaluator

__all__ = [
    "VanillaEvaluator",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "evaluator": ("VanillaEvaluator",),
    },
)
