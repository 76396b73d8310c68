"""The browser of a trial: its own Chromium behind a gateway, or a fresh context in a shared one.

An agent that is given an address (browser-use, one of yours) would see the pages of every context of its Chromium,
so it gets one of its own. Agents that work in this process act on a Playwright context, and many contexts share one
Chromium, which saves most of the time of a start.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_core.browser.chromium import launch_chromium
from bench_core.browser.commands import closes_page
from bench_core.browser.gateway import open_gateway
from bench_core.browser.guard import open_guard
from bench_core.browser.held_dialogs import HeldDialogs
from bench_core.browser.rules import RuleBook
from bench_core.browser.shared import SharedChromium, attached_chromium
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bench_core.browser.chromium import Chromium
    from bench_core.browser.gateway import Gateway
    from bench_core.browser.guard import BrowserGuard
    from bench_core.browser.options import ChromiumOptions
    from bench_core.browser.places import Places
    from bench_core.records.integrity import IntegrityCode

    Found = Callable[[IntegrityCode, bool, str], None]

_END_S = 30.0
_WINDOW_S = 1.0


@dataclass(frozen=True)
class TrialBrowser:
    """The browser of one trial.

    Attributes:
        found: Called with an integrity code, whether the act was refused, and its URL or command.
        context: Playwright's `BrowserContext`, without cookies or storage of earlier trials; None if
            Playwright is not attached.
        gateway: The agent's way to a Chromium of its own; None if Chromium is shared.
        guard: Refuses places of the harness in the whole of that Chromium, or in a shared one.
        dialogs: Answers the dialogs of the context while no agent works.
    """

    chromium: Chromium
    found: Found
    context: Any = None
    gateway: Gateway | None = None
    guard: BrowserGuard | None = None
    dialogs: HeldDialogs | None = None

    @property
    def alone(self) -> bool:
        """Whether this Chromium is for this trial only."""
        return self.gateway is not None

    @property
    def cdp_url(self) -> str:
        """The CDP URL for the agent."""
        return (self.gateway or self.chromium).cdp_url

    async def why_ended(self) -> str | None:
        """Return the agent's command that ended Chromium, as a sentence; None while it runs.

        A Chromium that is about to end is waited for: its connections break before its process is gone.

        Raises:
            BrowserError: It ended and no command of the agent ends a browser, or the gateway failed.
        """
        chromium, gateway = self.chromium, self.gateway
        if gateway is None:
            chromium.check_alive()
            return None
        if gateway.fault is not None:
            raise BrowserError(f"the gateway to the browser failed: {gateway.fault!r}")
        ending = gateway.log.ending
        if ending is not None or gateway.hung_up:
            # Without a window Chromium stays, unless it has no debugging pipe.
            last_tab = ending is not None and closes_page(ending) and not gateway.hung_up
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(chromium.wait_closed(), _WINDOW_S if last_tab else _END_S)
        if chromium.alive:
            return None
        if ending is None:
            chromium.check_alive()
        return f"the agent ended its browser: it sent {ending}"

    async def arm(self) -> None:
        """Begin to refuse the harness's places: the harness has done its own work there.

        Raises:
            BrowserError: Chromium does not answer.
        """
        if self.dialogs is not None:
            self.dialogs.hold()
        if self.guard is not None:
            await self.guard.arm()

    async def disarm(self) -> None:
        """Let the harness open its own places and answer pages' dialogs itself."""
        if self.dialogs is not None:
            self.dialogs.release()
        if self.guard is not None:
            await self.guard.disarm()


@asynccontextmanager
async def open_own_browser(
    options: ChromiumOptions,
    found: Found,
    places: Places | None,
    *,
    attached: bool = False,
) -> AsyncIterator[TrialBrowser]:
    """Start a Chromium for one trial, with a gateway before it and a guard within.

    Args:
        options: Start options.
        found: Called with each forbidden attempt.
        places: Places closed to agents; None refuses nothing, for tests that show
            the consequences.
        attached: Whether Playwright is attached to it, too.

    Raises:
        BrowserError: Chromium is missing, does not start, or does not answer.
    """
    async with AsyncExitStack() as stack:
        context = None
        if attached:
            chromium, browser = await stack.enter_async_context(attached_chromium(options))
            # the default context: an agent that attaches by CDP (browser-use, say) works in this one
            context = browser.contexts[0]
        else:
            chromium = await stack.enter_async_context(launch_chromium(options))
        dialogs = None if context is None else HeldDialogs(context)
        if places is None:
            unchecked = open_gateway(chromium.cdp_url, RuleBook(()))
            gateway = await stack.enter_async_context(unchecked)
            yield TrialBrowser(chromium, found, context, gateway, dialogs=dialogs)
            return
        guard = await stack.enter_async_context(open_guard(chromium.ws_url, places, found))
        gateway = await stack.enter_async_context(
            open_gateway(chromium.cdp_url, RuleBook(places=places), found)
        )
        yield TrialBrowser(chromium, found, context, gateway, guard, dialogs)


class SharedBrowser:
    """The Chromium that trials share, each in a fresh context; it runs as long as the event loop."""

    def __init__(self) -> None:
        self._shared: SharedChromium | None = None

    @asynccontextmanager
    async def open(
        self,
        options: ChromiumOptions,
        found: Found,
        places: Places | None = None,
        *,
        one_by_one: bool = False,
        **context_options: Any,
    ) -> AsyncIterator[TrialBrowser]:
        """Open a fresh context, with Playwright's options, for the time of the block.

        Args:
            options: Start options, if Chromium does not run yet. One that can read files that these hide
                takes no more trials and ends with its last.
            found: Called with each forbidden attempt.
            places: Places closed to agents; with None the context has no guard.
            one_by_one: End a Chromium that still has another trial's context: a client that sees a whole Chromium, as a
                recorder does, must see this trial alone.
            context_options: The options of the context.

        Raises:
            BrowserError: Chromium is missing, did not start, or died.
        """
        if one_by_one and self._shared is not None and self._shared.in_use:
            await self.close()
        loop = asyncio.get_running_loop()
        if self._shared is None or not self._shared.usable(loop, options.hidden):
            if self._shared is not None:
                self._shared.retire()  # trials that are in it go on
            self._shared = SharedChromium(options, loop)
        shared = self._shared
        async with AsyncExitStack() as stack:
            context = await stack.enter_async_context(shared.open_context(**context_options))
            guard = None
            if places is not None:
                guard = await stack.enter_async_context(
                    open_guard(shared.chromium.ws_url, places, found)
                )
            dialogs = HeldDialogs(context)
            yield TrialBrowser(shared.chromium, found, context, None, guard, dialogs)

    async def close(self) -> None:
        """End the Chromium; the next trial starts another."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()
