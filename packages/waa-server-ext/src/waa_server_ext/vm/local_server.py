"""Threaded HTTP servers that log nothing and drop idle connections."""

from __future__ import annotations

import io
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from waa_server_ext.vm.client import VM_PORT

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

__all__ = ["LocalServer", "make_threaded_server"]

_IDLE_S = 60.0
_RECEIVE_S = 120.0
"""Longest time from the first byte of a request to its last."""

_BACKLOG = 128


class LocalServer:
    """Serves an application from threads of this process between `start` and `stop`.

    Attributes:
        port: Where it listens; 0 is a free one, known once it has started.
    """

    def __init__(self, name: str, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._name = name
        self._server: BaseWSGIServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def vm(self) -> str:
        """`host` where it is on WAA's port, else `host:port`; what `--vm` takes."""
        return self.host if self.port == VM_PORT else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Where a client on this machine finds it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self, app: Any) -> None:
        """Listen; answer until `stop`.

        Raises:
            InputError: The address is taken or not this machine's.
        """
        try:
            server = make_threaded_server(self.host, self.port, app)
        except OSError as error:
            raise InputError(
                f"{self._name} cannot listen on {self.host}:{self.port}: {error.strerror or error}"
            ) from error
        self._server, self.port = server, server.port
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop listening; safe to call twice."""
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            server.shutdown()
            self._thread.join()
            server.server_close()


class _Arriving(io.RawIOBase):
    """What a client sends, as long as it does so in time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end: float | None = None

    def begin(self) -> None:
        """Expect a request, whose time begins with its first byte."""
        self._end = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come.

        Raises:
            TimeoutError: Nothing came, or the request takes too long.
        """
        now = time.monotonic()
        left = _IDLE_S if self._end is None else min(_IDLE_S, self._end - now)
        if left <= 0:
            raise TimeoutError("the request is not complete in time")
        self._connection.settimeout(left)
        try:
            count = self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(_IDLE_S)
        if self._end is None:
            self._end = now + _RECEIVE_S
        return count


def make_threaded_server(host: str, port: int, app: Any) -> BaseWSGIServer:
    """Return a listening server of a WSGI application, one thread per connection.

    A connection that says nothing for a minute is closed, and so is one whose request is not
    complete two minutes after it began.

    Raises:
        OSError: The address is taken or not this machine's.
    """
    from werkzeug.serving import (  # noqa: PLC0415  # heavy
        ThreadedWSGIServer,
        WSGIRequestHandler,
    )

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _IDLE_S

        def setup(self) -> None:
            super().setup()
            self._arriving = _Arriving(self.connection)
            self.rfile = io.BufferedReader(self._arriving)

        def handle_one_request(self) -> None:
            self._arriving.begin()
            super().handle_one_request()

        def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  # werkzeug's name
            """Say nothing: what matters is recorded elsewhere."""

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # werkzeug ends the process where it cannot listen: it gets a socket that listens already
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        # a server that has just ended leaves its port in TIME_WAIT
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        return ThreadedWSGIServer(host, port, app, handler=Handler, fd=listening.fileno())
