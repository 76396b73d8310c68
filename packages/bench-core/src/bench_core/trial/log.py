"""One trial's log lines in one file, although many trials share the process."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from bench_core.redaction import RedactingFilter, Redactor
from bench_core.run_folder.left_files import LOG

_ALWAYS = ("bench_core", "browser_use", "bubus")
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class _PlainFormatter(logging.Formatter):
    """Leaves out the colours that browser-use puts into its messages."""

    def format(self, record: logging.LogRecord) -> str:
        return _COLOURS.sub("", super().format(record))


class _FileHandler(logging.FileHandler):
    """Drops lines that a full disk refuses: if no result can be written either, the run says so."""

    def handleError(self, record: logging.LogRecord) -> None:
        del record


class _TrialFile:
    """The file of one trial, which is made with its first line."""

    def __init__(self, folder: Path, redactor: Redactor | None) -> None:
        self._folder = folder
        self._redactor = redactor
        self._handler: _FileHandler | None = None
        self._closed = False

    def handle(self, record: logging.LogRecord) -> None:
        if self._closed:  # by a leftover of an abandoned agent: the trial is written down
            return
        if self._handler is None:
            self._handler = _FileHandler(
                self._folder / LOG, encoding="utf-8", errors="backslashreplace"
            )
            self._handler.setFormatter(_PlainFormatter(_FORMAT))
            redactor = self._redactor or Redactor.from_environment()
            self._handler.addFilter(RedactingFilter(redactor))
        self._handler.handle(record)

    def close(self) -> None:
        self._closed = True
        if self._handler is not None:
            with suppress(OSError):  # the data that the disk refused before
                self._handler.close()


class _ToTrialFiles(logging.Handler):
    """Gives each record to the trial that logged it.

    One for the process: a handler for each trial would be asked about the records of all others.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if (file := _current.get()) is not None:
            with suppress(OSError):  # the folder is gone, or its disk is full
                file.handle(record)


_current: ContextVar[_TrialFile | None] = ContextVar("trial", default=None)
_to_trial_files = _ToTrialFiles()


@contextmanager
def trial_log(
    folder: Path, of: Iterable[object], redactor: Redactor | None = None
) -> Iterator[logging.Logger]:
    """Write the log messages of the block, and of tasks started there, to `log.txt`.

    Keys never reach the file. Yields a logger of this package.

    Args:
        folder: The trial's.
        of: Objects whose packages' loggers are recorded, in addition to this package's.
        redactor: Knows the keys; by default those in the environment.
    """
    packages = (type(each).__module__.partition(".")[0] for each in of)
    for name in dict.fromkeys([*_ALWAYS, *packages]):
        _listen_to(_logger(name))
    file = _TrialFile(folder, redactor)
    token = _current.set(file)
    try:
        yield _logger("bench_core.trial")
    finally:
        _current.reset(token)
        file.close()


# `logging` takes a lock for every look, and each trial asks for the same five.
_logger = lru_cache(maxsize=64)(logging.getLogger)


def _listen_to(logger: logging.Logger) -> None:
    if _to_trial_files not in logger.handlers:
        logger.addHandler(_to_trial_files)
    # A logger without a level inherits the root's, which drops messages below a warning.
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
