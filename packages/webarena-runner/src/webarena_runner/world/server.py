"""Server of one stand-in site on a loopback port of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Any, Literal, Protocol, get_args

from bench_core.fault_switches import FaultSwitches
from bench_core.serving import BoundedHandler, BoundedServer
from webarena_runner.unserved import Served, digest_of
from webarena_runner.world.messages import Request, Response, html

FaultKind = Literal["error", "busy", "stall", "drop", "garbage", "cut", "empty", "hang"]
"""`error`: status 500; `busy`: status 429; `stall`: never answer; `drop`: close the connection;
`garbage`: answer with bytes that are not HTTP; `cut`: end in the middle of the page; `empty`: a page
without content; `hang`: a page whose script never ends."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)

LOG = logging.getLogger(__name__)
_GARBAGE = bytes(range(128, 256))
_REMEMBERED = 100_000  # requests; a trial makes a few hundred
_LONGEST_TARGET = 8 * 1024  # longer than any URL of the tasks
_MISSING = 1000  # bytes that a truncated page announces and never sends
_HANGING = (
    "<!doctype html><title>Hanging</title><h1>This page never comes to rest</h1>"
    "<script>addEventListener('load', () => setTimeout(() => { for (;;) {} }, 50))</script>"
)
_PAGES = {
    "error": ("<!doctype html><title>Error</title><h1>500: something broke</h1>", 500),
    "busy": ("<!doctype html><title>Busy</title><h1>429: too many requests</h1>", 429),
    "empty": ("", 200),
    "hang": (_HANGING, 200),
}


class Answerer(Protocol):
    """An object that answers requests."""

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        ...


class SiteServer:
    """A threaded HTTP server on 127.0.0.1 in front of one site, with switchable faults.

    `stop` closes every connection, stalled ones included. Its threads never keep a process alive.
    """

    def __init__(self, site: Answerer, hostname: str) -> None:
        self.site = site
        self.faults = FaultSwitches(FAULTS)
        self.closing = threading.Event()
        self._served: deque[tuple[float, str, str, int, str]] = deque(maxlen=_REMEMBERED)
        self._hostname = hostname
        self._http = _SiteServer(self)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://{self._hostname}:{self._http.server_port}"

    def start(self) -> None:
        """Begin to answer."""
        self._http.start(self._hostname)

    def remember(self, method: str, target: str, status: int, body: bytes) -> None:
        """Write down an answer that is about to be given."""
        self._served.append((time.monotonic(), method, target, status, digest_of(body)))

    def served_since(self, moment: float) -> set[Served]:
        """Return all answers since a `moment` of `time.monotonic`."""
        return {
            Served(method, self.origin + path, status, digest)
            for at, method, path, status, digest in list(self._served)
            if at >= moment
        }

    def stop(self) -> None:
        """Stop answering and close every connection."""
        self.closing.set()
        self._http.stop()


class _SiteServer(BoundedServer):
    def __init__(self, owner: SiteServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _SiteHandler)


class _SiteHandler(BoundedHandler):
    server: _SiteServer
    any_origin = True  # sites have tokens in their forms
    server_version = "StandIn"
    sys_version = ""

    def do_GET(self) -> None:
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.body)
        if len(request.target) > _LONGEST_TARGET:
            self.send_error(414)
            return
        fault = owner.faults.take(request.path)
        kind = None if fault is None else fault.kind
        if kind in {"stall", "drop", "garbage"}:
            owner.remember(request.method, request.target, 0, b"")
            if kind == "stall":
                owner.closing.wait()
            elif kind == "garbage":
                self.wfile.write(_GARBAGE)
            self.close_connection = True
        elif kind in _PAGES:
            self._send(html(*_PAGES[kind]))
        else:
            self._send(_answer(owner.site, request), missing=_MISSING if kind == "cut" else 0)

    do_POST = do_GET
    do_PUT = do_GET
    do_DELETE = do_GET
    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base's own name
        LOG.debug(format, *args)

    def _send(self, response: Response, missing: int = 0) -> None:
        body = b"" if self.command == "HEAD" else response.body
        self.server.owner.remember(self.command, self.path, response.status, body)
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(response.body) + missing))
        # every visit must reach the server, as a fault may be switched on meanwhile
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
        if missing:
            self.close_connection = True


def _answer(site: Answerer, request: Request) -> Response:
    try:
        return site.handle(request)
    except Exception:  # a defect in a page must reach the browser as an error of the site
        LOG.exception("%s %s failed", request.method, request.target)
        return html(*_PAGES["error"])
