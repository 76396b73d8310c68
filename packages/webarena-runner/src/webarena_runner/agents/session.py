"""Attach browser-use to a browser that the runner owns, and let go of it again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser import websocket_url
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import BrowserHandle

__all__ = ["browser_answers", "close_session", "open_session"]

_ATTACH_S = 30.0
_LOOKUP_S = 5.0


async def open_session(handle: BrowserHandle, scratch: Path) -> Any:
    """Attach to the browser and put the first start tab in front; downloads go to `scratch`.

    Raises:
        BrowserError: The browser cannot be reached.
    """
    from browser_use import BrowserProfile, BrowserSession  # noqa: PLC0415  # 1.5 s

    width, height = handle.viewport
    profile = BrowserProfile(
        cdp_url=await websocket_url(handle.cdp_url),
        is_local=False,
        keep_alive=True,
        enable_default_extensions=False,
        captcha_solver=False,
        downloads_path=scratch / "downloads",
        user_data_dir=scratch / "profile",  # never used, but made in a folder of its own otherwise
        viewport={"width": width, "height": height},
        no_viewport=False,
    )
    session = BrowserSession(browser_profile=profile)
    try:
        await asyncio.wait_for(session.start(), _ATTACH_S)
        await _focus_first(session, handle)
    except (TimeoutError, RuntimeError, ConnectionError, OSError) as error:
        await close_session(session)
        raise BrowserError(f"browser-use cannot attach to {handle.cdp_url}: {error}") from error
    return session


async def close_session(session: Any, patience_s: float = 3.0) -> None:
    """Let go of the browser without closing it; never waits long.

    `BrowserSession.kill` and `stop` wait for handlers that a page which never answers keeps busy;
    `reset` only drops the connection.
    """
    _expect_no_answers(session)
    leaving = asyncio.ensure_future(session.reset())
    leaving.add_done_callback(_ignore_outcome)
    await asyncio.wait({leaving}, timeout=patience_s)
    leaving.cancel()


async def browser_answers(cdp_url: str) -> bool:
    """Return whether the browser behind a CDP URL is alive."""
    parts = urlsplit(cdp_url)
    try:
        await websocket_url(f"http://{parts.netloc}", _LOOKUP_S)
    except BrowserError:
        return False
    return True


async def _focus_first(session: Any, handle: BrowserHandle) -> None:
    """Put the tab of the first start URL in front; browser-use takes any tab."""
    from browser_use.browser.events import SwitchTabEvent  # noqa: PLC0415  # 1.5 s

    if len(handle.start_urls) < 2:  # noqa: PLR2004  # one tab needs no choice
        return
    wanted = handle.start_urls[0].rstrip("/")
    for tab in await session.get_tabs():
        if tab.url.rstrip("/") == wanted:
            await session.event_bus.dispatch(SwitchTabEvent(target_id=tab.target_id))
            return


def _expect_no_answers(session: Any) -> None:
    """Take the errors that cdp-use gives requests under way when it disconnects.

    Who waits for them is cancelled in the same moment, and asyncio would complain.
    """
    if session.is_cdp_connected:
        for request in session.cdp_client.pending_requests.values():
            request.add_done_callback(_ignore_outcome)


def _ignore_outcome(task: asyncio.Future[Any]) -> None:
    """Take a task's exception so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
