"""A guard inside Chromium: refuses URLs in every page, frame, worker and browser context.

It is set at the browser itself, so that it holds for pages that no client has attached to yet, and for
what a page's own script opens. The gateway alone sees commands only.
"""

from __future__ import annotations

import contextlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bench_core.browser.connection import CdpConnection
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bench_core.browser.places import Places
    from bench_core.records.integrity import IntegrityCode

__all__ = ["BrowserGuard", "open_guard"]


@asynccontextmanager
async def open_guard(
    ws_url: str, places: Places, refused: Callable[[IntegrityCode, str], None]
) -> AsyncIterator[BrowserGuard]:
    """Refuse the URLs of `places` in the Chromium at `ws_url` while the block runs.

    Args:
        ws_url: The browser's own websocket.
        places: What is refused.
        refused: Called with what it means and the URL, each time.

    Raises:
        BrowserError: Chromium does not answer.
    """
    guard = BrowserGuard(await CdpConnection.open(ws_url), places, refused)
    try:
        await guard.arm()
        yield guard
    finally:
        await guard.close()


class BrowserGuard:
    """Refuses requests of a whole Chromium; `arm` and `disarm` begin and end it."""

    def __init__(
        self,
        connection: CdpConnection,
        places: Places,
        refused: Callable[[IntegrityCode, str], None],
    ) -> None:
        self._connection = connection
        self._places = places
        self._refused = refused
        connection.on("Fetch.requestPaused", self._look)

    async def arm(self) -> None:
        """Refuse from now on."""
        patterns = [{"urlPattern": each} for each in self._places.patterns]
        await self._connection.call("Fetch.enable", {"patterns": patterns})

    async def disarm(self) -> None:
        """Refuse no more, because the harness opens these URLs itself."""
        with contextlib.suppress(BrowserError):  # Chromium has ended, and nothing is refused
            await self._connection.call("Fetch.disable")

    async def close(self) -> None:
        """Disconnect, which lets whatever is paused go on."""
        await self._connection.close()

    def _look(self, event: dict[str, Any], session: str | None) -> None:
        request, url = {"requestId": event["requestId"]}, event["request"]["url"]
        code = self._places.code_of(url)
        if code is not None:
            self._refused(code, url)
            request["errorReason"] = "BlockedByClient"
        method = "Fetch.continueRequest" if code is None else "Fetch.failRequest"
        with contextlib.suppress(BrowserError):
            self._connection.post(method, request, session)
