"""A Chromium for several trials, one after the other or at once, with Playwright attached to it.

It has a fresh browser context for each, which shares nothing with the others: no cookies, storage, cache or tabs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from bench_core.browser.chromium import Chromium, launch_chromium
from bench_core.browser.options import ChromiumOptions
from bench_core.errors import BrowserError
from bench_core.playwright_driver import open_playwright, require_playwright

__all__ = ["SharedChromium", "attached_chromium", "require_playwright"]

_CONNECT_S = 30.0
# `context.close()` never returns where Chromium hangs
_CLOSE_S = 15.0


class SharedChromium:
    """One Chromium, opened in an asyncio task: `close`, `retire` or the cancellation of that task ends it.

    Args:
        options: Start options; files that these hide are hidden from all contexts.
        loop: The event loop that it is used on.
    """

    def __init__(self, options: ChromiumOptions, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._hidden = frozenset(options.hidden)
        self._users = 0
        self._retired = False
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[tuple[Chromium, Any]] = loop.create_future()
        self._task = loop.create_task(self._run(options), name="shared Chromium")
        self._task.add_done_callback(self._end_waiting)

    @property
    def chromium(self) -> Chromium:
        """The running Chromium, once it is ready."""
        return self._ready.result()[0]

    @property
    def browser(self) -> Any:
        """Playwright's `Browser`, once it is ready."""
        return self._ready.result()[1]

    @property
    def in_use(self) -> bool:
        """Whether a context is open in it, or about to be."""
        return self._users > 0

    def usable(self, loop: asyncio.AbstractEventLoop, hidden: Iterable[Any] = ()) -> bool:
        """Whether it runs or starts on this event loop, takes trials, and sees none of the `hidden` files."""
        if (
            self._retired
            or loop is not self._loop
            or self._task.done()
            or not self._hidden.issuperset(hidden)
        ):
            return False
        return not self._ready.done() or (self.chromium.alive and self.browser.is_connected())

    async def ready(self) -> None:
        """Wait until it runs.

        Raises:
            BrowserError: It does not start.
            MissingExtraError: Playwright is not installed.
        """
        # a trial that is cancelled must not cancel the start that other trials wait for
        await asyncio.shield(self._ready)

    @asynccontextmanager
    async def open_context(self, **options: Any) -> AsyncIterator[Any]:
        """Open a fresh context, with Playwright's `options`, for the time of the block, once Chromium runs.

        Raises:
            BrowserError: Chromium does not start, or gives none.
            MissingExtraError: Playwright is not installed.
        """
        self._users += 1  # while it starts, too: it must not end under those who wait for it
        try:
            await self.ready()
            async with self._context(options) as context:
                yield context
        finally:
            self._users -= 1
            self._end_unused()

    def retire(self) -> None:
        """End it as soon as no context is open; the caller must not open another."""
        self._retired = True
        # a closed loop has cancelled the task already, and another loop's event must not be set from here
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_unused)

    async def close(self) -> None:
        """End it; safe to call twice."""
        self._stop.set()
        # a closed loop has cancelled the task already, and cannot be waited on
        if not self._loop.is_closed():
            await asyncio.wait({self._task})

    def _end_unused(self) -> None:
        if self._retired and not self._users:
            self._stop.set()

    @asynccontextmanager
    async def _context(self, options: dict[str, Any]) -> AsyncIterator[Any]:
        from playwright.async_api import Error

        try:
            context = await asyncio.wait_for(self.browser.new_context(**options), _CONNECT_S)
        except (Error, asyncio.TimeoutError) as error:
            self.retire()
            raise BrowserError(f"Chromium gives no new context: {error}") from error
        try:
            yield context
        finally:
            try:
                await asyncio.wait_for(context.close(), _CLOSE_S)
            except asyncio.TimeoutError:
                # Chromium hangs, and would in every later trial; the next one starts another
                await self.chromium.close()
            except Error:
                # it has ended, or Playwright's driver has, which nothing else shows while Chromium runs
                self.retire()

    async def _run(self, options: ChromiumOptions) -> None:
        try:
            async with attached_chromium(options) as found:
                self._ready.set_result(found)
                closed = asyncio.create_task(found[0].wait_closed())
                stopped = asyncio.create_task(self._stop.wait())
                try:
                    await asyncio.wait({closed, stopped}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    closed.cancel()
                    stopped.cancel()
        except BrowserError:
            if not self._ready.done():
                raise

    def _end_waiting(self, task: asyncio.Task[None]) -> None:
        """Report to waiting callers why it does not run."""
        if self._ready.done():
            return
        error = None if task.cancelled() else task.exception()
        self._ready.set_exception(error or BrowserError("Chromium was ended while it started"))
        self._ready.exception()  # an error that no one waits for is not a bug


@asynccontextmanager
async def attached_chromium(options: ChromiumOptions) -> AsyncIterator[tuple[Chromium, Any]]:
    """Launch a Chromium and attach Playwright to it; yields both.

    Raises:
        BrowserError: Chromium or Playwright does not start, or they do not answer each other.
        MissingExtraError: Playwright is not installed.
    """
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(open_playwright("a shared Chromium"))
        from playwright.async_api import Error

        chromium = await stack.enter_async_context(launch_chromium(options))
        try:
            browser = await playwright.chromium.connect_over_cdp(
                chromium.cdp_url, timeout=_CONNECT_S * 1000
            )
        except Error as error:
            raise BrowserError(f"Playwright cannot attach to Chromium: {error}") from error
        yield chromium, browser
