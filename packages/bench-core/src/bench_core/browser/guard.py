"""A guard inside Chromium: refuses URLs in every page, frame, worker and browser context.

It is set at the browser itself, so that it holds for pages that no client has attached to yet, and for
pages that a page's own script opens. The gateway alone sees commands only.

Chromium's own pages cannot be refused this way: they make no requests. One opened in a way that no rule
names, such as the script of another of them or of the PDF viewer, is detected in the URLs of all pages.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from bench_core.browser.connection import CdpConnection
from bench_core.browser.places import Places, is_local_page
from bench_core.errors import BrowserError
from bench_core.records.integrity import IntegrityCode

# URLs that Chromium shows for a page that is down, for a page's own `print()`, as parts of itself (the list below
# the address bar, say), and for files, which were refused
_UNASKED = re.compile(
    r"chrome-error:|chrome://print/|chrome-extension:|chrome://[a-z-]+\.top-chrome/|(?:view-source:)?file:"
)
_MOST_PAGES = 1_000


@asynccontextmanager
async def open_guard(
    ws_url: str, places: Places, found: Callable[[IntegrityCode, bool, str], None]
) -> AsyncIterator[BrowserGuard]:
    """Refuse the URLs of `places` in the Chromium at `ws_url` while the block runs.

    Args:
        ws_url: The browser's own websocket.
        places: The refused places.
        found: Called with the integrity code, whether the URL was refused, and the URL, each time.

    Raises:
        BrowserError: Chromium does not answer.
    """
    guard = BrowserGuard(await CdpConnection.open(ws_url), places, found)
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
        found: Callable[[IntegrityCode, bool, str], None],
    ) -> None:
        self._connection = connection
        self._places = places
        self._found = found
        self._shown: set[tuple[str, str]] = set()
        connection.on("Fetch.requestPaused", self._look)
        connection.on("Target.targetCreated", self._look_at_page)
        connection.on("Target.targetInfoChanged", self._look_at_page)

    async def arm(self) -> None:
        """Refuse from now on."""
        patterns = [{"urlPattern": each} for each in self._places.patterns]
        await self._connection.call("Fetch.enable", {"patterns": patterns})
        await self._connection.call("Target.setDiscoverTargets", {"discover": True})

    async def disarm(self) -> None:
        """Refuse no more, because the harness opens these URLs itself."""
        with contextlib.suppress(BrowserError):  # Chromium has ended, and nothing is refused
            await self._connection.call("Fetch.disable")

    async def close(self) -> None:
        """Disconnect, which lets paused requests go on."""
        await self._connection.close()

    def _look(self, event: dict[str, Any], session: str | None) -> None:
        request, url = {"requestId": event["requestId"]}, event["request"]["url"]
        code = self._places.code_of(url)
        if code is not None:
            self._found(code, True, url)  # it is refused
            request["errorReason"] = "BlockedByClient"
        method = "Fetch.continueRequest" if code is None else "Fetch.failRequest"
        with contextlib.suppress(BrowserError):
            self._connection.post(method, request, session)

    def _look_at_page(self, event: dict[str, Any], _: str | None) -> None:
        """Note a page, hidden or not, that shows a forbidden URL."""
        target = event["targetInfo"]
        url, shown = target["url"], (target["targetId"], target["url"])
        # frames are the page's own, among them those of the PDF viewer
        if target["type"] not in {"page", "other"} or shown in self._shown:
            return
        if is_local_page(url) and not _UNASKED.match(url) and len(self._shown) < _MOST_PAGES:
            self._shown.add(shown)
            self._found(IntegrityCode.LOCAL_PAGE, False, url)  # it was shown
