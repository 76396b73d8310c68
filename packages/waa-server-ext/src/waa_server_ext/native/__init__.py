"""Evaluators of our own for all Windows Agent Arena tasks: no checkout and no container needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.native.evaluator import NativeEvaluator

__all__ = [
    "NativeEvaluator",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "evaluator": ("NativeEvaluator",),
    },
)
