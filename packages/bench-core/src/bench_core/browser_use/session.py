"""Attach browser-use to a browser that another program owns."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser import websocket_url
from bench_core.browser_use.release import release_session
from bench_core.errors import BrowserError
from bench_core.files.temporary import owned_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.protocols import BrowserHandle

_ATTACH_S = 30.0
_LOOKUP_S = 5.0


@asynccontextmanager
async def attached_session(handle: BrowserHandle) -> AsyncIterator[Any]:
    """Attach to the browser, put the first start tab in front, and detach at the end.

    Raises:
        BrowserError: The browser cannot be reached.
    """
    scratch = owned_folder("proctor-agent")
    try:
        from browser_use import BrowserProfile, BrowserSession  # 1.5 s

        width, height = handle.viewport
        profile = BrowserProfile(
            cdp_url=await websocket_url(handle.cdp_url),
            # Ours to end: browser-use kills the browsers that it counts as local.
            is_local=False,
            keep_alive=True,
            enable_default_extensions=False,
            captcha_solver=False,
            downloads_path=scratch / "downloads",
            user_data_dir=scratch
            / "profile",  # never used, but made in a folder of its own otherwise
            viewport={"width": width, "height": height},
            no_viewport=False,
        )
        session = BrowserSession(browser_profile=profile)
        try:
            await _start(session, handle)
            yield session
        finally:
            await release_session(session)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def browser_answers(cdp_url: str) -> bool:
    """Return whether the browser behind a CDP URL is alive."""
    parts = urlsplit(cdp_url)
    try:
        await websocket_url(f"http://{parts.netloc}", _LOOKUP_S)
    except BrowserError:
        return False
    return True


async def _start(session: Any, handle: BrowserHandle) -> None:
    try:
        await asyncio.wait_for(session.start(), _ATTACH_S)
        await _focus_first(session, handle)
    except (asyncio.TimeoutError, RuntimeError, ConnectionError, OSError) as error:
        raise BrowserError(f"browser-use cannot attach to {handle.cdp_url}: {error}") from error


async def _focus_first(session: Any, handle: BrowserHandle) -> None:
    """Put the tab of the first start URL in front; browser-use takes any tab."""
    from browser_use.browser.events import SwitchTabEvent  # 1.5 s

    if len(handle.start_urls) < 2:  # one tab needs no choice
        return
    wanted = handle.start_urls[0].rstrip("/")
    for tab in await session.get_tabs():
        if tab.url.rstrip("/") == wanted:
            await session.event_bus.dispatch(SwitchTabEvent(target_id=tab.target_id))
            return
