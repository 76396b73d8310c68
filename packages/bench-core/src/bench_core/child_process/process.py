"""A child process and the lines of JSON that it exchanges with this one.

Possible faults of a child process, and their consequences:

=====================================  ======================================================
a line of more than `MAX_LINE` bytes   `FrameError`, before it is read
no JSON, no object, no `type`          `FrameError`
its end in the middle of a line        the line is dropped; its end says the rest
its end before it has answered         `None`; how it ended is in `Exit`, with its output
no answer within its deadline          `ask` ends it; writing the question counts, too
standard error without end             is always read; its beginning and its end are kept
it does not read its messages          no one waits for it
it ignores signals, or is stopped      it and its group are killed, never asked
others hold its pipes when it ends     they are read for two more seconds, then closed
a wait for its end is cancelled        it is still waited for, by the next that asks
=====================================  ======================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from typing_extensions import Self

from bench_core.child_process.framing import MAX_LINE, FrameError, decode_line

# processes that it started may have inherited its pipes and hold them open
_DRAIN_S = 2.0
# the end of its output may arrive some time before its exit code
_EXIT_S = 10.0
# bytes of the beginning and of the end, so that endless output cannot fill the memory
_KEPT = 1 << 16
_TAIL_LINES = 5
_TAIL_CHARS = 1_000
_STACK = "(most recent call first)"
_JAVASCRIPT_CALL = re.compile(r"\s+at \S")


@dataclass(frozen=True)
class Exit:
    """How a child process ended.

    Attributes:
        code: Its exit code, minus the number of the signal that ended it; None if unknown.
        left: How many processes it left, which were ended.
        output: Its printed output; of a flood, beginning and end.
    """

    code: int | None = None
    left: int = 0
    output: str = ""

    def in_words(self) -> str:
        """Return the cause, with the last lines it printed."""
        if self.code is None:
            return f"ended together with its supervisor{self.last_lines()}"
        if self.code >= 0:
            return f"ended with exit code {self.code}{self.last_lines()}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = f"signal {-self.code}"
        hint = " (the system does that where memory is full)" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}{self.last_lines()}"

    def last_lines(self) -> str:
        """Return its last printed lines, or where in its code it was ended; empty if it was silent."""
        lines = [line for line in self.output.splitlines() if line.strip()]
        where = next((n for n in reversed(range(len(lines))) if _STACK in lines[n]), None)
        if where is None:  # JavaScript says why before it says where
            calls = [bool(_JAVASCRIPT_CALL.match(line)) for line in lines]
            where = next(
                (n for n in reversed(range(len(lines) - 1)) if calls[n + 1] and not calls[n]), None
            )
        shown = lines[-_TAIL_LINES:] if where is None else lines[where : where + 1 + _TAIL_LINES]
        tail = "\n".join(shown)[-_TAIL_CHARS:]
        return f"; its last lines:\n{tail}" if tail else ""


class ChildGoneError(Exception):
    """A child process did not answer and has been ended.

    Attributes:
        exit: How it ended.
        is_late: Whether it let its deadline pass.
    """

    def __init__(self, reason: str, ended: Exit, *, is_late: bool = False) -> None:
        super().__init__(reason)
        self.exit = ended
        self.is_late = is_late


class _Writer(Protocol):
    def write(self, data: bytes, /) -> object: ...

    def is_closing(self) -> bool: ...

    def close(self) -> None: ...


class ChildProcess(ABC):
    """A child process that runs, of whatever started it.

    Attributes:
        pid: Its process id, which is also its group's.
    """

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: _Writer) -> None:
        self.pid = pid
        self._reader = reader
        self._writer = writer
        self._exit: asyncio.Future[Exit] | None = None

    def send(self, line: bytes) -> None:
        """Write to its standard input, without waiting; ignored if it is gone."""
        if not self._writer.is_closing():
            with contextlib.suppress(OSError, RuntimeError):
                # it may have ended since the look; then `receive` says so
                self._writer.write(line)

    async def receive(self) -> dict[str, Any] | None:
        """Return its next message, None if no more can come.

        Raises:
            FrameError: The data is not a message.
        """
        line = await self.receive_line()
        return None if line is None else decode_line(line)

    async def receive_line(self) -> bytes | None:
        """Return its next line, None if no more can come.

        Raises:
            FrameError: It is too long.
        """
        try:
            return await self._reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except asyncio.LimitOverrunError:
            raise FrameError(f"a message is longer than {MAX_LINE:,} bytes") from None

    async def ask(self, line: bytes, seconds: float | None = None) -> dict[str, Any]:
        """Send a line and return the next message; any other outcome ends the process.

        Raises:
            ChildGoneError: It ended, broke the protocol, or did not answer within `seconds`.
        """
        reason, is_late = "", False
        try:
            self.send(line)
            frame = await asyncio.wait_for(self.receive(), seconds)
            if frame is not None:
                return frame
            if not await self.ends_within(_EXIT_S):
                reason = "hung up"
        except asyncio.TimeoutError:
            reason, is_late = f"did not answer within {seconds:g} s", True
        except FrameError as error:
            reason = f"broke the protocol: {error}"
        except BaseException:
            self.kill()  # its late answer would be that to the next question
            raise
        self.kill()
        ended = await self.ended()
        raise ChildGoneError(reason or ended.in_words(), ended, is_late=is_late)

    def hang_up(self) -> None:
        """Close its standard input: no more messages follow."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.close()

    @abstractmethod
    def kill(self) -> None:
        """End it and everything it started, at once; safe to call twice."""

    async def ended(self) -> Exit:
        """Wait until it and all that belongs to it have ended."""
        if self._exit is None:
            self._exit = asyncio.ensure_future(self._wait())
        # a waiter that is cancelled must not cancel the wait of the others
        return await asyncio.shield(self._exit)

    async def ends_within(self, seconds: float) -> bool:
        """Wait for its end, `seconds` at most; return whether it has ended."""
        ending = asyncio.ensure_future(self.ended())
        done, _ = await asyncio.wait([ending], timeout=seconds)
        return bool(done)

    @abstractmethod
    async def _wait(self) -> Exit: ...


