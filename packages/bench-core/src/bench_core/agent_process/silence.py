"""Detects that an agent's process gives no sign of life: its event loop is blocked, or it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator

_TICKS_PER_LIMIT = 8
_LONGEST_TICK_S = 15.0
_NOTED_S = 60.0
_log = logging.getLogger("bench_core.agent_process")


def sign_s(limit_s: float | None) -> float | None:
    """Return the seconds between an agent's signs of life; None for none."""
    return None if limit_s is None else min(_LONGEST_TICK_S, limit_s / _TICKS_PER_LIMIT)


class Silence:
    """Measures the time since an agent's process last sent anything.

    It counts its own ticks instead of reading a clock: a run that was suspended (Ctrl-Z, a sleeping
    laptop) or busy itself does not miss the signs that wait in the pipe.

    Attributes:
        too_long: Whether the process was ended because of it.
    """

    def __init__(self, limit_s: float | None, on_too_long: Callable[[], object]) -> None:
        self.too_long = False
        self._limit_s = limit_s
        self._tick_s = sign_s(limit_s)
        self._on_too_long = on_too_long
        self._ticks = 0
        self._noted = False
        self._timer: asyncio.TimerHandle | None = None

    def end(self) -> None:
        """Start the count again: a message has arrived."""
        self._ticks = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Count inside the block."""
        self._schedule()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _schedule(self) -> None:
        if self._tick_s is not None:
            self._timer = asyncio.get_running_loop().call_later(self._tick_s, self._tick)

    def _tick(self) -> None:
        self._ticks += 1
        silent_s = self._ticks * (self._tick_s or 0.0)
        # one tick beyond the limit, as a sign may just be on its way
        if self._ticks > _TICKS_PER_LIMIT and silent_s > (self._limit_s or 0.0):
            self.too_long = True
            self._on_too_long()
            return
        if silent_s >= min(_NOTED_S, (self._limit_s or 0.0) / 2) and not self._noted:
            self._noted = True
            _log.warning(
                "the agent has blocked its event loop for %.3g s; after %.3g s it is ended",
                silent_s,
                self._limit_s,
            )
        self._schedule()
