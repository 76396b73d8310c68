"""Make a stand-in site misbehave on purpose, for tests of those who must cope with it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["FAULTS", "Fault", "FaultBoard", "FaultKind"]

FaultKind = Literal["error", "stall", "drop", "hang"]
"""`error`: status 500; `stall`: never answer; `drop`: close the connection; `hang`: a page whose
script never ends."""

FAULTS: tuple[str, ...] = get_args(FaultKind)


@dataclass
class Fault:
    """What happens to requests whose path starts with `path`; `times` null means for ever."""

    kind: FaultKind
    path: str = "/"
    times: int | None = None


class FaultBoard:
    """The faults of one site that are switched on; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def switch_on(self, kind: FaultKind, path: str = "/", times: int | None = None) -> None:
        """Let requests below `path` fail, the next `times` of them or all."""
        if kind not in FAULTS:
            raise ValueError(f"unknown fault {kind!r}: known are {', '.join(FAULTS)}")
        with self._lock:
            self._faults.append(Fault(kind, path, times))

    def clear(self) -> None:
        """Let everything work again."""
        with self._lock:
            self._faults.clear()

    def take(self, path: str) -> FaultKind | None:
        """Return what must happen to a request for `path`, counting it."""
        with self._lock:
            for fault in self._faults:
                if path.startswith(fault.path) and fault.times != 0:
                    if fault.times is not None:
                        fault.times -= 1
                    return fault.kind
        return None
