"""Make a built-in app misbehave on purpose, for tests of those who must cope with it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["FAULTS", "Fault", "FaultBoard", "FaultKind"]

FaultKind = Literal["drop", "status", "slow", "stall", "invalid_json", "no_pre"]
"""`drop`: close the connection; `status`: answer with the status `value`; `slow`: answer after
`value` seconds; `stall`: never answer; `invalid_json`, `no_pre`: what `/finish` shows is broken."""

FAULTS: tuple[str, ...] = get_args(FaultKind)


@dataclass
class Fault:
    """What happens to requests whose path starts with `path`; `times` null means for ever."""

    kind: FaultKind
    path: str = "/"
    times: int | None = None
    value: float = 0


class FaultBoard:
    """The faults of one app that are switched on; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def switch_on(self, fault: Fault) -> None:
        """Let requests fail."""
        if fault.kind not in FAULTS:
            raise ValueError(f"unknown fault {fault.kind!r}: known are {', '.join(FAULTS)}")
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Let everything work again."""
        with self._lock:
            self._faults.clear()

    def take(self, path: str) -> Fault | None:
        """Return what must happen to a request for `path`, counting it."""
        with self._lock:
            for fault in self._faults:
                if path.startswith(fault.path) and fault.times != 0:
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None
