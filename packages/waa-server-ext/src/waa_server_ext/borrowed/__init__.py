"""Evaluators borrowed from the user's own Windows Agent Arena checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waa_server_ext.borrowed.evaluator import BorrowedEvaluator

__all__ = ["BorrowedEvaluator"]


def __getattr__(name: str) -> Any:
    if name == "BorrowedEvaluator":
        from waa_server_ext.borrowed.evaluator import BorrowedEvaluator  # noqa: PLC0415  # lazy

        return BorrowedEvaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