class SpawnedProcess(ChildProcess):
    """A child process that was started by this one, and leads a group of its own.

    So Ctrl-C in the terminal is not for it. It is killed when the event loop that started it is closed.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: _Pipes) -> None:
        stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
        super().__init__(transport.get_pid(), pipes.reader, stdin)
        self._transport = transport
        self._pipes = pipes
        self._exit = asyncio.ensure_future(self._wait())
        self._draining = asyncio.ensure_future(self._drain())

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str] | None = None) -> Self:
        """Start `command`, in this process's environment or in `env`.

        Raises:
            OSError: The system does not let us.
        """
        transport, pipes = await asyncio.get_running_loop().subprocess_exec(
            _Pipes, *command, env=env, start_new_session=True
        )
        return cls(transport, pipes)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._transport.get_returncode() is None

    def kill(self) -> None:
        """End it and its group."""
        if self.alive:
            end_group(self.pid)

    async def _wait(self) -> Exit:
        await asyncio.wait([self._pipes.exited])
        if sys.platform != "win32":
            end_group(self.pid)  # the rest of it
        await asyncio.wait([self._pipes.stderr_closed], timeout=_DRAIN_S)
        return Exit(self._transport.get_returncode(), output=self._pipes.printed.text())

    async def _drain(self) -> None:
        """Close the pipes some time after its end, so that no one waits for pipes that others hold open."""
        try:
            await asyncio.wait([self._pipes.exited])
            closed = [self._pipes.stdout_closed, self._pipes.stderr_closed]
            await asyncio.wait(closed, timeout=_DRAIN_S)
        finally:
            if self.alive:  # the loop is being closed
                self.kill()
                await asyncio.wait([self._pipes.exited], timeout=_DRAIN_S)
            self._transport.close()


class _Pipes(asyncio.SubprocessProtocol):
    """The output of a process; `Process.wait` waits for its pipes, too, on some versions of Python."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(limit=MAX_LINE)
        self.printed = Printed()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.stdout_closed: asyncio.Future[None] = loop.create_future()
        self.stderr_closed: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stdout = cast("asyncio.SubprocessTransport", transport).get_pipe_transport(1)
        self.reader.set_transport(cast("asyncio.ReadTransport", stdout))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.reader.feed_data(data)
        else:
            self.printed.add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        if fd == 1:
            self.reader.feed_eof()
            self.stdout_closed.set_result(None)
        elif fd == 2:
            self.stderr_closed.set_result(None)

    def process_exited(self) -> None:
        self.exited.set_result(None)


class Printed:
    """The printed output of a process; of a flood, its beginning and its end."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._cut = 0

    def add(self, chunk: bytes) -> None:
        """Take more of it."""
        room = _KEPT - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
        while self._tail and self._tail_size - len(self._tail[0]) >= _KEPT:
            self._tail_size -= len(self._tail[0])
            self._cut += len(self._tail.popleft())

    def text(self) -> str:
        """Return the kept part of it."""
        cut = f"\n[... {self._cut:,} bytes left out ...]\n".encode() if self._cut else b""
        return bytes(self._head + cut + b"".join(self._tail)).decode("utf-8", "replace")


def end_group(leader: int) -> None:
    """Kill the process group of `leader`; on Windows, its children."""
    if sys.platform == "win32":
        command = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603  # a number
        return
    # the group may have ended by now, and its number may belong to another user
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
