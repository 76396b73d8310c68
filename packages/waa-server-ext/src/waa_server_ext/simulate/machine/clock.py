"""The simulated machine's time; only actions advance it, so that runs are repeatable."""

from __future__ import annotations

import datetime as dt

_LAST_YEAR = 9000  # a date of Python ends with 9999
START = dt.datetime(2024, 11, 20, 9, 41, tzinfo=dt.timezone.utc)
"""When a scene that names no time begins: the day of the WAA release the facts were taken from."""


class SimulatedClock:
    """A clock that only moves when it is advanced; sleeping costs no real time."""

    def __init__(self, now: dt.datetime = START) -> None:
        self._now = now

    def now(self) -> dt.datetime:
        """Return the current time, in the machine's own zone."""
        return self._now

    def timestamp(self) -> float:
        """Return the current time in seconds since 1970."""
        return self._now.timestamp()

    def set(self, now: dt.datetime) -> None:
        """Set the time to the scene's start, discarding the time that building it took."""
        self._now = now

    def advance(self, seconds: float) -> None:
        """Let time pass; at most a day at once, never backwards."""
        if self._now.year < _LAST_YEAR:
            self._now += dt.timedelta(seconds=min(max(seconds, 0.0), 86_400.0))
