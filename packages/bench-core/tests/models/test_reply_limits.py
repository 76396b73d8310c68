"""Replies without end: too many bytes, or too few of them at a time."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from bench_core.models import Message, ModelError, ModelRequest, RetryPolicy, open_model
from bench_core.models import reply_limit as limits
from bench_core.models.reply_limit import MOST_REPLY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

MB = 1_000_000
REQUEST = ModelRequest(messages=(Message.user("hello"),))
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"


class Endless:
    """A server that answers every request with `body`; counts what was taken of it."""

    def __init__(self, body: Callable[[Endless, asyncio.StreamWriter], Awaitable[None]]) -> None:
        self._body = body
        self.requests = 0
        self.sent = 0
        self.head = b""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = self.head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.partition(b":")[2])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            )
            await reader.readexactly(length)
            self.requests += 1
            await self._body(self, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client hung up
        finally:
            writer.close()

    async def write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)


async def flood(server: Endless, writer: asyncio.StreamWriter) -> None:
    await server.write(writer, HEAD + b"\r\n")
    for _ in range(100):
        await server.write(writer, b" " * MB)


async def packed(server: Endless, writer: asyncio.StreamWriter) -> None:
    data = gzip.compress(b" " * (100 * MB), 1)
    await server.write(writer, HEAD + b"content-encoding: gzip\r\n\r\n" + data)


async def drip(server: Endless, writer: asyncio.StreamWriter) -> None:
    await server.write(writer, HEAD + b"\r\n")
    while True:
        await server.write(writer, b" ")
        await asyncio.sleep(0.05)


async def ask(provider: str, server: Endless, policy: RetryPolicy) -> ModelError:
    async with server.serve() as root:
        base_url = f"{root}/v1" if provider.startswith("openai") else root
        model = open_model(f"{provider}:m", api_key="none", base_url=base_url, policy=policy)
        async with model:
            with pytest.raises(ModelError) as raised:
                await model.complete(REQUEST)
    return raised.value


@pytest.mark.parametrize("body", [flood, packed], ids=["plain", "packed"])
async def test_a_reply_of_a_hundred_megabytes_is_given_up_and_not_asked_for_again(
    provider: str, body: Callable[..., Awaitable[None]]
) -> None:
    server = Endless(body)
    error = await ask(provider, server, RetryPolicy(attempts=3, timeout_s=120))
    assert error.kind == "oversized", error
    assert f"longer than {MOST_REPLY:,} bytes" in str(error)
    assert server.requests == 1
    assert server.sent < 100 * MB


@pytest.mark.parametrize("packing", ["zstd", "br", "gzip, gzip"])
async def test_packings_that_unpack_without_bound_are_not_asked_for_and_not_read(
    provider: str, packing: str
) -> None:
    async def answer(server: Endless, writer: asyncio.StreamWriter) -> None:
        head = HEAD + f"content-encoding: {packing}\r\n\r\n".encode()
        await server.write(writer, head + gzip.compress(gzip.compress(b"{}")))

    server = Endless(answer)
    error = await ask(provider, server, RetryPolicy(attempts=1, timeout_s=60))
    assert error.kind == "malformed", error
    assert repr(packing) in str(error)
    assert b"\r\naccept-encoding: gzip, deflate\r\n" in server.head.lower()


async def test_a_reply_that_drips_ends_with_the_time_for_one_request(provider: str) -> None:
    error = await ask(provider, Endless(drip), RetryPolicy(attempts=1, timeout_s=2))
    assert error.kind == "timeout", error


async def test_a_failing_server_s_page_is_limited_too(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def page(server: Endless, writer: asyncio.StreamWriter) -> None:
        await server.write(writer, HEAD.replace(b"200 OK", b"500 No") + b"\r\n" + b" " * MB)

    monkeypatch.setattr(limits, "MOST_REPLY", 1000)
    error = await ask(provider, Endless(page), RetryPolicy(attempts=3, timeout_s=60))
    assert (error.kind, error.status) == ("oversized", 500), error
