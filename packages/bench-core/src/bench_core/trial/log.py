"""One trial's log lines in one file, although many trials share the process."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from bench_core.redaction import RedactingFilter, Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["LOG", "trial_log"]

LOG = "log.txt"

_ALWAYS = ("bench_core", "browser_use", "bubus")
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_current: ContextVar[str] = ContextVar("trial", default="")


class _PlainFormatter(logging.Formatter):
    """Leaves out the colours that browser-use puts into its messages."""

    def format(self, record: logging.LogRecord) -> str:
        return _COLOURS.sub("", super().format(record))


@contextmanager
def trial_log(
    folder: Path, of: Iterable[object], redactor: Redactor | None = None
) -> Iterator[logging.Logger]:
    """Write what is logged inside the block, and in tasks started there, to `log.txt`.

    Keys never reach the file. Yields a logger of this package.

    Args:
        folder: The trial's.
        of: Objects whose packages' loggers are heard, beside this package's.
        redactor: Knows the keys; by default those in the environment.
    """
    path = str(folder / LOG)
    token = _current.set(path)
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setFormatter(_PlainFormatter(_FORMAT))
    handler.addFilter(lambda _record: _current.get() == path)
    handler.addFilter(RedactingFilter(redactor or Redactor.from_environment()))
    packages = (type(each).__module__.partition(".")[0] for each in of)
    loggers = [logging.getLogger(name) for name in dict.fromkeys([*_ALWAYS, *packages])]
    for logger in loggers:
        logger.addHandler(handler)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    try:
        yield logging.getLogger("bench_core.trial")
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()
        _current.reset(token)
