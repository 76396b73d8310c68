"""A DevTools connection with commands that can be sent without waiting, as event handlers must."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from cdp_use.client import CDPClient
from websockets.exceptions import WebSocketException

from bench_core.browser import websocket_url
from webarena_runner.recording.exchanges import Params

CONNECTION_ERRORS = (TimeoutError, OSError, WebSocketException, RuntimeError)
"""The errors of `DevToolsLink`: cdp_use raises `RuntimeError` for a refused command."""

_CLOSE_S = 2.0
_BARRIER_S = 5.0


class DevToolsLink:
    """One websocket to the browser, its pending commands, and whether it was lost."""

    def __init__(self, client: CDPClient) -> None:
        self.lost = False
        self._client = client
        self._posted: set[asyncio.Task[None]] = set()
        self._work: set[asyncio.Task[None]] = set()
        self._watcher = asyncio.create_task(self._watch())

    @classmethod
    async def open(cls, cdp_url: str, max_message: int) -> DevToolsLink:
        """Connect to the browser at `cdp_url`, `http://HOST:PORT` or `ws://...`."""
        client = CDPClient(await websocket_url(cdp_url), max_ws_frame_size=max_message)
        await client.start()  # type: ignore[no-untyped-call]  # cdp_use is partly typed
        return cls(client)

    def on(self, method: str, handle: Callable[[Any, str | None], None]) -> None:
        """Call `handle(params, session)` for every event `method`; it must not wait."""
        self._client._event_registry.register(method, handle)  # by name, any domain

    async def call(self, method: str, params: Params, session: str | None = None) -> dict[str, Any]:
        """Send a command and return its result.

        Raises:
            RuntimeError: The browser refused it.
            OSError: The connection is gone.
        """
        return await self._client.send_raw(method, params, session)

    def post(self, method: str, params: Params, session: str | None) -> None:
        """Send a command without waiting; commands posted one after the other stay in order."""

        async def send() -> None:
            # Not every kind of target has every command, and targets vanish.
            with contextlib.suppress(*CONNECTION_ERRORS):
                await self.call(method, params, session)

        _run(send(), self._posted)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the background."""
        _run(work, self._work)

    async def wait_for_posted(self, within_s: float) -> None:
        """Wait for the answers to posted requests, at most `within_s`."""
        await _wait(self._posted, within_s)

    async def wait_for_work(self, within_s: float) -> None:
        """Wait for started work, at most `within_s`."""
        await _wait(self._work, within_s)

    async def pass_barrier(self) -> None:
        """Wait until the browser has answered a command, and so has sent all earlier events."""
        try:
            await asyncio.wait_for(self.call("Browser.getVersion", {}), _BARRIER_S)
        except CONNECTION_ERRORS:
            self.lost = True

    async def close(self) -> None:
        """Disconnect; paused targets continue, the browser keeps running."""
        self._watcher.cancel()
        for task in self._posted | self._work:
            task.cancel()
        connection = self._client.ws
        try:
            stopping = self._client.stop()  # type: ignore[no-untyped-call]  # cdp_use is partly typed
            await asyncio.wait_for(stopping, _CLOSE_S)
        except CONNECTION_ERRORS:
            if connection is not None:  # a halted browser never answers the closing handshake
                connection.transport.abort()

    async def _watch(self) -> None:
        assert self._client.ws is not None  # noqa: S101  # it was started
        await self._client.ws.wait_closed()
        self.lost = True


def _run(work: Coroutine[Any, Any, None], running: set[asyncio.Task[None]]) -> None:
    task = asyncio.create_task(work)
    # the event loop has weak references to tasks only
    running.add(task)
    task.add_done_callback(running.discard)


async def _wait(running: set[asyncio.Task[None]], within_s: float) -> None:
    if running:
        await asyncio.wait(running, timeout=max(0.0, within_s))
