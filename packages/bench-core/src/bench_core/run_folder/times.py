"""Dates of a run, in the order of its events."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(timezone.utc)


class ForwardTime:
    """Gives the time, and goes on from its last value when the computer's clock is set back.

    Which session an event belongs to, and how long a killed one lasted, is read from these dates: out of
    order, attempts would count for another session and last less than nothing.

    Attributes:
        ahead: How far it is ahead of the computer's clock.
    """

    def __init__(self, now: Callable[[], datetime], not_before: datetime | None = None) -> None:
        self._clock = now
        self._last = not_before
        self._lock = threading.Lock()
        self.ahead = timedelta()

    def now(self) -> datetime:
        """Return the time, never before one that was returned earlier; safe in any thread."""
        with self._lock:
            time = self._clock() + self.ahead
            if self._last is not None and time < self._last:
                self.ahead += self._last - time
                time = self._last
            self._last = time
            return time
