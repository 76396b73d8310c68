from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from bench_core.browser import websocket_url
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWERS = {
    "/good/json/version": json.dumps({"webSocketDebuggerUrl": "ws://127.0.0.1:1/devtools"}),
    "/other/json/version": json.dumps({"name": "not a browser"}),
    "/page/json/version": "<html>",
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = ANSWERS.get(self.path)
        self.send_response(404 if answer is None else 200)
        self.end_headers()
        self.wfile.write((answer or "").encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("slash", ["", "/"])
async def test_an_http_url_leads_to_the_browsers_websocket(server: str, slash: str) -> None:
    assert await websocket_url(f"{server}/good{slash}") == "ws://127.0.0.1:1/devtools"


async def test_a_websocket_url_is_returned_as_it_is() -> None:
    assert await websocket_url("ws://127.0.0.1:1/x") == "ws://127.0.0.1:1/x"


@pytest.mark.parametrize("path", ["/other", "/page", "/nothing"])
async def test_what_is_no_browser_is_a_clear_error(server: str, path: str) -> None:
    with pytest.raises(BrowserError, match=f"no browser answers at {server}{path}"):
        await websocket_url(server + path)


async def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(BrowserError, match="'localhost:9222' is no DevTools URL"):
        await websocket_url("localhost:9222")
