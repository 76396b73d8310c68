"""Cookies set in a browser over DevTools, and read back, because Chromium drops some without an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websockets.exceptions import WebSocketException

from bench_core.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["inject_cookies"]


async def inject_cookies(
    ws_url: str, cookies: Sequence[Mapping[str, Any]], context_id: str | None = None
) -> None:
    """Set `cookies`, parameters of CDP's `Storage.setCookies`, for all tabs of the browser.

    With a `context_id` they are set for those of that browser context alone.

    Raises:
        EnvironmentFaultError: The browser cannot be reached, or did not keep one of them.
    """
    from cdp_use.client import CDPClient  # only needed where a browser runs

    within = {} if context_id is None else {"browserContextId": context_id}
    try:
        async with CDPClient(ws_url) as cdp:
            await cdp.send_raw("Storage.setCookies", {"cookies": list(cookies), **within})
            # `setCookies` reports success even for a cookie that Chromium drops
            kept = (await cdp.send_raw("Storage.getCookies", within))["cookies"]
    except (OSError, RuntimeError, WebSocketException) as error:
        raise EnvironmentFaultError(f"cookies cannot be set in the browser: {error}") from error
    present = {_identity(cookie) for cookie in kept}
    lost = [cookie for cookie in cookies if _identity(cookie) not in present]
    if lost:
        names = ", ".join(f"{cookie['name']} of {cookie['domain']}" for cookie in lost)
        raise EnvironmentFaultError(f"the browser did not keep the login cookies {names}")


def _identity(cookie: Mapping[str, Any]) -> tuple[str, str, str, str]:
    # Chromium returns the domain of a cookie for subdomains with a dot
    domain = str(cookie["domain"]).lstrip(".")
    return str(cookie["name"]), domain, str(cookie["path"]), str(cookie["value"])
