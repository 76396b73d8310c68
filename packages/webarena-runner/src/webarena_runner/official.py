"""The door to webarena-verified: imported late, without its warnings and log lines.

Importing it takes more than a second, compiles packages that warn about their own syntax, and it
logs every evaluation, errors with tracebacks; what it has to say about a task is in its results.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import threading
import warnings
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["official", "official_folder", "quiet"]

_LOGGERS = ("WebArena-Verified", "webarena_verified")
_one_at_a_time = threading.RLock()


@cache
def official(module: str) -> Any:
    """Import `webarena_verified.<module>`."""
    official_folder()
    with quiet():
        imported = importlib.import_module(f"webarena_verified.{module}")
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    return imported


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings while official code runs, in one thread at a time.

    A warning made an error (`python -W error`) inside the evaluator would change its result.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def official_folder() -> Path:
    """Return where webarena-verified is installed, without importing it.

    Raises:
        InputError: It is not installed.
    """
    spec = importlib.util.find_spec("webarena_verified")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "webarena-verified is not installed: `pip install 'webarena-verified>=1.2.3,<1.3'`"
        )
    return Path(spec.submodule_search_locations[0])
