"""A browser of a few lines behind a gateway, and an agent's connection to it."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser import RuleBook, open_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench_core.browser import Gateway

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate\r\nX-Own: kept\r\n\r\n"
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


def frame(
    payload: bytes, opcode: int = 1, *, final: bool = True, key: bytes | None = b"\1\2\3\4"
) -> bytes:
    """Write a frame as a client does, or as a server where there is no key."""
    masked = 0x80 if key is not None else 0
    size = len(payload)
    if size < 126:
        length = bytes([masked | size])
    elif size < 1 << 16:
        length = bytes([masked | 126]) + size.to_bytes(2, "big")
    else:
        length = bytes([masked | 127]) + size.to_bytes(8, "big")
    body = payload
    if key is not None:
        body = bytes(each ^ key[place % 4] for place, each in enumerate(payload))
    return bytes([(0x80 if final else 0) | opcode]) + length + (key or b"") + body


def command(method: str, **params: Any) -> bytes:
    return json.dumps({"id": 1, "method": method, "params": params}).encode()


class Browser:
    """Speaks DevTools' HTTP and lets `talk` have every websocket."""

    def __init__(self, talk: Talk | None = None, pages: tuple[str, ...] = ("A",)) -> None:
        self.heads: list[str] = []
        self.pages = list(pages)
        self.received = bytearray()
        self.cut = 0
        self._talk = talk or self._keep

    @asynccontextmanager
    async def serving(self, rules: RuleBook | None = None) -> AsyncIterator[Gateway]:
        """Serve behind a gateway that passes everything, or what `rules` let pass."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            async with open_gateway(f"http://127.0.0.1:{port}", rules or RuleBook(())) as gateway:
                yield gateway
            assert gateway.fault is None
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            if "Upgrade: websocket" in head:
                writer.write(SWITCHED)
                await self._talk(reader, writer)
            else:
                body = json.dumps(self._told(head)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length:%d\r\n\r\n" % len(body) + body)
                await reader.read()  # as Chromium does, it leaves closing to the other side
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.cut += 1
            writer.close()

    def _told(self, head: str) -> Any:
        path = head.split(" ")[1] if " " in head else ""
        host = head.partition("Host: ")[2].partition("\r\n")[0]
        if path == "/json/list":
            return [{"id": each, "type": "page"} for each in self.pages]
        return {"path": path, "webSocketDebuggerUrl": f"ws://{host}/devtools/browser/1"}

    async def _keep(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 16):
            self.received += chunk


@asynccontextmanager
async def websocket(
    gateway: Gateway, path: str = "/devtools/browser/1"
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    address = urlsplit(gateway.cdp_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(UPGRADE.format(path=address.path + path, host=address.netloc).encode())
        assert await reader.readuntil(b"\r\n\r\n") == SWITCHED
        yield reader, writer
    finally:
        writer.close()


def request(url: str, method: str = "GET") -> None:
    asked = urllib.request.Request(url, method=method)  # noqa: S310  # loopback
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310  # same
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer, which holds its connection
        raise


async def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    for _ in range(int(seconds / 0.01)):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")
