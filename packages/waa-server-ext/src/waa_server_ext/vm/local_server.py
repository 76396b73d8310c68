"""Threaded HTTP servers that log nothing and drop idle connections."""

from __future__ import annotations

import io
import socket
from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import Any

from typing_extensions import Self

from bench_core.errors import InputError
from bench_core.serving import BoundedHandler, BoundedServer, RefusedRequestError
from waa_server_ext.vm.client import VM_PORT
from waa_server_ext.vm.json_limits import check_size

_MOST_BODY = 128 * 1024 * 1024
"""The most bytes of a request with a transcript's bodies or a file; applications allow less."""


class LocalServer:
    """Serves an application from threads of this process between `start` and `stop`.

    Attributes:
        port: The port it listens on; 0 chooses a free one, known once it has started.

    With `checks_itself` the application decides which hosts and origins may ask; otherwise only names of
    this machine's loopback may, and no page of another origin.
    """

    def __init__(self, name: str, host: str, port: int, *, checks_itself: bool = False) -> None:
        self.host = host
        self.port = port
        self._name = name
        self._checks_itself = checks_itself
        self._server: BoundedServer | None = None

    @property
    def vm(self) -> str:
        """`host` if it is on WAA's port, else `host:port`; the form that `--vm` takes."""
        return self.host if self.port == VM_PORT else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL for clients on this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self, app: Any) -> None:
        """Listen; answer until `stop`.

        Raises:
            InputError: The address is taken or not this machine's.
        """
        try:
            server = make_threaded_server(
                self.host, self.port, app, checks_itself=self._checks_itself
            )
        except OSError as error:
            raise InputError(
                f"{self._name} cannot listen on {self.host}:{self.port}: {error.strerror or error}"
            ) from error
        self._server, self.port = server, server.server_address[1]
        server.start(self._name)

    def stop(self) -> None:
        """Stop listening; safe to call twice."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()


class LocalVm(ABC):
    """A VM's API answered by threads of this process; its `with` block starts and stops it."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self._server = LocalServer(name, host, port)

    @abstractmethod
    def _make_app(self) -> Any:
        """Return the WSGI application that answers."""

    @property
    def address(self) -> str:
        """`host` if it is on port 5000, else `host:port`; the form that `--vm` takes."""
        return self._server.vm

    def start(self) -> None:
        """Listen; answer until `stop`.

        Raises:
            InputError: The address is taken.
        """
        self._server.start(self._make_app())

    def stop(self) -> None:
        """Stop listening; safe to call twice."""
        self._server.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def make_threaded_server(
    host: str, port: int, app: Any, *, checks_itself: bool = False
) -> BoundedServer:
    """Return a listening server of a WSGI application, one thread per connection.

    Its limits are those of `bench_core.serving`. With `checks_itself` the application decides which hosts
    and origins may ask.

    Raises:
        OSError: The address is taken or not this machine's.
    """
    from werkzeug.serving import (
        ThreadedWSGIServer,
        WSGIRequestHandler,
    )

    class Handler(BoundedHandler, WSGIRequestHandler):  # type: ignore[misc]  # its server is both, too
        most_body = _MOST_BODY
        any_host = any_origin = checks_itself

        def parse_request(self) -> bool:
            if not super().parse_request():
                return False
            if not checks_itself and "json" in self.headers.get("Content-Type", "").lower():
                try:
                    check_size(self.body)
                except ValueError as error:
                    raise RefusedRequestError(HTTPStatus.BAD_REQUEST, str(error)) from None
            self.rfile = io.BytesIO(self.body)
            return True

        def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  # werkzeug's name
            """Log nothing: important events are recorded elsewhere."""

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing; werkzeug's version fails on an invalid path."""

    class BoundedWsgiServer(BoundedServer, ThreadedWSGIServer):
        """Werkzeug's, within limits."""

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # werkzeug exits the process if it cannot listen, so it gets a socket that is listening already
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        # a server that has just ended leaves its port in TIME_WAIT
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BoundedServer.request_queue_size)
        return BoundedWsgiServer(host, port, app, handler=Handler, fd=listening.fileno())
