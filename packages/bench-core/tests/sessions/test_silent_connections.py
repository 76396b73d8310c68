"""Connections that say nothing keep no one else from a server of sessions."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from urllib.parse import urlsplit

from bench_core.sessions.serving import Exchange, Limits, serve


async def ask(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def test_three_hundred_silent_connections_shut_no_one_out() -> None:
    async def handle(exchange: Exchange) -> None:
        await exchange.responder.whole(200, json.dumps(exchange.path).encode(), {})

    async with serve(handle, limits=Limits(sessions=1)) as url:
        parts = urlsplit(url)
        host, port = str(parts.hostname), int(parts.port or 0)
        silent = [await asyncio.open_connection(host, port) for _ in range(300)]
        assert b"200 OK" in await ask(host, port)
        # the latest still may ask: only those that waited longest made room
        reader, writer = silent[-1]
        writer.write(f"GET /late HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert b"200 OK" in await reader.read()
        for _, each in silent:
            with suppress(OSError):
                each.close()


async def test_connections_that_are_being_answered_make_no_room() -> None:
    going_on = asyncio.Event()

    async def handle(exchange: Exchange) -> None:
        await going_on.wait()
        await exchange.responder.whole(200, b"", {})

    async with serve(handle, limits=Limits(sessions=1)) as url:
        parts = urlsplit(url)
        host, port = str(parts.hostname), int(parts.port or 0)
        busy = [asyncio.ensure_future(ask(host, port)) for _ in range(70)]
        done, _ = await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)
        going_on.set()
        answers = await asyncio.gather(*busy, return_exceptions=True)
    assert done
    assert sum(isinstance(each, bytes) and b"200 OK" in each for each in answers) == 65
