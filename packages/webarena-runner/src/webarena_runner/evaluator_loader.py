"""Imports of webarena-verified: late, and without its warnings and log lines.

The import takes 1.2 s warm and 2.8 s cold and compiles packages that warn about their own syntax. It logs
every evaluation, errors with tracebacks; all of that is in its results, too.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from bench_core.errors import InputError

_LOGGERS = ("WebArena-Verified", "webarena_verified")
_one_at_a_time = threading.RLock()


@cache
def evaluator_module(module: str) -> Any:
    """Import `webarena_verified.<module>`."""
    evaluator_folder()
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

    A warning that is an error (`python -W error`) inside the evaluator would change its result. Threads
    cost nothing here: four evaluate no faster than one, because of Python's lock.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def evaluator_folder() -> Path:
    """Return the folder of the installed webarena-verified, without importing it.

    Raises:
        InputError: It is not installed.
    """
    spec = importlib.util.find_spec("webarena_verified")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "webarena-verified is not installed: `pip install 'webarena-verified>=1.2.3,<1.3'`"
        )
    return Path(spec.submodule_search_locations[0])
