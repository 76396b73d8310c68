"""Client-side limits: requests per second, tokens per minute, and how many calls at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bench_core.models.errors import ModelError


class RateLimit:
    """Spaces requests evenly: `per_second` of them, without bursts."""

    def __init__(self, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        if per_second <= 0:
            raise ValueError(f"per_second must be positive, got {per_second}")
        self.interval_s = 1.0 / per_second
        self._clock = clock
        self._next = 0.0

    async def wait(self) -> None:
        """Wait for the next free slot; slots are handed out in order of asking."""
        now = self._clock()
        slot = max(now, self._next)
        self._next = slot + self.interval_s
        if slot > now:
            await asyncio.sleep(slot - now)


class TokenLimit:
    """Keeps the tokens of the last 60 seconds at or under `per_minute`.

    A call's usage is known only afterwards, so a call waits while the minute is full and
    is charged when it returns.
    """

    WINDOW_S = 60.0

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        if per_minute <= 0:
            raise ValueError(f"per_minute must be positive, got {per_minute}")
        self.per_minute = per_minute
        self._clock = clock
        self._spent: deque[tuple[float, int]] = deque()
        self._total = 0

    async def wait(self) -> None:
        """Wait until the last minute has room."""
        while self._current() >= self.per_minute:
            oldest = self._spent[0][0]
            await asyncio.sleep(max(0.01, oldest + self.WINDOW_S - self._clock()))

    def charge(self, tokens: int) -> None:
        """Count the tokens of a call that returned."""
        self._spent.append((self._clock(), tokens))
        self._total += tokens

    def _current(self) -> int:
        horizon = self._clock() - self.WINDOW_S
        while self._spent and self._spent[0][0] <= horizon:
            self._total -= self._spent.popleft()[1]
        return self._total


class AdaptiveConcurrency:
    """Lets as many calls run at once as the provider accepts.

    Starts at `start`, grows by one after a full round of successes, halves when the provider says
    it is too much (at most once per round), within `[1, most]`.
    """

    def __init__(self, start: int = 8, most: int = 100) -> None:
        if not 1 <= start <= most:
            raise ValueError(f"start must be between 1 and most, got {start} and {most}")
        self.limit = start
        self.most = most
        self.running = 0
        self._successes = 0
        self._calls_since_cut = start
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the slots for the duration of a request."""
        await self._enter()
        try:
            yield
        except ModelError as error:
            if error.kind in {"rate_limit", "overloaded"}:
                # Calls that were under way together fail together: that is one message, not many.
                self._calls_since_cut += 1
                if self._calls_since_cut >= self.limit:
                    self.limit = max(1, self.limit // 2)
                    self._calls_since_cut = 0
                    self._successes = 0
            raise
        else:
            self._successes += 1
            self._calls_since_cut += 1
            if self._successes >= self.limit and self.limit < self.most:
                self.limit += 1
                self._successes = 0
        finally:
            self.running -= 1
            self._wake()

    async def _enter(self) -> None:
        if self.running < self.limit and not self._waiting:
            self.running += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot was already ours
                self.running -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self.running < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)
