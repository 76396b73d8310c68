"""One WebSocket of a server, by the `websockets` library's protocol without its input and output."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from bench_core.errors import MissingExtraError

if TYPE_CHECKING:
    from bench_core.sessions.serving import Exchange

_WAITING = 8
_READ = 65536


def require_websockets() -> None:
    """Refuse to go on without the library.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import websockets.server  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("serving sessions", "websockets", "bench-core", "serve") from error


class Socket:
    """An accepted WebSocket.

    It is read all the time, because clients take one for dead whose pings are not answered while a
    step takes long, and because a session ends with its socket.

    Args:
        exchange: The request for it.
    """

    def __init__(self, exchange: Exchange) -> None:
        from websockets.server import ServerProtocol

        self._reader, self._writer = exchange.reader, exchange.writer
        self._limit = exchange.limits.message_bytes
        self._protocol = ServerProtocol(max_size=self._limit)
        self._messages: asyncio.Queue[str | None] = asyncio.Queue()
        self._parts: list[bytes] = []
        self._size = 0
        self.gone = asyncio.Event()
        request = exchange.request
        lines = [f"{name}: {value}" for name, value in request.headers.items()]
        head = "\r\n".join([f"GET {request.target} HTTP/1.1", *lines, "", ""])
        self._protocol.receive_data(head.encode("latin-1"))

    async def accept(self) -> bool:
        """Answer the handshake; return False if it was invalid."""
        from websockets.http11 import Request

        asked = [e for e in self._protocol.events_received() if isinstance(e, Request)]
        if not asked:
            return False
        response = self._protocol.accept(asked[0])
        self._protocol.send_response(response)
        await self._flush()
        return response.status_code == 101  # switching protocols

    async def read(self) -> None:
        """Read messages until the other side is gone; run it concurrently with `receive`."""
        try:
            while data := await self._reader.read(_READ):
                self._protocol.receive_data(data)
                if not self._take():
                    break
                await self._flush()
                if self._protocol.close_expected():
                    break
        except OSError:
            pass
        finally:
            self.gone.set()
            self._messages.put_nowait(None)

    async def receive(self) -> str | None:
        """Return the next message; None when the other side is gone."""
        return await self._messages.get()

    async def send(self, text: str) -> None:
        """Send a message; one to a side that is gone goes nowhere."""
        from websockets.exceptions import InvalidState

        # the client may have closed the connection, or hung up, meanwhile
        with contextlib.suppress(InvalidState, OSError):
            self._protocol.send_text(text.encode())
            await self._flush()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Mark the end of the messages."""
        from websockets.exceptions import InvalidState

        with contextlib.suppress(InvalidState, OSError):
            self._protocol.send_close(code, reason)
            await self._flush()

    def _take(self) -> bool:
        """Keep whole messages; false where the other side sends more than is taken."""
        from websockets.frames import Frame, Opcode

        for event in self._protocol.events_received():
            if not isinstance(event, Frame) or event.opcode not in {
                Opcode.TEXT,
                Opcode.BINARY,
                Opcode.CONT,
            }:
                continue
            data = bytes(event.data)
            self._parts.append(data)
            self._size += len(data)
            if self._size > self._limit or self._messages.qsize() >= _WAITING:
                self._protocol.fail(1009, "too much")
                self._write()
                return False
            if event.fin:
                text = b"".join(self._parts).decode("utf-8", "replace")
                self._parts, self._size = [], 0
                self._messages.put_nowait(text)
        return True

    def _write(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)

    async def _flush(self) -> None:
        self._write()
        await self._writer.drain()
