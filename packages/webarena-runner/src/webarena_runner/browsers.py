"""The browser of a trial: a Chromium of its own behind a gateway, or a fresh context of one that is kept.

An agent that is given an address would see every context of its Chromium, so it gets one of its own. The steps of a
session are done by Proctor itself, and its episodes are one after the other: they share a Chromium, which saves
most of the time of a reset.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser import (
    Places,
    RuleBook,
    SharedChromium,
    launch_chromium,
    open_gateway,
    open_guard,
    require_playwright,
    why_ended,
)
from bench_core.protocols import BrowserHandle
from bench_core.records import IntegrityCode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bench_core.agents import BrowserEnvironment
    from bench_core.browser import Chromium, ChromiumOptions, Gateway
    from bench_core.trial import IntegrityWatch

__all__ = ["KeptBrowser", "Lease", "open_alone"]

_VIEWPORT = (1280, 720)


@dataclass(frozen=True)
class Lease:
    """The browser of one trial.

    Attributes:
        gateway: The agent's way to a Chromium of its own; None where Chromium is kept.
        context: Playwright's `BrowserContext` in a Chromium that is kept, else None.
        context_id: Its DevTools id.
    """

    chromium: Chromium
    gateway: Gateway | None = None
    context: Any = None
    context_id: str | None = None

    def handle(self, urls: tuple[str, ...]) -> BrowserHandle:
        """Return what the agent gets."""
        url = (self.gateway or self.chromium).cdp_url
        handle = BrowserHandle(cdp_url=url, start_urls=urls, viewport=_VIEWPORT)
        if self.context is None:
            return handle
        return handle.with_live(self._live)

    def _live(self) -> BrowserEnvironment:
        from bench_core.agents import BrowserEnvironment  # most agents work elsewhere

        return BrowserEnvironment(self.context, _VIEWPORT)

    @property
    def own_ports(self) -> frozenset[int]:
        """The local ports from which the gateway has connected."""
        return frozenset() if self.gateway is None else frozenset(self.gateway.local_ports)

    @property
    def ending(self) -> object | None:
        """The agent's command that ends its browser, if it sent one."""
        return None if self.gateway is None else self.gateway.log.ending

    async def why_ended(self) -> str | None:
        """Return the agent's act that ended Chromium; None while it runs.

        Raises:
            BrowserError: It ended, and nothing shows that the agent ended it.
        """
        if self.gateway is not None:
            return await why_ended(self.chromium, self.gateway)
        self.chromium.check_alive()
        return None

    def end(self) -> None:
        """End a Chromium that is the trial's alone; one that is kept loses the context later."""
        if self.gateway is not None and self.chromium.alive:
            self.chromium.kill()


@asynccontextmanager
async def open_alone(
    options: ChromiumOptions, ports: Mapping[int, IntegrityCode], watch: IntegrityWatch
) -> AsyncIterator[Lease]:
    """Start a Chromium for one trial, with a gateway before it and a guard within.

    Args:
        options: How it is started.
        ports: Ports of this machine that no agent may open, and what opening one is.
        watch: Receives what was tried.

    Raises:
        BrowserError: Chromium is missing, does not start, or does not answer.
    """
    async with launch_chromium(options) as chromium:
        places = _places(chromium, ports)
        async with (
            open_guard(chromium.ws_url, places, watch.note_act),
            open_gateway(chromium.cdp_url, RuleBook(places=places), watch.note_act) as gateway,
        ):
            yield Lease(chromium, gateway)


class KeptBrowser:
    """One Chromium for trials that follow one another, each in a fresh browser context with a guard of its own.

    Raises:
        MissingExtraError: Playwright is not installed.
    """

    def __init__(self) -> None:
        require_playwright()
        self._shared: SharedChromium | None = None
        self._leased: SharedChromium | None = None

    @asynccontextmanager
    async def open(
        self, options: ChromiumOptions, ports: Mapping[int, IntegrityCode], watch: IntegrityWatch
    ) -> AsyncIterator[Lease]:
        """Open a context with one empty tab; see `open_alone`.

        Raises:
            BrowserError: Chromium is missing, does not start, or does not answer.
        """
        if self._leased is not None:
            # the recorder sees a whole Chromium: what is left of the trial before must not be in it
            await self.close()
        shared = await self._running(options)
        self._leased = shared
        width, height = _VIEWPORT
        opened = shared.open_context(
            viewport={"width": width, "height": height},
            accept_downloads=False,  # nothing is written to this machine
        )
        chromium = shared.chromium
        try:
            async with (
                opened as context,
                open_guard(chromium.ws_url, _places(chromium, ports), watch.note_act),
            ):
                yield Lease(chromium, None, context, await _with_tab(context))
        finally:
            if self._leased is shared:
                self._leased = None

    async def close(self) -> None:
        """End the Chromium; the next trial starts another."""
        self._leased = None
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()

    async def _running(self, options: ChromiumOptions) -> SharedChromium:
        loop = asyncio.get_running_loop()
        if self._shared is None or not self._shared.usable(loop, options.hidden):
            if self._shared is not None:
                self._shared.retire()
            self._shared = SharedChromium(options, loop)
        await self._shared.ready()
        return self._shared


async def _with_tab(context: Any) -> str:
    """Open an empty tab in a context and return the context's DevTools id."""
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    found = await session.send("Target.getTargetInfo")
    await session.detach()
    return str(found["targetInfo"]["browserContextId"])


def _places(chromium: Chromium, ports: Mapping[int, IntegrityCode]) -> Places:
    port = urlsplit(chromium.cdp_url).port or 0
    return Places({**ports, port: IntegrityCode.DEBUGGING_PORT})
