"""Browser contexts for trials: a fresh one in a shared Chromium, or a Chromium for one trial.

Agents that run in this process act on a Playwright context, and many contexts share one Chromium.
An agent that connects by CDP URL (browser-use, one of yours) would see the pages of every context
in it, so it gets a Chromium of its own, which has one fresh context.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser import (
    ChromiumOptions,
    Places,
    PortWatch,
    RuleBook,
    SharedChromium,
    attached_chromium,
    open_gateway,
    open_guard,
    why_ended,
)
from bench_core.errors import BrowserError
from bench_core.records import IntegrityCode
from bench_core.trial import IntegrityWatch
from multireal_harness.guard import is_guarded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from bench_core.browser import BrowserGuard, Chromium, Gateway

__all__ = ["BrowserSettings", "Browsers", "Lease"]


@dataclass(frozen=True)
class BrowserSettings:
    """Time zone, language and size that every trial's pages get, pinned so that runs compare.

    Attributes:
        timezone: Apps show and store local times; the recorded states have Denver's.
        chromium: How Chromium is started; its time zone, language and window are set from here.
    """

    headless: bool = True
    viewport: tuple[int, int] = (1280, 720)
    locale: str = "en-US"
    timezone: str = "America/Denver"
    chromium: ChromiumOptions = field(default_factory=ChromiumOptions)

    def options(self) -> ChromiumOptions:
        """Return how Chromium is started."""
        return replace(
            self.chromium,
            headless=self.headless,
            window=self.viewport,
            language=self.locale,
            timezone=self.timezone,
        )

    def public(self) -> dict[str, Any]:
        """Return the settings that are recorded with a run."""
        return {
            "viewport": list(self.viewport),
            "locale": self.locale,
            "timezone": self.timezone,
            "headless": self.headless,
        }


@dataclass(frozen=True)
class Lease:
    """A browser context for one trial, and its Chromium.

    Attributes:
        context: Playwright's `BrowserContext`, without cookies or storage of earlier trials.
        gateway: The agent's way to a Chromium of its own; None where Chromium is shared.
        guard: Refuses paths of the apps in the whole of that Chromium, once it is armed.
        watch: What is found of the agent.
        cuts: Whether the agent's connections are closed when its part is over.
        port_watch: Sees who connects to that Chromium past the gateway.
    """

    context: Any
    chromium: Chromium
    gateway: Gateway | None = None
    guard: BrowserGuard | None = None
    watch: IntegrityWatch = field(default_factory=IntegrityWatch)
    cuts: bool = True
    port_watch: PortWatch | None = None

    @property
    def alone(self) -> bool:
        """Whether this Chromium is for this trial only."""
        return self.gateway is not None

    @property
    def cdp_url(self) -> str:
        """The CDP URL for the agent."""
        return (self.gateway or self.chromium).cdp_url

    @property
    def version(self) -> str:
        """Name and version of the browser."""
        browser = self.context.browser
        return "" if browser is None else f"Chromium {browser.version}"

    @property
    def crashed_by_agent(self) -> bool:
        """Whether a command of the agent crashed a page of its own Chromium."""
        return self.gateway is not None and self.gateway.log.crashed

    async def why_ended(self) -> str | None:
        """Return the agent's act that ended Chromium; None while it runs.

        Raises:
            BrowserError: It ended, and nothing shows that the agent ended it.
        """
        if self.gateway is not None:
            return await why_ended(self.chromium, self.gateway)
        self.chromium.check_alive()
        return None

    async def arm(self) -> None:
        """Begin to refuse the harness's paths in every page and context of a Chromium of its own.

        Raises:
            BrowserError: Chromium does not answer.
        """
        if self.guard is not None:
            await self.guard.arm()
        if self.port_watch is not None:
            self.port_watch.arm()

    async def disarm(self) -> None:
        """Let the harness open these paths itself."""
        if self.guard is not None:
            await self.guard.disarm()

    async def cut_agent(self) -> None:
        """Close the agent's connections to Chromium."""
        if self.gateway is not None and self.cuts:
            await self.gateway.close()
        if self.port_watch is not None:
            await self.port_watch.report(self.watch.note_act)


