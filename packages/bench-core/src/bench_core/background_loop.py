"""An event loop in a thread of its own, for callers that have none or whose own may be blocked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from bench_core.closing import Closing

_T = TypeVar("_T")
_JOIN_S = 10.0


class BackgroundLoop(Closing):
    """Runs coroutines in its thread, also for a caller inside a running event loop, such as a notebook's."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it has stopped."""
        return self._loop.is_closed()

    def begin(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run `work` there without waiting for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run `work` there and return its value."""
        future = self.begin(work)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C in the caller's thread must not leave the call running.
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel running work and end the thread; safe to call twice."""
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            left = asyncio.all_tasks(self._loop)
            for each in left:
                each.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=_JOIN_S / 2))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
