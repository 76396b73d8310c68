"""Heads of requests on asyncio streams, for servers that pass requests on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from bench_core.serving import requests
from bench_core.serving.requests import RefusedRequestError

HEAD_S = 30.0
"""Longest time from the first byte of a head to its last, and for which a connection may say nothing."""
_END = b"\r\n\r\n"
_SPACE_TO_TILDE = range(33, 127)
_CONTROLS = {*map(chr, range(32)), "\x7f"} - {"\t"}


@dataclass(frozen=True)
class Head:
    """The head of a request; the names of headers are in lower case.

    Attributes:
        raw: As it came.
    """

    raw: bytes
    method: str
    target: str
    headers: Mapping[str, str]

    def body_length(self, most: int) -> int | None:
        """Return the body's length in bytes; None if it comes in chunks.

        Raises:
            RefusedRequestError: It cannot be known, or is more than `most`.
        """
        lengths, encodings = (
            [self.headers[name]] if name in self.headers else []
            for name in ("content-length", "transfer-encoding")
        )
        return requests.body_length(lengths, encodings, most)


async def read_head(reader: asyncio.StreamReader, *, any_host: bool = False) -> Head:
    """Read the head of a request; the reader's limit is `MOST_HEAD`, or more.

    Args:
        reader: The client's bytes.
        any_host: Whether names of other machines are accepted; the caller then checks the client.

    Raises:
        RefusedRequestError: It is malformed, is too large, took too long, or names another machine.
        EOFError: The connection ended before.
    """
    try:
        raw = await asyncio.wait_for(reader.readuntil(_END), HEAD_S)
    except asyncio.LimitOverrunError:
        raw = b""
    except asyncio.TimeoutError:
        raise RefusedRequestError(
            HTTPStatus.REQUEST_TIMEOUT, f"the headers did not arrive within {HEAD_S:g} s"
        ) from None
    if not 0 < len(raw) <= requests.MOST_HEAD:
        raise RefusedRequestError(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"the headers are longer than {requests.MOST_HEAD} bytes",
        )
    first, *lines = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    if (
        len(words) != 3  # method, target, version
        or not words[2].startswith("HTTP/1.")
        or not all(ord(each) in _SPACE_TO_TILDE for each in words[0] + words[1])
    ):
        raise RefusedRequestError(HTTPStatus.BAD_REQUEST, "no request of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        # two lengths, a name with a space, or an end of line that not every reader knows are how one
        # request is passed off as another
        if not colon or name != name.strip() or name in headers or _CONTROLS & set(line):
            raise RefusedRequestError(
                HTTPStatus.BAD_REQUEST, f"the header {name[:40]!r} is there twice, or is none"
            )
        headers[name] = value.strip()
    if not any_host:
        requests.check_host([headers["host"]] if "host" in headers else [])
    return Head(raw, words[0], words[1], headers)


def refusal(refused: RefusedRequestError) -> bytes:
    """Return the whole answer to a request that is refused."""
    status, body = refused.status, refused.message.encode()
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join(lines).encode() + _END + body
