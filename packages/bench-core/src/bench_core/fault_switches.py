"""Make a built-in world fail on purpose, for tests of the code that must handle it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Fault", "FaultSwitches"]

K = TypeVar("K", bound=str)


@dataclass
class Fault(Generic[K]):
    """A fault of requests whose path starts with `path`; `times` None means forever.

    Attributes:
        value: The parameter of the fault, by its kind: seconds, a status.
    """

    kind: K
    path: str = "/"
    times: int | None = None
    value: float = 0


class FaultSwitches(Generic[K]):
    """The faults of one server that are switched on; safe to use from any thread.

    Args:
        kinds: The faults that the server can have.

    Example:
        >>> board = FaultSwitches(("drop", "stall"))
        >>> board.switch_on("drop", "/cart", times=1)
        >>> board.take("/cart/7").kind, board.take("/cart/7")
        ('drop', None)
    """

    def __init__(self, kinds: Sequence[K]) -> None:
        self._kinds = tuple(kinds)
        self._lock = threading.Lock()
        self._faults: list[Fault[K]] = []

    def switch_on(
        self, kind: K, path: str = "/", times: int | None = None, value: float = 0
    ) -> None:
        """Let requests below `path` fail, the next `times` of them or all.

        Raises:
            ValueError: The server knows no such fault.
        """
        if kind not in self._kinds:
            raise ValueError(f"unknown fault {kind!r}: known are {', '.join(self._kinds)}")
        with self._lock:
            self._faults.append(Fault(kind, path, times, value))

    def clear(self) -> None:
        """Let everything work again."""
        with self._lock:
            self._faults.clear()

    def take(self, path: str) -> Fault[K] | None:
        """Return the fault for a request for `path`, counting it."""
        with self._lock:
            for fault in self._faults:
                if path.startswith(fault.path) and fault.times != 0:
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None
