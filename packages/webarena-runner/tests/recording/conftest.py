"""A site that logs what reaches it, a browser to visit it with, and a page to drive.

The browser lives as long as the test module, in an event loop on a thread of its own.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme
from cdp_use.client import CDPClient

from bench_core.browser import Chromium, ChromiumOptions, launch_chromium, websocket_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator


@dataclass
class Logged:
    """One request as the server saw it, and what it answered."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    status: int = 0
    answer: bytes = b""


@dataclass(repr=False)
class Site:
    """A running server: its port, its log."""

    port: int
    scheme: str
    log: list[Logged] = field(default_factory=list)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def seen(self, path: str) -> list[Logged]:
        return [each for each in self.log if each.path.startswith(path)]


class _Handler(BaseHTTPRequestHandler):
    """Answers by path; `?n=` makes each URL of a test unique.

    /page HTML, /json, /form, /gzip, /echo, /bytes; /hop/STATUS/TARGET redirects; /cookie sets;
    /slow/SECONDS answers late, /never not at all, /reset drops the connection; /worker.js,
    /shared.js and /service.js are worker scripts; /etag and /cached may be cached.
    """

    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else self._chunked()
        self.entry = Logged(self.command, self.path, list(self.headers.items()), body)
        self.site.log.append(self.entry)
        name = urlsplit(self.path).path.split("/")[1] or "page"
        getattr(self, f"_{name.replace('.', '_')}", self._missing)()

    do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _chunked(self) -> bytes:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return body

    def _send(
        self, status: int, kind: str, body: bytes, *headers: tuple[str, str], length: bool = True
    ) -> None:
        self.entry.status, self.entry.answer = status, body
        self.send_response(status)
        for name, value in (("Content-Type", kind), *headers):
            self.send_header(name, value)
        for name, value in _CORS:
            self.send_header(name, value.format(self.headers.get("Origin") or "*"))
        if length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _query(self, name: str, default: str = "") -> str:
        return parse_qs(urlsplit(self.path).query).get(name, [default])[0]

    def _page(self) -> None:
        head = f"<!doctype html><title>{self.path}</title>{_NO_ICON}"
        markup = f"{head}<p>caf\u00e9</p>{self._query('html')}"
        self._send(200, "text/html; charset=utf-8", markup.encode())

    def _json(self) -> None:
        self._send(200, "application/json", json.dumps({"path": self.path}).encode())

    def _form(self) -> None:
        self._send(201, "application/x-www-form-urlencoded", b"a=1&b=2")

    def _gzip(self) -> None:
        body = gzip.compress(json.dumps({"long": "x" * 5000}).encode())
        self._send(200, "application/json", body, ("Content-Encoding", "gzip"))

    def _big(self) -> None:
        size = int(self._query("size"))
        self._send(200, "application/json", b'"' + b"x" * (size - 2) + b'"')

    def _bytes(self) -> None:
        self._send(200, "application/octet-stream", bytes(range(256)))

    def _nothing(self) -> None:
        self._send(204, "text/plain", b"")

    def _hop(self) -> None:
        _, _, status, target = urlsplit(self.path).path.split("/", 3)
        query = urlsplit(self.path).query
        location = f"/{target}" + (f"?{query}" if query else "")
        cookie = ("Set-Cookie", f"hop{status}=1; Path=/")
        self._send(int(status), "text/html", b"moved", ("Location", location), cookie)

    def _cookie(self) -> None:
        name = self._query("name", "crumb")
        self._send(
            200,
            "application/json",
            b"{}",
            ("Set-Cookie", f"{name}=sweet%20tooth; Path=/; HttpOnly; SameSite=Lax"),
            ("Set-Cookie", f"{name}2=b; Path=/; Expires=Wed, 09 Jun 2100 10:18:14 GMT"),
        )

    def _slow(self) -> None:
        time.sleep(float(urlsplit(self.path).path.split("/")[2]))
        self._json()

    def _never(self) -> None:
        self.entry.status = -1
        self.connection.recv(1)  # until the browser gives up
        self.close_connection = True

    def _reset(self) -> None:
        self.entry.status = -1
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def _etag(self) -> None:
        headers = (("ETag", '"1"'), ("Cache-Control", "no-cache"))
        if self.headers.get("If-None-Match"):
            self._send(304, "text/html", b"", *headers)
        else:
            self._send(200, "text/html", b"<p>tagged", *headers)

    def _cached(self) -> None:
        self._send(200, "text/html", b"<p>kept", ("Cache-Control", "max-age=600"))

    def _worker_js(self) -> None:
        self._send(200, "text/javascript", _WORKER)

    def _shared_js(self) -> None:
        self._send(200, "text/javascript", _SHARED_WORKER)

    def _service_js(self) -> None:
        self._send(200, "text/javascript", _SERVICE_WORKER)

    def _favicon_ico(self) -> None:
        self._send(204, "image/x-icon", b"")

    def _missing(self) -> None:
        self._send(404, "text/html", b"missing")


