"""The scheduler's source of time: a seam for tests and simulations.

Waiting goes through the event loop's own timers.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """Gives the time."""

    def now(self) -> datetime:
        """Return the date and time, with a time zone; for records."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start that never run backwards; for durations."""
        ...


class SystemClock:
    """The computer's clock."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(timezone.utc)

    def monotonic(self) -> float:
        """Return the system's monotonic time."""
        return time.monotonic()
