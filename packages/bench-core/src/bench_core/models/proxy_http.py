"""Requests and answers of the model proxy over HTTP/1.1, one a connection, within limits."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bench_core.serving import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.serving.streams import Head

_MOST_BODY = 64 * 1024 * 1024  # Anthropic takes 32 MB, OpenAI and Google 50 MB and less
_BODY_S = 120.0
_END = b"\r\n\r\n"


async def read_body(
    head: Head, reader: asyncio.StreamReader, responder: Responder
) -> tuple[bytes, dict[str, Any]]:
    """Read the body, which has to be a JSON object, and return its bytes and the parsed object.

    Raises:
        RefusedRequestError: It is not a JSON object, is too large or took too long.
    """
    length = head.body_length(_MOST_BODY)
    if length is None or "content-encoding" in head.headers or "content-length" not in head.headers:
        raise _bad("send the body as it is, with its content-length")
    if head.headers.get("expect", "").lower() == "100-continue":
        await responder.write(b"HTTP/1.1 100 Continue" + _END)
    try:
        raw = await asyncio.wait_for(reader.readexactly(length), _BODY_S)
        body = json.loads(raw)
    except asyncio.TimeoutError:
        raise _bad(f"the body did not arrive within {_BODY_S:g} s") from None
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _bad("the body is no JSON object")
    return raw, body


def _bad(message: str) -> RefusedRequestError:
    return RefusedRequestError(HTTPStatus.BAD_REQUEST, message)


class Responder:
    """Answers one request; once the other side is gone, writes go nowhere."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._begun = False
        self._open = False

    async def write(self, data: bytes) -> None:
        """Write bytes and wait until there is room for more; ignore a lost connection."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            pass  # the call goes on: its cost is known at its end

    async def whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Write a whole answer; does nothing if one has begun."""
        if not self._begun:
            self._begun = True
            length = {"content-length": str(len(body)), "connection": "close"}
            await self.write(_head(status, {**headers, **length}) + body)

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin an answer that comes in pieces."""
        self._begun = self._open = True
        pieces = {"transfer-encoding": "chunked", "connection": "close"}
        await self.write(_head(status, {**headers, **pieces}))

    async def piece(self, data: bytes) -> None:
        """Write a piece at once."""
        if data:
            await self.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """Say that an answer in pieces is whole; one that is not is cut off, as it was for us."""
        if self._open:
            await self.write(b"0\r\n\r\n")


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        # a status that Python does not know, such as Anthropic's 529
        reason = "Status"
    lines = [
        f"HTTP/1.1 {status} {reason}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines)).encode("latin-1", "replace") + _END
