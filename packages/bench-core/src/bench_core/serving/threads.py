"""HTTP servers with a thread for each connection, with limits on each client's cost.

uvicorn under Starlette has only limits on headers and keep-alive: the deadline of a body, the memory
of all bodies under way, and room for the next connection would have to be written here anyway.
"""

from __future__ import annotations

import io
import logging
import re
import socket
import sys
import threading
import time
from contextlib import suppress
from email import errors
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from bench_core.serving.hosts import foreign_origin
from bench_core.serving.memory import share_one_heap
from bench_core.serving.requests import (
    MOST_HEAD,
    RefusedRequestError,
    body_length,
    check_host,
)
from bench_core.serving.tokens import behind_token

LOG = logging.getLogger(__name__)
_READ_AHEAD = io.DEFAULT_BUFFER_SIZE
_MOST_LINE = 1024
"""Bytes of a line that says how long a chunk is, or of a trailer."""
_MOST_TRAILERS = 32
_NO_TEXT = re.compile(r"[^\t -~\xa0-\xff]")
_PER_CHUNK = 32
"""Cost of a chunk in addition to its bytes: a body of chunks of one byte takes long to read."""
# lines that readers divide into headers in different ways: folded, with control characters, or without `\r`
_ODD_LINE = re.compile(rb"(?<!\r)\n|\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|^[ \t]")
_NO_HEADER = (
    errors.FirstHeaderLineIsContinuationDefect,
    errors.MalformedHeaderDefect,
    errors.MissingHeaderBodySeparatorDefect,
)
_POLL_S = 0.05  # `shutdown` waits for the next poll; the default is 0.5 s
_LEAVE_S = 5.0
_UNREAD = 1024 * 1024
_UNREAD_S = 1.0


class BoundedServer(ThreadingHTTPServer):
    """A server with a `BoundedHandler` for each client, within limits that all of them share.

    One thread answers each connection, and all share a heap with the process. With `most_connections` open, the one that has waited longest
    for its request makes room for the next. The bodies of all requests under way have at most
    `most_held` bytes.

    Attributes:
        token: Prefix of every path, so that only clients who know it are answered; None answers all.
    """

    # an answer that never ends must not keep the process alive
    daemon_threads = True
    # a handler that stalls on purpose or hangs must not keep a server from closing
    block_on_close = False
    # several browsers connect at once, each with several connections; the default backlog is 5
    request_queue_size = 128
    most_connections: ClassVar[int] = 256
    most_held: ClassVar[int] = 512 * 1024 * 1024
    token: str | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        self._waiting: dict[socket.socket, bool] = {}
        self._held = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        share_one_heap()
        super().__init__(*args, **more)

    def start(self, name: str | None = None) -> None:
        """Begin to answer, in a thread that keeps no process alive."""
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_S,), name=name, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the port and every connection, and wait for them; safe to call twice."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
        self._thread = None
        with self._changed:
            for each in self._waiting:
                _cut(each)
            self._changed.wait_for(lambda: not self._waiting, _LEAVE_S)
        self.server_close()

    def set_waiting(self, connection: socket.socket, *, waiting: bool) -> None:
        """Note whether a connection waits for its client, or for an answer of ours."""
        with self._changed:
            if connection in self._waiting:
                self._waiting[connection] = waiting

    def hold(self, size: int) -> None:
        """Take memory for a part of a body, or give it back.

        Raises:
            RefusedRequestError: The bodies under way have too much.
        """
        with self._changed:
            if size > 0 and self._held + size > self.most_held:
                raise RefusedRequestError(
                    HTTPStatus.SERVICE_UNAVAILABLE, "too many large requests at once"
                )
            self._held += size

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in its own thread, and make room for it."""
        with self._changed:
            if len(self._waiting) >= self.most_connections:
                _cut(next((each for each, waits in self._waiting.items() if waits), request))
            self._waiting[request] = True
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        with self._changed:
            self._waiting.pop(request, None)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error in a handler, unless its client is gone."""
        del request
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            LOG.error("a request of %s failed", client_address, exc_info=error)


