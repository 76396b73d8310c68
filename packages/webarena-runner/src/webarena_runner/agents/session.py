"""Attach browser-use to a browser that the runner owns, and let go of it again."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import BrowserHandle

__all__ = ["browser_answers", "browser_websocket", "close_session", "open_session"]

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
        cdp_url=await asyncio.to_thread(browser_websocket, handle.cdp_url),
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
    leaving = asyncio.ensure_future(session.reset())
    leaving.add_done_callback(_ignore_outcome)
    await asyncio.wait({leaving}, timeout=patience_s)
    leaving.cancel()


def browser_websocket(cdp_url: str) -> str:
    """Return the browser's websocket URL behind `http://host:port`; others as they are.

    browser-use would ask through the system's proxy, which cannot know a local port.
    """
    if not cdp_url.startswith(("http://", "https://")):
        return cdp_url
    return str(_version(cdp_url)["webSocketDebuggerUrl"])


def browser_answers(cdp_url: str) -> bool:
    """Return whether the browser behind a CDP URL is alive."""
    try:
        _version(cdp_url)
    except BrowserError:
        return False
    return True


def _version(cdp_url: str) -> dict[str, Any]:
    parts = urlsplit(cdp_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_LOOKUP_S)
    try:
        connection.request("GET", "/json/version")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise BrowserError(f"no browser answers at {cdp_url}: {error}") from error
    finally:
        connection.close()
    return found


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


def _ignore_outcome(task: asyncio.Future[Any]) -> None:
    """Take a task's exception so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
