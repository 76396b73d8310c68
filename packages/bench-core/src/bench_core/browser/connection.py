"""A DevTools connection of a few lines: send commands, wait for answers, receive events.

For the harness's own guard, which sends commands that no client library offers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser.frames import FrameError, FrameReader, encode_frame
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

_LARGEST = 64 * 1024 * 1024
_CONNECT_S = 10.0
_PONG, _PING = 10, 9
_LOST = (OSError, EOFError, FrameError, asyncio.TimeoutError)


class CdpError(BrowserError):
    """The other side refused a command."""


class CdpConnection:
    """One websocket to a browser or a page; use `open` and `close`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._handlers: dict[str, list[Callable[[dict[str, Any], str | None], None]]] = defaultdict(
            list
        )
        self._listener = asyncio.ensure_future(self._listen())

    @classmethod
    async def open(cls, ws_url: str) -> Self:
        """Connect to `ws://HOST:PORT/devtools/...`.

        Raises:
            BrowserError: Nothing there opens a websocket.
        """
        parts = urlsplit(ws_url)
        try:
            return await asyncio.wait_for(cls._open(parts.hostname, parts.port, parts), _CONNECT_S)
        except _LOST as error:
            raise BrowserError(f"no websocket at {ws_url}: {error!r}") from error

    @classmethod
    async def _open(cls, host: str | None, port: int | None, parts: Any) -> Self:
        reader, writer = await asyncio.open_connection(host, port, limit=_LARGEST)
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except BaseException:  # given up, too: nothing else holds the socket
            writer.close()
            raise
        if b" 101 " not in head.partition(b"\r\n")[0]:
            writer.close()
            raise OSError(head.partition(b"\r\n")[0].decode("latin-1"))
        return cls(reader, writer)

    def on(self, method: str, handle: Callable[[dict[str, Any], str | None], None]) -> None:
        """Call `handle(params, session)` for every event `method`; it must not wait."""
        self._handlers[method].append(handle)

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        session: str | None = None,
        timeout_s: float = 15.0,
    ) -> dict[str, Any]:
        """Send a command and return its result.

        Raises:
            CdpError: It was refused.
            BrowserError: The connection is gone, or there is no answer in time.
        """
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self.post(method, params, session, number)
        try:
            reply = await asyncio.wait_for(answer, timeout_s)
        except asyncio.TimeoutError:
            raise BrowserError(f"no answer to {method} within {timeout_s:g} s") from None
        finally:
            self._waiting.pop(number, None)
        if "error" in reply:
            raise CdpError(f"{method}: {reply['error'].get('message', reply['error'])}")
        result: dict[str, Any] = reply.get("result", {})
        return result

    def post(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        session: str | None = None,
        number: int | None = None,
    ) -> None:
        """Send a command without waiting for its answer."""
        message: dict[str, Any] = {"id": number or next(self._numbers), "method": method}
        message["params"] = dict(params or {})
        if session is not None:
            message["sessionId"] = session
        if self._listener.done():
            raise BrowserError(f"{method}: the connection is gone")
        self._writer.write(encode_frame(json.dumps(message).encode(), masked=True))

    async def close(self) -> None:
        """Disconnect; the browser runs on."""
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(*_LOST):
            await self._writer.wait_closed()

    async def _listen(self) -> None:
        message, frames = bytearray(), FrameReader(self._reader)
        try:
            while True:
                frame = await frames.read(_LARGEST)
                if frame.closes:
                    return
                if frame.opcode == _PING:
                    self._writer.write(encode_frame(frame.payload, masked=True, opcode=_PONG))
                if frame.control:
                    continue
                message += frame.payload
                if frame.final:
                    self._take(json.loads(bytes(message)))
                    message.clear()
        except _LOST:
            return
        finally:
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(BrowserError("the connection to the browser is gone"))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            waiting = self._waiting.get(message["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            return
        for handle in self._handlers.get(message.get("method", ""), ()):
            handle(message.get("params", {}), message.get("sessionId"))
