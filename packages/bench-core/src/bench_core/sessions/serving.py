"""Shared parts of session servers: one address, a token, checks of clients, and limits.

Not Starlette on uvicorn, which waits for a head or a body for as long as a client likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from bench_core.errors import InputError
from bench_core.models.proxy_http import Responder, read_body
from bench_core.serving import (
    RefusedRequestError,
    check_token,
    host_name,
    is_loopback,
    same_token,
)
from bench_core.serving.requests import MOST_HEAD
from bench_core.serving.streams import Head, read_head

_CONNECTIONS_BESIDE = 64
_END_S = 5.0


@dataclass(frozen=True)
class Limits:
    """Limits of a session server.

    Attributes:
        sessions: The most at once; each has its own world.
        message_bytes: The longest message or body of a request.
    """

    sessions: int = 4
    message_bytes: int = 1_000_000


class RefusedError(Exception):
    """A request that is answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Exchange:
    """One request and its answer.

    Attributes:
        request: Its head; the names of headers are in lower case.
        path: Without the query.
        cookies: As the client sent them.
    """

    request: Head
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    responder: Responder
    limits: Limits

    @property
    def path(self) -> str:
        """The requested path, without the query."""
        return self.request.target.partition("?")[0]

    @property
    def upgrades(self) -> bool:
        """Whether the client asks for a WebSocket."""
        return self.request.headers.get("upgrade", "").lower() == "websocket"

    def cookie(self, name: str) -> str | None:
        """Return a cookie of the client's."""
        for part in self.request.headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None

    async def body(self) -> dict[str, Any]:
        """Read the body, a JSON object; an empty one is an empty object.

        Raises:
            RefusedError: It is none, or too large.
        """
        length = self.request.headers.get("content-length", "0")
        if length == "0":
            return {}
        if length.isdecimal() and int(length) > self.limits.message_bytes:
            raise RefusedError(413, f"more than {self.limits.message_bytes} bytes")
        try:
            return (await read_body(self.request, self.reader, self.responder))[1]
        except RefusedRequestError as error:
            raise RefusedError(413 if error.too_large else 400, str(error)) from error

    async def answer(
        self, status: int, value: object, headers: dict[str, str] | None = None
    ) -> None:
        """Answer with JSON."""
        text = json.dumps(value, separators=(",", ":"))
        given = {"content-type": "application/json", "x-content-type-options": "nosniff"}
        await self.responder.whole(status, text.encode(), {**given, **(headers or {})})


@contextlib.asynccontextmanager
async def serve(
    handle: Callable[[Exchange], Awaitable[None]],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    open_paths: frozenset[str] = frozenset(),
    limits: Limits | None = None,
) -> AsyncIterator[str]:
    """Serve while the block runs; yields the base URL.

    The server refuses requests under another name than the address it was started with, and from pages in a browser:
    a page of the web would reach it by a name that leads to this machine.

    Args:
        handle: Answers one request.
        host: An address of this machine.
        port: Port to listen on; 0 takes a free one.
        token: The token that clients must send as `Authorization: Bearer`; None is allowed on loopback only.
        open_paths: Paths that reveal nothing of a session and need no token.
        limits: Limits on sessions and messages.

    Raises:
        InputError: The address is not free, or is open to others without a token, or the token can be
            guessed.
    """
    check_token(token)
    if token is None and not is_loopback(host):
        raise InputError(f"{host} can be reached from elsewhere: serve it with a token")
    bounds = limits or Limits()
    gate = _Gate(handle, host, token, open_paths, bounds)
    try:
        server = await asyncio.start_server(gate.accept, host, port, limit=MOST_HEAD)
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be listened on: {error.strerror or error}"
        ) from error
    name = f"[{host}]" if ":" in host else host
    try:
        yield f"http://{name}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await gate.close()


@dataclass
class _Gate:
    """Lets connections in, as many as are allowed and from whom is allowed."""

    handle: Callable[[Exchange], Awaitable[None]]
    host: str
    token: str | None
    open_paths: frozenset[str]
    limits: Limits
    running: set[asyncio.Task[None]] = field(default_factory=set)
    # those without a request yet, in the order in which they came
    silent: dict[asyncio.Task[None], None] = field(default_factory=dict)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # asyncio runs each connection in one
        if len(self.running) >= self.limits.sessions + _CONNECTIONS_BESIDE:
            longest = next(iter(self.silent), None)
            if longest is None:
                writer.close()
                return
            # it makes room, and no longer counts
            self._forget(longest)
            longest.cancel()
        self.running.add(task)
        self.silent[task] = None
        try:
            await self._answer(task, reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the client is gone, or the server ends
        finally:
            self._forget(task)
            writer.close()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        self.silent.pop(task, None)

    async def close(self) -> None:
        """End the connections that are open."""
        running = set(self.running)
        for each in running:
            each.cancel()
        if running:
            await asyncio.wait(running, timeout=_END_S)

    async def _answer(
        self,
        task: asyncio.Task[None],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        responder = Responder(writer)
        try:
            request = await read_head(reader, any_host=True)
            exchange = Exchange(request, reader, writer, responder, self.limits)
            self._check(exchange)
            self.silent.pop(task, None)
            await self.handle(exchange)
        except RefusedRequestError as error:
            await _refuse(responder, 431 if error.too_large else 400, str(error))
        except RefusedError as error:
            await _refuse(responder, error.status, str(error))

    def _check(self, exchange: Exchange) -> None:
        headers = exchange.request.headers
        name = host_name(headers.get("host", "")).strip("[]").lower()
        known = is_loopback(name) if is_loopback(self.host) else name == self.host.lower()
        if not known and self.host not in {"0.0.0.0", "::"}:  # noqa: S104  # with a token only
            raise RefusedError(421, f"this server does not answer for {name[:100]!r}")
        if "origin" in headers:
            raise RefusedError(403, "pages of a browser are not answered")
        if self.token is None or exchange.path in self.open_paths:
            return
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not same_token(given, self.token):
            raise RefusedError(401, "send the server's token as `Authorization: Bearer TOKEN`")


async def _refuse(responder: Responder, status: int, message: str) -> None:
    body = json.dumps({"detail": message}).encode()
    await responder.whole(status, body, {"content-type": "application/json"})
