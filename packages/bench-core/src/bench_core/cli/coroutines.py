"""Run a command's coroutine."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def run_coroutine(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the coroutine's result; asyncio is loaded here, so that `--help` stays quick."""
    import asyncio

    return asyncio.run(work)
