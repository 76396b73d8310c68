"""An event loop on which waiting takes no time."""

from __future__ import annotations

import asyncio
import selectors
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["VirtualClock", "run_in_virtual_time"]

_Result = TypeVar("_Result")

EPOCH = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""When virtual time begins."""


class VirtualClock:
    """A clock that stands still while code runs and jumps while everything waits."""

    def __init__(self) -> None:
        self.elapsed_s = 0.0

    def now(self) -> datetime:
        """Return the virtual date."""
        return EPOCH + timedelta(seconds=self.elapsed_s)

    def monotonic(self) -> float:
        """Return the virtual seconds since the loop began."""
        return self.elapsed_s


def run_in_virtual_time(main: Coroutine[Any, Any, _Result], clock: VirtualClock) -> _Result:
    """Run `main` on a loop whose timers fire as soon as nothing else can happen.

    Code that waits for a socket or a process does not belong on it: time would run away.
    """
    loop = _VirtualLoop(clock)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        super().__init__(_JumpingSelector(clock))

    def time(self) -> float:
        return self._clock.monotonic()

    def run_in_executor(
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Do at once what a thread would do, for which virtual time does not wait."""
        done = self.create_future()
        done.set_result(func(*args))
        return done


class _JumpingSelector(selectors.SelectSelector):
    """Instead of sleeping until the next timer, moves the clock there."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError("everything waits and no timer is set: virtual time cannot go on")
        if timeout and not ready:
            self._clock.elapsed_s += timeout
        return ready
