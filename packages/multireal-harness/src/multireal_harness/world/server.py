"""Server of one built-in app, on a loopback port of its own, so that each app is an origin of its own."""

from __future__ import annotations

import threading

from bench_core.fault_switches import FaultSwitches
from bench_core.serving import BoundedHandler, BoundedServer
from multireal_harness.world.clones import page
from multireal_harness.world.faults import FAULTS, ODD_JSON

_GARBAGE = bytes(range(128, 256))


class CloneServer:
    """A threaded HTTP server on 127.0.0.1 for one app; every path gives the app's one page.

    `stop` also ends stalled answers. The threads are daemons, which never keep a process alive.
    """

    def __init__(self, app: str) -> None:
        self.app = app
        self.faults = FaultSwitches(FAULTS)
        self.closing = threading.Event()
        self._http = _Server(self)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        """Begin to answer."""
        self._http.start(f"app {self.app}")

    def stop(self) -> None:
        """Answer no more and wait until the port is free."""
        self.closing.set()
        self._http.stop()


class _Server(BoundedServer):
    def __init__(self, owner: CloneServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _CloneHandler)


class _CloneHandler(BoundedHandler):
    server: _Server
    any_origin = True  # as the real apps

    def do_GET(self) -> None:
        owner = self.server.owner
        fault = owner.faults.take(self.path)
        kind = fault.kind if fault else ""
        if kind == "drop":
            self.close_connection = True
        elif kind == "garbage":
            self.wfile.write(_GARBAGE)
            self.close_connection = True
        elif fault is not None and kind == "odd_json":
            self._send(200, ODD_JSON[int(fault.value)].encode(), "application/json")
        elif kind == "stall":
            owner.closing.wait()
            self.close_connection = True
        elif fault is not None and kind == "status":
            self._send(
                int(fault.value), b"<!doctype html><title>Error</title><h1>Not available</h1>"
            )
        else:
            if fault is not None and kind == "slow":
                owner.closing.wait(fault.value)
            self._send(200, page(owner.app, kind if kind in {"invalid_json", "no_pre"} else ""))

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, status: int, body: bytes, kind: str = "text/html; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        # every visit must reach the server, as a fault may be switched on meanwhile
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
