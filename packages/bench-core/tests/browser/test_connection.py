"""Connections to a browser are closed whatever becomes of their beginning."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bench_core.browser.connection import CdpConnection
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from typing_extensions import Self


@pytest.mark.parametrize("answers", [b"", b"HTTP/1.1 404 Not Found\r\n\r\n"], ids=["none", "404"])
async def test_a_beginning_that_fails_leaves_no_connection(answers: bytes) -> None:
    async with _Server(answers, hangs_up=True) as server:
        with pytest.raises(BrowserError, match="no websocket"):
            await CdpConnection.open(server.url)
        await asyncio.wait_for(server.ended.wait(), 10)


async def test_a_beginning_that_is_given_up_leaves_no_connection() -> None:
    async with _Server(b"", hangs_up=False) as server:
        opening = asyncio.ensure_future(CdpConnection.open(server.url))
        await server.asked.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await asyncio.wait_for(server.ended.wait(), 10)


class _Server:
    """Takes a request, says what it is told to, and notes when the other end has closed the connection."""

    def __init__(self, answer: bytes, *, hangs_up: bool) -> None:
        self.asked, self.ended = asyncio.Event(), asyncio.Event()
        self._answer, self._hangs_up = answer, hangs_up

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}/devtools/browser/1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked.set()
        writer.write(self._answer)
        if self._hangs_up:
            writer.write_eof()
        if await reader.read() == b"":
            self.ended.set()
        writer.close()
