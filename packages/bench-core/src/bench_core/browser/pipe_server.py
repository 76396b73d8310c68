"""Serve Chromium's DevTools, which it speaks over a pipe, to clients on this machine that know a secret path.

A debugging port of Chromium's own could be found and used by every program on this machine. With the pipe there is
none. Clients get what the port would give: `/json/version`, `/json/list`, and websockets to the browser and to each
page, below `http://127.0.0.1:PORT/SECRET`. A websocket has a session of its own on the pipe, with messages inside
messages (`Target.sendMessageToTarget`). Flat sessions would not do: Chromium takes all below one root for one client,
and drops the bodies that it keeps for a recorder as soon as an agent leaves a page.

It runs in the process that keeps Chromium, with threads and the standard library alone: whatever blocks or ends the
run's own process, Chromium is not left waiting.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import os
import queue
import socket
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from bench_core.browser.frames import FrameBuffer, FrameError, encode_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HOST = "127.0.0.1"
_OWN_NAMES = frozenset({_HOST, "localhost"})
_CHUNK = 1024 * 1024
_MOST_HEAD = 64 * 1024
_LARGEST = 256 * 1024 * 1024
"""A message, and what waits for a client that does not read: as much as Chromium's own port holds back."""
_HEAD_S = 30.0
_ANSWER_S = 30.0
_FLUSH_S = 2.0
_NUMBERS = 1 << 31
_MOST_SILENT = 64
"""Connections that have not sent a whole request: a client does at once, so the oldest one is none."""
_PING, _PONG, _CLOSE = 9, 10, 8
_PAGE = "/devtools/page/"
_BROWSER = "/devtools/browser/"
# RFC 6455, section 1.3
_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_RECEIVED, _DETACHED = "Target.receivedMessageFromTarget", "Target.detachedFromTarget"