# Chromium asks for /favicon.ico of a page without an icon at a moment of its own, also in a recording
_NO_ICON = "<link rel=icon href='data:,'>"
_CORS = (
    ("Access-Control-Allow-Origin", "{}"),
    ("Access-Control-Allow-Credentials", "true"),
    ("Access-Control-Allow-Headers", "content-type,x-test"),
    ("Access-Control-Allow-Methods", "GET,POST,PUT,DELETE"),
)

_WORKER = b"""
onmessage = async ({data}) => {
  const answer = await fetch(data.url, {method: 'POST', body: data.body});
  postMessage(answer.status);
};
"""

_SHARED_WORKER = b"""
onconnect = ({ports: [port]}) => {
  port.onmessage = async ({data}) => {
    const answer = await fetch(data.url, {method: 'POST', body: data.body});
    port.postMessage(answer.status);
  };
};
"""

_SERVICE_WORKER = b"""
oninstall = () => skipWaiting();
onactivate = event => event.waitUntil(clients.claim());
onfetch = event => {
  if (event.request.url.includes('via-sw')) event.respondWith(fetch(event.request));
};
onmessage = async ({data, ports: [port]}) => {
  const answer = await fetch(data.url, {method: 'POST', body: data.body});
  port.postMessage(answer.status);
};
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers drop connections; that is no news."""


@contextmanager
def serve(context: ssl.SSLContext | None = None) -> Iterator[Site]:
    site = Site(0, "https" if context else "http")
    handler = type("Handler", (_Handler,), {"site": site})
    server = _Server(("127.0.0.1", 0), handler)
    if context:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def plain_site() -> Iterator[Site]:
    with serve() as site:
        yield site


@pytest.fixture
def site(plain_site: Site) -> Site:
    """The HTTP site with an empty log."""
    plain_site.log.clear()
    return plain_site


@pytest.fixture(scope="session")
def secure_site() -> Iterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost", "127.0.0.1").configure_cert(context)
    with serve(context) as site:
        yield site


@contextmanager
def running(options: ChromiumOptions | None = None) -> Iterator[Chromium]:
    """Keep a browser open on a thread: fixtures of wide scope have no event loop."""
    up: Future[Chromium] = Future()

    async def keep(done: asyncio.Event) -> None:
        try:
            async with launch_chromium(options) as chromium:
                up.set_result(chromium)
                await done.wait()
        except BaseException as error:
            if not up.done():
                up.set_exception(error)
            raise

    loop = asyncio.new_event_loop()
    done = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(keep(done),))
    thread.start()
    try:
        yield up.result(60)
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """One browser for every test that does not end it."""
    options = ChromiumOptions(ignore_certificate_errors=True)
    with running(options) as chromium:
        yield chromium


@dataclass(repr=False)
class Tab:
    """A tab on a DevTools connection of its own, as an agent has."""

    client: CDPClient
    session: str
    target: str
    context: str

    async def send(self, method: str, **params: Any) -> Any:
        return await self.client.send_raw(method, params, self.session)

    async def run(self, script: str) -> Any:
        """Evaluate JavaScript with a user gesture and wait for its promise."""
        answer = await self.send(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def go(self, url: str) -> None:
        """Navigate and wait until the page has loaded."""
        await self.send("Page.navigate", url=url)
        await self.loaded(url)

    async def loaded(self, url: str) -> None:
        here = f"location.href === new URL({json.dumps(url)}).href"
        here += " && document.readyState === 'complete'"
        for _ in range(6000):  # a busy machine takes long
            try:
                if await self.run(here):
                    return
            except RuntimeError:  # between two documents
                pass
            await asyncio.sleep(0.01)
        raise TimeoutError(url)


@asynccontextmanager
async def open_tab(cdp_url: str) -> AsyncIterator[Tab]:
    client = CDPClient(await websocket_url(cdp_url))
    await client.start()
    try:
        context = (await client.send_raw("Target.createBrowserContext"))["browserContextId"]
        params = {"url": "about:blank", "browserContextId": context}
        target = (await client.send_raw("Target.createTarget", params))["targetId"]
        attach = {"targetId": target, "flatten": True}
        session = (await client.send_raw("Target.attachToTarget", attach))["sessionId"]
        yield Tab(client, session, target, context)
        await client.send_raw("Target.disposeBrowserContext", {"browserContextId": context})
    finally:
        await client.stop()


@pytest.fixture
async def tab(browser: Chromium) -> AsyncIterator[Tab]:
    """A tab with cookies and cache of its own."""
    async with open_tab(browser.cdp_url) as tab:
        yield tab


@pytest.fixture
def opened() -> Callable[[str], Any]:
    """Open a tab in another browser than the shared one."""
    return open_tab


@pytest.fixture
def settled() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Wait until a condition holds."""

    async def wait(holds: Callable[[], bool]) -> None:
        for _ in range(6000):  # a busy machine takes long
            if holds():
                return
            await asyncio.sleep(0.01)
        raise TimeoutError

    return wait
