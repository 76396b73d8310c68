"""Decide whether the agent ended its browser."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from bench_core.browser.commands import closes_page
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from bench_core.browser.chromium import Chromium
    from bench_core.browser.gateway import Gateway

__all__ = ["why_ended"]

_END_S = 30.0
_WINDOW_S = 1.0


async def why_ended(chromium: Chromium, gateway: Gateway) -> str | None:
    """Return the agent's command that ended its browser, as a sentence; None while that runs.

    A browser that is about to end is waited for: its connections break before its process is gone.

    Raises:
        BrowserError: It ended and no command of the agent ends a browser, or the gateway failed.
    """
    if gateway.fault is not None:
        raise BrowserError(f"the gateway to the browser failed: {gateway.fault!r}")
    ending = gateway.log.ending
    if ending is not None or gateway.hung_up:
        # Without a window Chromium stays, unless it has no debugging pipe.
        last_tab = ending is not None and closes_page(ending) and not gateway.hung_up
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(chromium.wait_closed(), _WINDOW_S if last_tab else _END_S)
    if chromium.alive:
        return None
    if ending is None:
        chromium.check_alive()
    return f"the agent ended its browser: it sent {ending}"
