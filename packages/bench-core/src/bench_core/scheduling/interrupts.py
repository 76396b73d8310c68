"""Ctrl-C and SIGTERM: once in order, twice at once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from typing_extensions import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Calls `first` at the first signal and `again` at each further one; a context manager.

    Handlers run in the main thread between two instructions, also while the event loop is
    blocked: `first` should hand over to the loop, `again` should not depend on it.
    """

    def __init__(self, first: Callable[[], object], again: Callable[[], object]) -> None:
        self._first = first
        self._again = again
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self._first()
        else:
            self._again()
