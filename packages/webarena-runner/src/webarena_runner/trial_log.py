"""One trial's log lines in one file, although many trials share the process."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from bench_core.redaction import RedactingFilter, Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["trial_log"]

_LOGGERS = ("browser_use", "bubus", "webarena_runner", "bench_core")
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_current: ContextVar[str] = ContextVar("trial", default="")


class _PlainFormatter(logging.Formatter):
    """Leaves out the colours that browser-use puts into its messages."""

    def format(self, record: logging.LogRecord) -> str:
        return _COLOURS.sub("", super().format(record))


@contextmanager
def trial_log(path: Path, redactor: Redactor) -> Iterator[logging.Logger]:
    """Write what is logged inside the block, and in tasks started there, to `path`.

    Keys never reach the file. Yields the logger of this package.
    """
    token = _current.set(str(path))
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(_PlainFormatter(_FORMAT))
    handler.addFilter(lambda _record: _current.get() == str(path))
    handler.addFilter(RedactingFilter(redactor))
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    try:
        yield logging.getLogger("webarena_runner")
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()
        _current.reset(token)
