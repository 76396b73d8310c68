"""Evaluators of our own for all Windows Agent Arena tasks: no checkout and no container needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waa_server_ext.native.evaluator import NativeEvaluator

__all__ = ["NativeEvaluator"]


def __getattr__(name: str) -> Any:
    """Import the evaluator when it is asked for."""
    if name == "NativeEvaluator":
        from waa_server_ext.native.evaluator import NativeEvaluator  # noqa: PLC0415  # lazy

        return NativeEvaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