class Browsers:
    """Opens browser contexts for trials; the shared Chromium runs as long as the event loop.

    Args:
        settings: What pages get as time zone, language and size.
        guarded: Whether agents' acts are checked and their connections cut; without it only tests show
            what the checks are for.
    """

    def __init__(self, settings: BrowserSettings | None = None, *, guarded: bool = True) -> None:
        self.settings = settings or BrowserSettings()
        self._guarded = guarded
        self._shared: SharedChromium | None = None

    @asynccontextmanager
    async def open_context(
        self, *, alone: bool = False, origins: Iterable[str] = (), hidden: tuple[Path, ...] = ()
    ) -> AsyncIterator[Lease]:
        """Open a fresh context for the time of the block.

        Args:
            alone: In a Chromium of its own.
            origins: The apps', whose guarded paths are then refused in all of it.
            hidden: Files that its Chromium must not read; a shared one that can read some takes no
                more trials and ends with its last.

        Raises:
            BrowserError: Chromium is missing, did not start, or died.
        """
        opened = self._open_alone(tuple(origins), hidden) if alone else self._open_shared(hidden)
        async with opened as lease:
            yield lease

    async def close(self) -> None:
        """End the shared Chromium; the next trial starts another."""
        if self._shared is not None:
            await self._shared.close()
            self._shared = None

    @asynccontextmanager
    async def _open_shared(self, hidden: tuple[Path, ...]) -> AsyncIterator[Lease]:
        shared = self._running(hidden)
        width, height = self.settings.viewport
        opened = shared.open_context(
            viewport={"width": width, "height": height},
            locale=self.settings.locale,
            timezone_id=self.settings.timezone,
            service_workers="block",  # a worker would answer requests past the guard
        )
        async with opened as context:
            yield Lease(context, shared.chromium, watch=IntegrityWatch(watched=True))

    @asynccontextmanager
    async def _open_alone(
        self, origins: tuple[str, ...], hidden: tuple[Path, ...]
    ) -> AsyncIterator[Lease]:
        watch = IntegrityWatch(watched=True)
        async with attached_chromium(self._options(hidden)) as (chromium, browser):
            # the default context: an agent that attaches by CDP (browser-use, say) works in this one
            context = browser.contexts[0]
            await _size(context, self.settings.viewport)
            port = urlsplit(chromium.cdp_url).port or 0
            places = Places({port: IntegrityCode.DEBUGGING_PORT}, origins, is_guarded)
            if not self._guarded:
                async with open_gateway(chromium.cdp_url, RuleBook(())) as gateway:
                    yield Lease(context, chromium, gateway, watch=watch, cuts=False)
                return
            async with (
                open_guard(chromium.ws_url, places, watch.note_act) as guard,
                open_gateway(chromium.cdp_url, RuleBook(places=places), watch.note_act) as gateway,
            ):
                await guard.disarm()  # the harness opens these paths first
                port_watch = PortWatch(port, lambda: gateway.local_ports)
                yield Lease(context, chromium, gateway, guard, watch, port_watch=port_watch)

    def _options(self, hidden: tuple[Path, ...]) -> ChromiumOptions:
        return replace(self.settings.options(), hidden=hidden)

    def _running(self, hidden: tuple[Path, ...]) -> SharedChromium:
        loop, shared = asyncio.get_running_loop(), self._shared
        if shared is None or not shared.usable(loop, hidden):
            if shared is not None:
                shared.retire()  # trials that are in it go on
            self._shared = shared = SharedChromium(self._options(hidden), loop)
        return shared


async def _size(context: Any, viewport: tuple[int, int]) -> None:
    from playwright.async_api import Error

    try:
        for page in context.pages:
            # the default context exists before Playwright attaches, so that it takes no viewport option
            await page.set_viewport_size({"width": viewport[0], "height": viewport[1]})
    except Error as error:
        raise BrowserError(f"Chromium does not size its pages: {error}") from error
