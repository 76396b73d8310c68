"""Recorder of all HTTP traffic of a Chromium, over its own DevTools connection.

It does not share the agent's connection: `cdp_use` has one handler per event, so a recorder there would
take events away from browser-use, whose navigations then wait 3 or 8 s longer. Nor does it share the
event loop: requests are paused until the recorder continues them, and sites must not wait while an agent
computes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from webarena_runner.recording.har import Har, RecordingLimits
from webarena_runner.recording.observer import BrowserObserver

_T = TypeVar("_T")
_ATTACH_S = 3.0


class HarRecorder:
    """Context manager that records until `stop`; leaving without `stop` keeps the result of `snapshot`.

    Args:
        cdp_url: The browser, as `http://HOST:PORT` or its websocket URL.
        limits: Limits of memory and time.
        settle_s: Time without events after which `stop` assumes that all traffic is recorded.
        connect_s: Longest time to connect.
        tab_setup: DevTools commands that every tab gets before its first request.
    """

    def __init__(
        self,
        cdp_url: str,
        *,
        limits: RecordingLimits | None = None,
        settle_s: float = 0.3,
        connect_s: float = 10.0,
        tab_setup: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:
        self._observer = BrowserObserver(
            cdp_url,
            limits=limits,
            settle_s=settle_s,
            connect_s=connect_s,
            tab_setup=tab_setup,
        )
        self._thread: _LoopThread | None = None

    async def __aenter__(self) -> Self:
        """Connect and attach to every existing target.

        Raises:
            BrowserError: The browser cannot be reached.
        """
        self._thread = _LoopThread("har recorder")
        try:
            await self._thread.run(self._observer.connect())
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            await self._thread.run(self._observer.disconnect())
        await self._end()

    def mark(self, name: str) -> None:
        """Note a moment, such as the end of a phase, in the recording."""
        self._observer.mark(name)

    async def attached(self, target_id: str, within_s: float = _ATTACH_S) -> None:
        """Wait until all traffic of a tab is observed, which begins a moment after its creation."""
        if self._thread is not None:
            await self._thread.run(self._observer.attached(target_id, within_s))

    async def stop(self, deadline_s: float = 5.0) -> Har:
        """Wait until the traffic has settled, at most `deadline_s`, and return the recording."""
        if self._thread is not None:
            await self._thread.run(self._observer.stop(deadline_s))
            await self._end()
        return self._observer.snapshot()

    def snapshot(self) -> Har:
        """Return the recording so far."""
        if self._thread is None:
            return self._observer.snapshot()
        return self._thread.result_of(self._snapshot())

    async def _snapshot(self) -> Har:
        return self._observer.snapshot()  # on the thread that writes the data it reads

    async def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.close()


class _LoopThread:
    """An event loop on its own thread."""

    def __init__(self, name: str) -> None:
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._closing = asyncio.Event()
        # A daemon: an abandoned trial must not keep the process alive.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name=name, daemon=True
        )
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run `work` on that thread while this loop continues."""
        loop = await asyncio.wrap_future(self._loop)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def result_of(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run `work` on that thread and block until it is done."""
        return asyncio.run_coroutine_threadsafe(work, self._loop.result()).result()

    async def close(self) -> None:
        """Cancel remaining work and end the thread."""
        self._loop.result().call_soon_threadsafe(self._closing.set)
        await asyncio.to_thread(self._thread.join)

    async def _serve(self) -> None:
        self._loop.set_result(asyncio.get_running_loop())
        await self._closing.wait()
