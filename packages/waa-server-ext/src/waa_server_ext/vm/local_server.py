"""Threaded HTTP servers that log nothing and drop idle connections."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from waa_server_ext.vm.client import VM_PORT

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

__all__ = ["LocalServer", "make_threaded_server"]

_IDLE_S = 60.0
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


def make_threaded_server(host: str, port: int, app: Any) -> BaseWSGIServer:
    """Return a listening server of a WSGI application, one thread per connection.

    A connection that says nothing for a minute is closed.

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
