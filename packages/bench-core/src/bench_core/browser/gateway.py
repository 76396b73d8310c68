"""A relay on this machine between an agent and its Chromium, which sees every command the agent sends.

The agent gets the relay's address instead of Chromium's, with a secret path, so that no other program can use it.
Chromium answers with websocket URLs on the address that the request named, so these lead through the relay, too.
Websocket frames pass unchanged in both directions, without a library in between, except for messages
that `bench_core.browser.rules` refuses or rewrites.

The relay has a thread and an event loop of its own: an agent that blocks its own loop still gets answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from bench_core.browser.commands import (
    AgentCommand,
    CommandLog,
    closes_page,
    command_of_message,
    command_of_request,
)
from bench_core.browser.frames import Frame, FrameError, FrameReader, encode_frame
from bench_core.browser.rules import REQUESTS, Decision, RuleBook, paused_request
from bench_core.errors import BrowserError
from bench_core.records.integrity import IntegrityCode
from bench_core.serving import RefusedRequestError, refusal
from bench_core.serving.streams import Head, read_head

_run_loop: Callable[[Coroutine[Any, Any, None]], None]
try:  # on asyncio's own loop, steps without a pause take 16% longer than without a gateway
    from uvloop import run as _run_loop
except ImportError:  # as on Windows
    _run_loop = asyncio.run

_HOST = "127.0.0.1"
_END = b"\r\n\r\n"
_JOIN_S = 5.0
_PAGES_S = 5.0
_CHUNK = 1024 * 1024
_NOTED = 200
_LARGEST = 256 * 1024 * 1024  # Chromium accepts less
_GONE = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_MOST_BODY = 64 * 1024  # no request of DevTools has any
_BODY_S = 30.0
_CONNECTIONS = 256
_PAUSED_REQUESTS = 10_000
_PAGE = "/devtools/page/"
_WEBSOCKETS = ("/devtools/browser/", _PAGE)
# Compressed messages could not be read, and on one machine compressing only costs time.
_EXTENSIONS = re.compile(rb"^sec-websocket-extensions:[^\r]*\r\n", re.IGNORECASE | re.MULTILINE)
_CONNECTION = re.compile(rb"^connection:[^\r]*\r\n", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^content-length:\s*(\d{1,18})\s*\r\n", re.IGNORECASE | re.MULTILINE)
_ENDINGS = (OSError, EOFError, asyncio.LimitOverrunError, asyncio.TimeoutError, FrameError)


class _Side(NamedTuple):
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@dataclass
class _Connection:
    """One connection of the agent.

    Attributes:
        path: The requested path.
        leaving: Whether the agent has announced that it closes it.
        within: Whether a message from Chromium has begun but not ended.
        answers: Answers for the agent once that message ends.
        paused: The URLs of the last requests that waited for the agent.
    """

    number: int
    agent: _Side
    path: str = ""
    leaving: bool = False
    within: bool = False
    answers: bytearray = field(default_factory=bytearray)
    paused: dict[str, str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """The id of its page, empty if it addresses the whole browser."""
        return self.path.removeprefix(_PAGE) if self.path.startswith(_PAGE) else ""


@asynccontextmanager
async def open_gateway(
    cdp_url: str,
    rules: RuleBook | None = None,
    found: Callable[[IntegrityCode, bool, str], None] | None = None,
) -> AsyncIterator[Gateway]:
    """Relay between an agent and the Chromium at `cdp_url` while the block runs.

    Args:
        cdp_url: Chromium's own address.
        rules: The rules on the agent's commands; by default `AGENT_RULES`.
        found: Called with the integrity code of an act that the task does not need, whether it was blocked, and
            the command; from the gateway's own thread.

    Raises:
        BrowserError: No port can be opened.
    """
    gateway = Gateway(cdp_url, rules, found)
    gateway.start()
    try:
        yield gateway
    finally:
        await gateway.close()


class Gateway:
    """Passes messages between an agent and its Chromium, and keeps a log of the commands.

    Attributes:
        cdp_url: The address for the agent, `http://127.0.0.1:PORT/SECRET`.
        log: The agent's commands to the browser.
        hung_up: Whether Chromium ended a connection to the whole browser, as it does when it ends.
        fault: An error in the gateway itself, so that the agent is not blamed for it.
    """

    def __init__(
        self,
        chromium: str,
        rules: RuleBook | None = None,
        found: Callable[[IntegrityCode, bool, str], None] | None = None,
    ) -> None:
        self.cdp_url = ""
        self._rules = rules or RuleBook()
        self._found = found or (lambda _code, _blocked, _command: None)
        self.log = CommandLog()
        self.hung_up = False
        self.fault: Exception | None = None
        parts = urlsplit(chromium)
        self._chromium = (parts.hostname or _HOST, parts.port or 80)
        # Chromium's secret is not for agents, and this one not for agents of other trials
        self._hidden, self._prefix = parts.path.rstrip("/"), f"/{secrets.token_hex(16)}"
        self._connections = 0
        self._relays: set[asyncio.Task[None] | None] = set()
        self._silent: dict[asyncio.StreamWriter, None] = {}
        self._to_chromium: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="browser gateway", daemon=True)

    def start(self) -> None:
        """Begin to listen.

        Raises:
            BrowserError: No port can be opened.
        """
        self._thread.start()
        self._ready.wait()
        if not self.cdp_url:
            raise BrowserError(f"the gateway to the browser cannot listen: {self.fault}")

    async def close(self) -> None:
        """Cut every connection of the agent's and take no more; Chromium runs on."""
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended before
                self._loop.call_soon_threadsafe(self._stop.set)
        await asyncio.to_thread(self._thread.join, _JOIN_S)

    async def _look(self, command: AgentCommand) -> None:
        """Note a command before it is passed on."""
        pages = await self._pages() if closes_page(command) else ()
        self.log.note(command, pages)

    async def _decide(self, message: bytes, connection: _Connection) -> Decision:
        """Decide on a message, log it and report its integrity code."""
        decision = self._rules.decide(message, connection.paused)
        command = command_of_message(message, decision.command, connection.number, connection.page)
        if decision.message is None:
            self.log.refuse(command)
        else:
            await self._look(command)
        if decision.code is not None:
            self._found(decision.code, decision.blocked, str(command))
        return decision

    async def _may_ask(self, command: AgentCommand | None, path: str) -> bool:
        """Whether a request over HTTP is passed on; it is noted in any case."""
        plain = path.partition("?")[0].rstrip("/")
        known = plain in REQUESTS or path.startswith(_WEBSOCKETS)
        if known or self._rules.passes_all:
            if command is not None:
                await self._look(command)
            return True
        if command is None:
            # not a path of DevTools: port scanners on this machine ask for such paths
            self.log.refuse(AgentCommand(path[:_NOTED]))
            return False
        self.log.refuse(command)
        code = self._rules.places.code_of(unquote(path.partition("?")[2]))
        self._found(code or IntegrityCode.REFUSED_COMMAND, True, str(command))  # blocked
        return False

    def _run(self) -> None:
        try:
            _run_loop(self._serve())
        except Exception as error:  # noqa: BLE001  # raised again for its starter and its readers
            self.fault = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, _HOST, 0, limit=_CHUNK)
        self.cdp_url = f"http://{_HOST}:{server.sockets[0].getsockname()[1]}{self._prefix}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        relays = [each for each in self._relays if each is not None]
        for relay in relays:  # before their connections, or the browser would seem to hang up
            relay.cancel()
        await asyncio.gather(*relays, return_exceptions=True)
        # a browser may not have read all of an agent's messages before the agent left
        for each in self._to_chromium:
            each.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._relays) >= _CONNECTIONS:
            # an agent asks at once, so the one that has been silent longest is another program's
            oldest = next(iter(self._silent), writer)
            self._silent.pop(oldest, None)
            oldest.close()
            if oldest is writer:
                return
        self._connections += 1
        # asyncio forgets the task of a connection that is lost, and the collector takes it half done
        task = asyncio.current_task()
        self._relays.add(task)
        try:
            await self._relay(_Connection(self._connections, _Side(reader, writer)))
        except _ENDINGS:
            pass
        except RefusedRequestError as refused:
            with contextlib.suppress(OSError):
                _write(writer, refusal(refused))
        except asyncio.CancelledError:
            writer.transport.abort()
        except Exception as error:  # noqa: BLE001  # a mistake of ours must not look like the agent's
            self.fault = error
        finally:
            self._relays.discard(task)
            writer.close()

    async def _relay(self, connection: _Connection) -> None:
        """Pass on one request and its answer, and all messages where it opens a websocket."""
        agent = connection.agent
        self._silent[agent.writer] = None
        try:
            head = await read_head(agent.reader)
        finally:
            self._silent.pop(agent.writer, None)
        if not head.target.startswith(
            f"{self._prefix}/"
        ):  # port scanners, and agents of other trials
            self.log.refuse(AgentCommand(head.target[:_NOTED]))
            _write(agent.writer, _REFUSED)
            return
        connection.path = head.target[len(self._prefix) :]
        command = command_of_request(connection.path, connection.number)
        if not await self._may_ask(command, connection.path):
            _write(agent.writer, _REFUSED)
            return
        body = await _sent(head, agent.reader)
        try:
            chromium = _Side(*await self._connect())
        except OSError:
            _write(agent.writer, _GONE)
            return
        try:
            raw = head.raw.replace(self._prefix.encode(), self._hidden.encode(), 1)
            _write(chromium.writer, _EXTENSIONS.sub(b"", raw) + body)
            answer = await chromium.reader.readuntil(_END)
            if answer.split(b" ", 2)[1:2] == [b"101"]:
                _write(agent.writer, answer)
                await self._exchange(connection, chromium)
            else:
                body = await _body(answer, chromium.reader)
                # its URLs lead through the gateway
                body = body.replace(
                    f"{self._hidden}/devtools/".encode(), f"{self._prefix}/devtools/".encode()
                )
                await _send(agent.writer, _closing(answer, len(body)) + body)
        except asyncio.CancelledError:
            chromium.writer.transport.abort()
            raise
        finally:
            chromium.writer.close()

    async def _exchange(self, connection: _Connection, chromium: _Side) -> None:
        """Pass on messages until one side ends."""
        ways = [
            asyncio.ensure_future(self._pass_commands(connection, chromium)),
            asyncio.ensure_future(self._pass_answers(connection, chromium)),
        ]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ways:
                each.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        for each in done:
            each.result()

    async def _pass_commands(self, connection: _Connection, chromium: _Side) -> None:
        """Pass on the agent's messages, each as a whole and after a look at it."""
        reader, begun = connection.agent.reader, False
        coming = FrameReader(reader)
        frames: list[Frame] = []
        while True:
            taken = sum(len(each.raw) for each in frames)
            frame = await coming.read(_LARGEST - taken)
            frames.append(frame)
            if not frame.control:
                begun = not frame.final
            if not begun and not frame.control:
                await self._pass_message(frames, connection, chromium)
                frames = []
            elif not begun or frame.closes:
                # a ping between the frames of a message waits for its end
                await _send(chromium.writer, b"".join(each.raw for each in frames))
                frames = []
            if frame.closes:  # frames after a close are not messages
                connection.leaving = True
                while await _read(reader):
                    pass
                return

    async def _pass_message(
        self, frames: list[Frame], connection: _Connection, chromium: _Side
    ) -> None:
        """Pass on the frames of one message, or their replacement by a rule."""
        message = b"".join(each.payload for each in frames if not each.control)
        decision = await self._decide(message, connection)
        if decision.message == message:
            await _send(chromium.writer, b"".join(each.raw for each in frames))
            return
        others = b"".join(each.raw for each in frames if each.control)
        changed = decision.message
        more = b"" if changed is None else encode_frame(changed, masked=True)
        if others or more:
            await _send(chromium.writer, others + more)
        if decision.answer is not None:
            connection.answers += encode_frame(decision.answer, masked=False)
            await _answer(connection)

    async def _pass_answers(self, connection: _Connection, chromium: _Side) -> None:
        """Pass on Chromium's messages; the gateway's own answers go between them, never into one."""
        coming = FrameReader(chromium.reader)
        while True:
            try:
                frame = await coming.read(_LARGEST)
            except (EOFError, OSError):
                self.hung_up |= not connection.leaving and not connection.page
                return
            if not frame.control:
                connection.within = not frame.final
                if waits := paused_request(frame.payload):
                    connection.paused |= [waits]
                    if len(connection.paused) > _PAUSED_REQUESTS:
                        del connection.paused[next(iter(connection.paused))]
            await _send(connection.agent.writer, frame.raw)
            await _answer(connection)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        streams = await asyncio.open_connection(*self._chromium, limit=_CHUNK)
        self._to_chromium.add(streams[1].transport)
        return streams

    async def _pages(self) -> list[str]:
        """Return the ids of Chromium's pages; none when it does not answer."""
        try:
            return await asyncio.wait_for(self._ask_for_pages(), _PAGES_S)
        except (*_ENDINGS, ValueError, KeyError, TypeError):
            return []

    async def _ask_for_pages(self) -> list[str]:
        reader, writer = await self._connect()
        try:
            asked = f"GET {self._hidden}/json/list HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            _write(writer, asked.encode())
            body = await _body(await reader.readuntil(_END), reader)
        finally:
            writer.close()
        return [each["id"] for each in json.loads(body) if each["type"] == "page"]


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Read some bytes; none when the other side is gone, cleanly or by an error."""
    try:
        return await reader.read(_CHUNK)
    except OSError:
        return b""


async def _answer(connection: _Connection) -> None:
    if connection.answers and not connection.within:
        ready, connection.answers = bytes(connection.answers), bytearray()
        await _send(connection.agent.writer, ready)


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write to a connection; if the other side is gone, uvloop raises an error that is not an OSError."""
    if writer.is_closing():
        raise ConnectionResetError("the other side is gone")
    writer.write(data)


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    _write(writer, data)
    await writer.drain()


async def _sent(head: Head, reader: asyncio.StreamReader) -> bytes:
    """Return the body of a request."""
    length = head.body_length(_MOST_BODY)
    if length is None:
        raise RefusedRequestError(
            HTTPStatus.LENGTH_REQUIRED, "send the body with its Content-Length"
        )
    return await asyncio.wait_for(reader.readexactly(length), _BODY_S)


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    found = _LENGTH.search(head)
    length = int(found[1]) if found else 0
    if length > _LARGEST:
        raise FrameError(f"a body of {length} bytes is more than {_LARGEST}")
    return await reader.readexactly(length)


def _closing(head: bytes, length: int) -> bytes:
    """Return a head for a body of `length` that makes the agent open a new connection for its next request."""
    kept = _LENGTH.sub(b"", _CONNECTION.sub(b"", head))[: -len(_END)]
    return kept + b"\r\nContent-Length: %d\r\nConnection: close" % length + _END
