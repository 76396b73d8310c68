"""Ctrl-C, SIGTERM and a terminal that is closed: once in order, twice at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from typing_extensions import Self

_HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The signal of a closed terminal; Windows has none."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, *filter(None, [_HANGUP]))


class Interrupts:
    """Calls `first` at the first signal and `again` at each further one; a context manager.

    Handlers run in the main thread between two instructions, also while the event loop is
    blocked: `first` should hand over to the loop, `again` should not depend on it.

    After a signal the process is about to end: one that would kill it by default is handled to the end of
    `handlers_given_back`, so that it can remove its temporary files.
    """

    def __init__(self, first: Callable[[], object], again: Callable[[], object]) -> None:
        self._first = first
        self._again = again
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            # `nohup` asks that the end of a terminal ends nothing
            if number == _HANGUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            if not (self._count and handler is signal.SIG_DFL):
                signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == _HANGUP:
            _leave_terminal()
        self._count += 1
        if self._count == 1:
            self._first()
        else:
            self._again()


_blocks: list[None] = []
"""One entry for each block of `handlers_given_back` that the main thread is in."""


@contextlib.contextmanager
def handlers_given_back(*, ever: bool = True) -> Iterator[None]:
    """Put the handlers of signals back at the end of the outermost of these blocks.

    Args:
        ever: False if the process ends with the block: then a late signal finds them as they are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can change them
        return
    before = {} if _blocks else {number: signal.getsignal(number) for number in SIGNALS}
    _blocks.append(None)
    try:
        yield
    finally:
        _blocks.pop()
        for number, handler in before.items():
            if ever and handler is not None:  # None: not Python's to restore
                signal.signal(number, handler)


def _leave_terminal() -> None:
    """Discard output to a terminal after its hangup, when writing to it may be an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if os.isatty(stream) or not os.fstat(stream).st_nlink:
                os.dup2(nowhere, stream)
    os.close(nowhere)
