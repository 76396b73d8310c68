"""A site that uses what is hard to record, over HTTP/1.1 and HTTP/2, and the drive through it.

Every request has its own number in the query, so that what the server saw can be compared one by one.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

import trustme
from hypercorn.asyncio import serve
from hypercorn.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVICE = """
self.addEventListener('install', event => event.waitUntil(
  caches.open('c').then(cache => cache.addAll(['/json?sw-cached']).then(() => skipWaiting()))));
self.addEventListener('activate', event => event.waitUntil(
  registration.navigationPreload.enable().then(() => clients.claim())));
self.addEventListener('fetch', event => {
  const url = event.request.url;
  if (url.includes('by-preload'))
    event.respondWith(event.preloadResponse.then(found => found || fetch(event.request)));
  else if (url.includes('unused-preload'))
    event.respondWith(new Response('own', {headers: {'content-type': 'text/html'}}));
  else if (url.includes('by-worker')) event.respondWith(fetch(event.request));
});
self.addEventListener('message', ({data, ports: [port]}) =>
  fetch(data, {method: 'POST', body: 'from a service'}).then(() => port.postMessage(1)));
"""
_WORKER = """onmessage = ({data}) =>
  fetch(data, {method: 'POST', body: 'from a worker'}).then(() => postMessage(1));"""
_SHARED = """onconnect = ({ports: [port]}) =>
  port.onmessage = ({data}) => fetch(data).then(() => port.postMessage(1));"""


@dataclass
class SeenRequest:
    """What the server saw of a request."""

    method: str
    url: str
    version: str
    body: bytes = b""


@dataclass
class HardSite:
    """The site's two addresses, and what it saw."""

    plain: str
    secure: str
    seen: list[SeenRequest] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        query, headers = scope["query_string"].decode(), dict(scope["headers"])
        # HTTP/2 has it in a field of its own
        url = f"{scope['scheme']}://{headers[b'host'].decode()}{scope['path']}"
        request = SeenRequest(
            scope["method"], f"{url}?{query}" if query else url, scope["http_version"]
        )
        self.seen.append(request)
        more = True
        while more:
            event = await receive()
            if event["type"] != "http.request":
                return
            request.body += event.get("body", b"")
            more = event.get("more_body", False)
        await self._answer(scope, parse_qs(query, keep_blank_values=True), send)

    async def _answer(self, scope: Any, query: dict[str, list[str]], send: Any) -> None:
        path, headers = scope["path"], dict(scope["headers"])
        kind, text = _FILES.get(path, ("text/html", "<!doctype html><title>x</title>"))
        if kind == "text/html":
            text += "<link rel=icon href='data:,'>"
        status, own = 200, [(b"cache-control", b"no-store")]
        if path == "/hop":
            status = int(query.get("status", ["302"])[0])
            own.append((b"location", query["to"][0].encode()))
        elif path == "/hints":
            style = f"/style.css?hinted={query['n'][0]}"
            if "http.response.early_hint" in scope.get("extensions", {}):
                link = f"<{style}>; rel=preload; as=style".encode()
                await send({"type": "http.response.early_hint", "links": [link]})
                await asyncio.sleep(0.2)
            text += f"<link rel=stylesheet href='{style}'><p>x"
        own += [
            (b"content-type", kind.encode()),
            (b"access-control-allow-origin", headers.get(b"origin", b"*")),
            (b"access-control-allow-headers", b"x-test,content-type"),
            (b"access-control-allow-methods", b"GET,POST,PUT"),
        ]
        await send({"type": "http.response.start", "status": status, "headers": own})
        for chunk in (text, "<p>a", "<p>b") if path == "/stream" else (text,):
            more = {"type": "http.response.body", "body": chunk.encode(), "more_body": True}
            await send(more)
        await send({"type": "http.response.body", "body": b""})


_FILES = {
    "/json": ("application/json", '{"a": 1}'),
    "/worker.js": ("text/javascript", _WORKER),
    "/shared.js": ("text/javascript", _SHARED),
    "/service.js": ("text/javascript", _SERVICE),
    "/module.js": ("text/javascript", "globalThis.loaded = 1; export {};"),
    "/script.js": ("text/javascript", "globalThis.ran = 1;"),
    "/style.css": ("text/css", "p { color: red }"),
    "/image.svg": ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
    "/events": ("text/event-stream", "data: 1\n\n"),
}
_DRIVE = Path(__file__).with_name("hard_drive.js").read_text(encoding="utf-8")
_REGISTER = """navigator.serviceWorker.register('/service.js')
  .then(() => navigator.serviceWorker.ready).then(() => new Promise(done => {
    if (navigator.serviceWorker.controller) done();
    navigator.serviceWorker.oncontrollerchange = done;
  })).then(() => 1)"""
_FORM = """document.body.innerHTML = `<form method=post enctype=multipart/form-data
  action="/hop?status=303&to=%2Fpage%3Fsent"><input name=a value=b><input type=file name=f></form>`; 1"""


class Driver(Protocol):
    """A tab of whatever drives the browser."""

    async def go(self, url: str) -> None:
        """Open a page and wait until it has loaded."""

    async def run(self, script: str) -> Any:
        """Evaluate JavaScript and wait for its promise."""

    async def choose(self, file: Path) -> None:
        """Choose a file in the page's only field for one."""

    async def loaded(self, url: str) -> None:
        """Wait until a page has loaded."""


async def drive(tab: Driver, site: HardSite, file: Path) -> None:
    """Make all requests: on each address three rounds, two of them under a service worker."""
    for root, other in ((site.plain, site.secure), (site.secure, site.plain)):
        name = root[:5].strip(":")
        await tab.go(f"{root}/page?start")
        await tab.run(f"({_DRIVE})('{name}-a', '{other}')")
        await tab.run(_REGISTER)
        for each in ("b", "c"):
            await tab.go(f"{root}/page?{each}")
            await tab.run(f"({_DRIVE})('{name}-{each}', '{other}')")
        await tab.go(f"{root}/hints?n={name}")
        await tab.go(f"{root}/page?form")
        await tab.run(_FORM)
        await tab.choose(file)
        await tab.run("document.forms[0].submit()")
        await tab.loaded(f"{root}/page?sent")
    await asyncio.sleep(1)  # what workers still send


@contextmanager
def hard_site(folder: Path) -> Iterator[HardSite]:
    """Serve the site over plain HTTP/1.1 and over TLS with HTTP/2, on a thread of its own."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    plain, secure = (each.getsockname()[1] for each in sockets)
    site = HardSite(f"http://localhost:{plain}", f"https://localhost:{secure}")
    certificate = trustme.CA().issue_cert("localhost", "127.0.0.1")
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    config = Config()
    config.certfile, config.keyfile = str(folder / "cert.pem"), str(folder / "key.pem")
    config.insecure_bind, config.bind = (
        [f"fd://{sockets[0].detach()}"],
        [f"fd://{sockets[1].detach()}"],
    )
    config.alpn_protocols, config.graceful_timeout, config.loglevel = (
        ["h2", "http/1.1"],
        0.1,
        "CRITICAL",
    )
    loop, done = asyncio.new_event_loop(), asyncio.Event()
    serving = serve(site, config, shutdown_trigger=done.wait)  # type: ignore[arg-type]
    thread = threading.Thread(target=loop.run_until_complete, args=(serving,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()
