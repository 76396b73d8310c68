"""Requests and answers of the model proxy over HTTP/1.1, one a connection, within limits."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOST_HEADERS", "BadRequestError", "Request", "Responder", "read_request"]

MOST_HEADERS = 64 * 1024
"""Bytes of a request's headers."""
_MOST_BODY = 64 * 1024 * 1024  # Anthropic takes 32 MB, OpenAI and Google 50 MB and less
_HEADERS_S = 30.0
_BODY_S = 120.0
_END = b"\r\n\r\n"
_LENGTH = re.compile(r"\d{1,12}")


class BadRequestError(Exception):
    """A request that is not passed on; `too_large` where a limit is the reason."""

    def __init__(self, message: str, *, target: str = "", too_large: bool = False) -> None:
        super().__init__(message)
        self.target = target
        self.too_large = too_large


@dataclass(frozen=True)
class Request:
    """One request; the names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    reader: asyncio.StreamReader

    async def body(self, responder: Responder) -> tuple[bytes, dict[str, Any]]:
        """Read the body, which has to be a JSON object, and return its bytes and what they say.

        Raises:
            BadRequestError: It is none, is too large or took too long.
        """
        if "transfer-encoding" in self.headers or "content-encoding" in self.headers:
            raise BadRequestError("send the body as it is, with its content-length")
        length = self.headers.get("content-length", "")
        if not _LENGTH.fullmatch(length):
            raise BadRequestError("the request has no content-length")
        if int(length) > _MOST_BODY:
            message = f"a body of {length} bytes is more than {_MOST_BODY}"
            raise BadRequestError(message, too_large=True)
        if self.headers.get("expect", "").lower() == "100-continue":
            await responder.write(b"HTTP/1.1 100 Continue" + _END)
        try:
            raw = await asyncio.wait_for(self.reader.readexactly(int(length)), _BODY_S)
            body = json.loads(raw)
        except asyncio.TimeoutError:
            raise BadRequestError(f"the body did not arrive within {_BODY_S:g} s") from None
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise BadRequestError("the body is no JSON object")
        return raw, body


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read the head of a request.

    Raises:
        BadRequestError: It is none, is too large or took too long.
        EOFError: The connection ended before.
    """
    try:
        head = await asyncio.wait_for(reader.readuntil(_END), _HEADERS_S)
    except asyncio.LimitOverrunError:
        message = f"the headers are longer than {MOST_HEADERS} bytes"
        raise BadRequestError(message, too_large=True) from None
    except asyncio.TimeoutError:
        raise BadRequestError(f"the headers did not arrive within {_HEADERS_S:g} s") from None
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):  # noqa: PLR2004  # method, target, version
        raise BadRequestError("no request of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        # two lengths, or a name with a space, are how one request is passed off as another
        if not colon or name != name.strip() or name in headers:
            raise BadRequestError(
                f"the header {name[:40]!r} is there twice, or is none", target=words[1]
            )
        headers[name] = value.strip()
    return Request(words[0], words[1], headers, reader)


class Responder:
    """Answers one request; once the other side is gone, what is written goes nowhere."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._begun = False
        self._open = False

    async def write(self, data: bytes) -> None:
        """Write bytes and wait until there is room for more."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            pass  # the call goes on: what it costs is known at its end

    async def whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Write a whole answer; does nothing where one has begun."""
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
        reason = "Status"
    lines = [
        f"HTTP/1.1 {status} {reason}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines)).encode("latin-1", "replace") + _END
