"""A page with two buttons that tell a server that they were pressed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = """<!doctype html><title>Buttons</title><button onclick="post('red')">red</button>
<button onclick="post('blue')">blue</button><script>
const post = name => { const ask = new XMLHttpRequest(); ask.open('POST', '/' + name, false); ask.send() }</script>"""


class Posts(ThreadingHTTPServer):
    """A page with two buttons, and what they were pressed for, in order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Buttons)
        self.posted: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/"


class _Buttons(BaseHTTPRequestHandler):
    server: Posts

    def do_GET(self) -> None:
        self._send(PAGE.encode())

    def do_POST(self) -> None:
        self.server.posted.append(self.path[1:])
        self._send(b"")

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def buttons() -> Iterator[Posts]:
    """Serve the page."""
    with Posts() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