class PipeServer:
    """Passes messages between Chromium's pipe and its clients.

    Args:
        orders: Descriptor that Chromium reads messages from.
        answers: Descriptor that it writes messages to.
        secret: The first part of each path.
    """

    def __init__(self, orders: int, answers: int, secret: str) -> None:
        self._orders, self._answers = orders, answers
        self._prefix = f"/{secret}"
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._asked: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._clients: dict[str, _Client] = {}
        self._silent: dict[socket.socket, None] = {}
        self._accepting = threading.Lock()
        self._browser = ""
        self._server = socket.create_server((_HOST, 0), backlog=128)

    def serve(self) -> str:
        """Wait until Chromium answers, and accept clients from then on; return the server's URL.

        Raises:
            OSError: Chromium ended.
        """
        _in_thread(self._read)
        self._browser = self._call("Target.getTargetInfo", None)["targetInfo"]["targetId"]
        _in_thread(self._accept)
        return f"http://{_HOST}:{self._server.getsockname()[1]}{self._prefix}"

    def post(self, method: str, **params: Any) -> None:
        """Send a command to the browser itself without waiting for its answer."""
        self._write({"id": next(self._numbers) % _NUMBERS, "method": method, "params": params})

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # Chromium has ended
            while True:
                connection, _ = self._server.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._accepting:
                    self._silent[connection] = None
                    if len(self._silent) > _MOST_SILENT:
                        oldest = next(iter(self._silent))
                        del self._silent[oldest]
                        _hang_up(oldest)
                _in_thread(partial(self._attend, connection))

    def _attend(self, connection: socket.socket) -> None:
        """Answer one request, and pass on all messages if it opens a websocket."""
        with connection, contextlib.suppress(OSError, ValueError, LookupError, EOFError):
            try:
                connection.settimeout(_HEAD_S)
                target, headers, rest = _head_of(connection)
            finally:
                with self._accepting:
                    self._silent.pop(connection, None)
            secret, path = target[: len(self._prefix)], target[len(self._prefix) :]
            if not hmac.compare_digest(secret.encode(), self._prefix.encode()):
                connection.sendall(_response(b"", "404 Not Found"))
            elif "origin" in headers or headers["host"].partition(":")[0] not in _OWN_NAMES:
                # a page has no business here, whatever it knows
                connection.sendall(_response(b"", "403 Forbidden"))
            elif "sec-websocket-key" in headers:
                self._attend_websocket(connection, path, headers["sec-websocket-key"], rest)
            else:
                found = self._found(path.partition("?")[0].rstrip("/"), headers["host"])
                body = b"" if found is None else json.dumps(found).encode()
                connection.sendall(_response(body, "404 Not Found" if found is None else "200 OK"))

    def _found(self, path: str, host: str) -> Any:
        """Return what a path gives; None if there is none such."""
        websocket = f"ws://{host}{self._prefix}"
        if path == "/json/version":
            version = self._call("Browser.getVersion")
            return {
                "Browser": version["product"],
                "Protocol-Version": version["protocolVersion"],
                "User-Agent": version["userAgent"],
                "V8-Version": version["jsVersion"],
                "webSocketDebuggerUrl": f"{websocket}{_BROWSER}all",
            }
        if path not in {"/json", "/json/list"}:
            return None
        return [
            {
                "id": each["targetId"],
                "type": each["type"],
                "title": each["title"],
                "url": each["url"],
                "webSocketDebuggerUrl": f"{websocket}{_PAGE}{each['targetId']}",
            }
            for each in self._call("Target.getTargets")["targetInfos"]
        ]

    def _attend_websocket(
        self, connection: socket.socket, path: str, key: str, rest: bytes
    ) -> None:
        target = path[len(_PAGE) :] if path.startswith(_PAGE) else self._browser
        known = path.startswith((_PAGE, _BROWSER))
        attached = self._call("Target.attachToTarget", targetId=target) if known else {}
        if (session := attached.get("sessionId")) is None:
            connection.sendall(_response(b"", "404 Not Found"))
            return
        accept = base64.b64encode(hashlib.sha1(key.encode() + _ACCEPT).digest()).decode()  # noqa: S324  # as websockets ask
        client = self._clients[session] = _Client(connection)
        connection.settimeout(None)
        connection.sendall(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        writer = _in_thread(client.write)
        try:
            for message in client.messages(rest):
                text = message.decode(errors="replace")
                self.post("Target.sendMessageToTarget", sessionId=session, message=text)
        finally:
            client.end()
            writer.join(_FLUSH_S)
            _hang_up(connection)  # a client that does not read keeps its writer
            del self._clients[session]
            self.post("Target.detachFromTarget", sessionId=session)

    def _call(
        self, method: str, within_s: float | None = _ANSWER_S, **params: Any
    ) -> dict[str, Any]:
        """Send a command to the browser itself and return its result, empty if it was refused."""
        number = next(self._numbers) % _NUMBERS
        answers = self._asked[number] = queue.SimpleQueue()
        self._write({"id": number, "method": method, "params": params})
        try:
            answer = answers.get(timeout=within_s)
        except queue.Empty:
            raise OSError(f"no answer to {method}") from None
        if answer is None:
            raise OSError("Chromium has ended")
        return dict(answer.get("result", {}))

    def _write(self, command: dict[str, Any]) -> None:
        data = memoryview(json.dumps(command).encode() + b"\0")
        with self._writing:
            while data:
                data = data[os.write(self._orders, data) :]

    def _read(self) -> None:
        """Pass on Chromium's messages until it ends."""
        pieces: list[bytes] = []
        with contextlib.suppress(OSError):  # the pipe was closed at this end
            while chunk := os.read(self._answers, _CHUNK):
                begin, *others = chunk.split(b"\0")
                pieces.append(begin)
                for each in others:
                    self._take(b"".join(pieces))
                    pieces = [each]
        self._server.close()
        for client in list(self._clients.values()):
            client.end()
        for answers in list(self._asked.values()):
            answers.put(None)

    def _take(self, data: bytes) -> None:
        """Pass on one message of Chromium's."""
        message = json.loads(data)
        params = message.get("params", {})
        client = self._clients.get(params.get("sessionId", ""))
        if message.get("method") == _RECEIVED and client is not None:
            client.send(params["message"].encode(errors="surrogatepass"))
        elif message.get("method") == _DETACHED and client is not None:
            client.end()  # its page is gone
        elif (answers := self._asked.pop(message.get("id"), None)) is not None:
            answers.put(message)


class _Client:
    """One websocket, and what waits for it: a client that does not read holds up no other."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._frames: deque[bytes] = deque()
        self._waiting = 0
        self._ended = False

    def send(self, message: bytes, opcode: int = 1) -> None:
        frame = encode_frame(message, masked=False, opcode=opcode)
        with self._changed:
            self._frames.append(frame)
            self._waiting += len(frame)
            self._changed.notify()
        if self._waiting > _LARGEST:
            _hang_up(self._connection)

    def end(self) -> None:
        """Send what waits, and hang up."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def write(self) -> None:
        """Send what waits, until the end."""
        with contextlib.suppress(OSError):
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._frames or self._ended)
                    ready, self._waiting = b"".join(self._frames), 0
                    self._frames.clear()
                if not ready:
                    break
                self._connection.sendall(ready)
        _hang_up(self._connection)

    def messages(self, arrived: bytes) -> Iterator[bytes]:
        """Yield the client's messages until it hangs up; `arrived` came with its request."""
        frames, message = FrameBuffer(), bytearray()
        frames.add(arrived)
        with contextlib.suppress(OSError, FrameError):
            while True:
                frame = frames.take(_LARGEST - len(message))
                if frame is None:
                    if not (data := self._connection.recv(_CHUNK)):
                        return
                    frames.add(data)
                elif frame.closes:
                    self.send(frame.payload, _CLOSE)
                    return
                elif frame.opcode == _PING:
                    self.send(frame.payload, _PONG)
                elif not frame.control:
                    message += frame.payload
                    if frame.final:
                        yield bytes(message)
                        message.clear()


def _head_of(connection: socket.socket) -> tuple[str, dict[str, str], bytes]:
    """Read the head of a request: its target, its headers with names in lower case, and what came after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(_CHUNK)
        if not more or len(data) > _MOST_HEAD:
            raise EOFError("no request")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    named = (line.partition(":") for line in lines)
    return first.split(" ")[1], {name.lower(): value.strip() for name, _, value in named}, rest


def _response(body: bytes, status: str) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json; charset=UTF-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _hang_up(connection: socket.socket) -> None:
    """End a connection, whichever thread waits for it."""
    with contextlib.suppress(OSError):  # the other side was faster
        connection.shutdown(socket.SHUT_RDWR)


def _in_thread(run: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
