"""Find the websocket behind a DevTools URL."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from bench_core.errors import BrowserError


async def websocket_url(cdp_url: str, timeout_s: float = 10.0) -> str:
    """Return the browser's DevTools websocket for `http://HOST:PORT`, with a path or without; a websocket URL as it is.

    Raises:
        BrowserError: Nothing that speaks DevTools answers there.
    """
    scheme = urlsplit(cdp_url).scheme
    if scheme in ("ws", "wss"):
        return cdp_url
    if scheme not in ("http", "https"):
        raise BrowserError(f"{cdp_url!r} is no DevTools URL: give http://HOST:PORT or ws://...")
    try:
        return await asyncio.to_thread(_ask, cdp_url, timeout_s)
    except (OSError, ValueError, KeyError) as error:
        raise BrowserError(
            f"no browser answers at {cdp_url}: {error}; is it running, "
            "and with --remote-debugging-port?"
        ) from error


def _ask(cdp_url: str, timeout_s: float) -> str:
    # A proxy of the environment has no way to this machine's loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{cdp_url.rstrip('/')}/json/version", timeout=timeout_s) as answer:
            return str(json.load(answer)["webSocketDebuggerUrl"])
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
