"""A local page to act on, and a model server that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.browser_use import import_browser_use

if TYPE_CHECKING:
    from collections.abc import Iterator

if find_spec("browser_use") is None:  # it needs Python 3.11
    collect_ignore_glob = ["test_*.py"]
else:
    import_browser_use()  # before a test module imports it: see `prepare`


@dataclass
class ModelServer:
    """A server at OpenAI's chat endpoint; `mode` says how it answers, `content` what."""

    url: str = ""
    mode: str = "answer"
    content: str = "hello"
    asked: list[dict[str, Any]] = field(default_factory=list)
    was_asked: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.model.asked.append(json.loads(body))
        self.model.was_asked.set()
        getattr(self, f"_{self.model.mode}")()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        message = {"role": "assistant", "content": self.model.content}
        self._send(
            200,
            "application/json",
            json.dumps(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "local-1",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                    "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
                }
            ),
        )

    def _error(self) -> None:
        self._send(500, "application/json", '{"error": {"message": "out of order"}}')

    def _refuse(self) -> None:
        self._send(401, "application/json", '{"error": {"message": "wrong key"}}')

    def _html(self) -> None:
        self._send(200, "text/html", "<!doctype html><h1>Welcome to the proxy</h1>")

    def _nothing(self) -> None:
        self._send(200, "application/json", "")

    def _hang(self) -> None:
        self.model.closing.wait(30)

    def _send(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    model = ModelServer()
    handler = type("Handler", (_Handler,), {"model": model})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield model
        model.closing.set()
        server.shutdown()
        thread.join()
