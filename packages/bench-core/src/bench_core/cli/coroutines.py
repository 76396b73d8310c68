"""What runs a command's coroutine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_Result = TypeVar("_Result")


def run_coroutine(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return what the coroutine returns; asyncio is loaded here, so that `--help` stays quick."""
    import asyncio

    return asyncio.run(work)