class BoundedHandler(BaseHTTPRequestHandler):
    """Reads a request, and its body, before anything answers it.

    Attributes:
        body: The request's, whole and out of its chunks.
        idle_s: How long a connection may say nothing, or take nothing of an answer.
        request_s: Longest time from the first byte of a request to its last.
        most_body: Bytes that a body may have.
        any_host: Whether names of other machines are answered; the caller then checks the client.
        any_origin: Whether pages of other origins may change something.
    """

    protocol_version = "HTTP/1.1"
    server: BoundedServer
    body: bytes
    idle_s: ClassVar[float] = 60.0
    request_s: ClassVar[float] = 120.0
    most_body: ClassVar[int] = 8 * 1024 * 1024
    any_host: ClassVar[bool] = False
    any_origin: ClassVar[bool] = False

    def setup(self) -> None:
        """Read and write within the time limits."""
        super().setup()
        self.connection.settimeout(self.idle_s)
        self.rfile.close()
        self._arriving = _Arriving(self.connection, self.idle_s, self.request_s)
        self.rfile = io.BufferedReader(self._arriving, _READ_AHEAD)

    def handle_one_request(self) -> None:
        """Answer one request, or say why it is not answered."""
        self._arriving.begin()
        self._held = 0
        self.body, self.command, self.request_version, self.requestline = b"", "", "HTTP/1.1", ""
        self.server.set_waiting(self.connection, waiting=True)
        try:
            super().handle_one_request()
        except RefusedRequestError as refused:
            self.send_error(refused.status, explain=refused.message)
            self.wfile.flush()
            self._pass_over()
            self.close_connection = True
        finally:
            self.server.hold(-self._held)

    def parse_request(self) -> bool:
        """Read a request and its body.

        Raises:
            RefusedRequestError: It is none, is too large, or comes from where it must not.
        """
        arriving = self.rfile
        self.rfile = _HeaderLines(arriving)
        try:
            if not super().parse_request():
                return False
        finally:
            self.rfile = arriving
        try:
            urlsplit(self.path)
        except ValueError as error:
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, f"{error}") from None
        if any(isinstance(each, _NO_HEADER) for each in self.headers.defects):
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "a line of the headers is none")
        self._arriving.end_head()
        hosts = self.headers.get_all("Host", [])
        if not self.any_host:
            check_host(hosts)
        place = behind_token(self.path, self.server.token)
        if place is None:
            raise RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")
        self.path = place
        foreign = foreign_origin(self.command, self.headers.get("Origin"), "".join(hosts))
        if foreign and not self.any_origin:
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, foreign)
        lengths = self.headers.get_all("Content-Length", [])
        encodings = self.headers.get_all("Transfer-Encoding", [])
        length = body_length(lengths, encodings, self.most_body)
        if length is None:
            self.body = self._chunks()
            del self.headers["Transfer-Encoding"]
            self.headers["Content-Length"] = str(len(self.body))
        else:
            self.body = self._read(length)
        self.server.set_waiting(self.connection, waiting=False)
        return True

    def send_header(self, keyword: str, value: str) -> None:
        """Send a header without line ends in its value, which may come from a request."""
        super().send_header(keyword, _NO_TEXT.sub(lambda found: quote(found[0]), str(value)))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base's name
        """Write no line for a request: the terminal belongs to the command."""

    def _read(self, length: int) -> bytes:
        self.server.hold(length)
        self._held += length
        data = self.rfile.read(length) if length else b""
        if len(data) < length:
            raise ConnectionAbortedError("the client went away in the middle of its request")
        return data

    def _chunks(self) -> bytes:
        """Read a body in chunks.

        Raises:
            RefusedRequestError: They are none, or too many.
        """
        body = bytearray()
        left = self.most_body
        while size := self._size(left):
            body += self._read(size)
            left -= size + _PER_CHUNK
            if self._read(2) != b"\r\n":
                raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "a chunk is longer than it says")
        for _ in range(_MOST_TRAILERS):
            if not self._line():
                return bytes(body)
        raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "the body has too many trailers")

    def _size(self, most: int) -> int:
        word = self._line().partition(b";")[0].strip()
        # `int` also takes signs, blanks and underscores, which other readers do not
        if not word or word.strip(b"0123456789abcdefABCDEF") or len(word) > 15:  # as a length
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "a chunk does not say how long it is")
        size = int(word, 16)
        if size > most:
            raise RefusedRequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is more than {self.most_body} bytes"
            )
        return size

    def _line(self) -> bytes:
        line = self.rfile.readline(_MOST_LINE)
        if not line.endswith(b"\r\n"):
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "a line of the body has no end")
        return line[:-2]

    def _pass_over(self) -> None:
        """Read on a little: an answer is lost where a connection closes with bytes unread."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self._arriving.end_head(within_s=_UNREAD_S)
            left = _UNREAD
            while left > 0 and (read := self.rfile.read1(_READ_AHEAD)):
                left -= len(read)


class _HeaderLines(io.BufferedIOBase):
    """The lines of a head, each of which every reader takes for the same."""

    def __init__(self, lines: io.BufferedIOBase) -> None:
        self._lines = lines

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line.

        Raises:
            RefusedRequestError: It is not one line to every reader.
        """
        line = self._lines.readline(size)
        if _ODD_LINE.search(line):
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "a line of the headers is none")
        return line


class _Arriving(io.RawIOBase):
    """A client's bytes, as long as they arrive in time and the head stays within its limit."""

    def __init__(self, connection: socket.socket, idle_s: float, request_s: float) -> None:
        self._connection = connection
        self._idle_s, self._request_s = idle_s, request_s
        self._end: float | None = None
        self._left: int | None = None

    def begin(self) -> None:
        """Expect a request; its time limit starts at its first byte."""
        self._end, self._left = None, MOST_HEAD + _READ_AHEAD

    def end_head(self, within_s: float | None = None) -> None:
        """Expect the rest of a request; its size is limited elsewhere."""
        self._left = None
        if within_s is not None:
            self._end = time.monotonic() + within_s

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the bytes that have arrived.

        Raises:
            TimeoutError: Nothing came, or the request takes too long.
            RefusedRequestError: The head is too long.
        """
        now = time.monotonic()
        left = self._idle_s if self._end is None else min(self._idle_s, self._end - now)
        if left <= 0:
            raise TimeoutError("the request is not complete in time")
        self._connection.settimeout(left)
        try:
            count = self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(self._idle_s)
        if self._end is None:
            self._end = now + self._request_s
        if self._left is not None:
            self._left -= count
            if self._left < 0:
                raise RefusedRequestError(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"the headers are longer than {MOST_HEAD} bytes",
                )
        return count


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
