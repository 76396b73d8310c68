"""Threaded HTTP servers that keep quiet and let go of slow peers."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

__all__ = ["make_threaded_server"]

_IDLE_S = 60.0
_BACKLOG = 128


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
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        return ThreadedWSGIServer(host, port, app, handler=Handler, fd=listening.fileno())
