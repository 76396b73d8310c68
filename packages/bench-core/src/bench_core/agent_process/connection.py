"""A worker's end of its pipes to the run: its reports, and the run's messages."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import queue
import threading
from collections.abc import Callable
from typing import IO, Any, Protocol

from bench_core.agent_process.messages import checked_hello, hello, spend_line
from bench_core.child_process.framing import FrameError, encode_line, read_frame_from
from bench_core.errors import BudgetExceededError
from bench_core.processes import ProcessGroups
from bench_core.protocols import LatestCall
from bench_core.records import Usage

_ORPHANED = 70
_LOG_TEXT = 8_000


class Outgoing(Protocol):
    """A destination of lines."""

    def write(self, data: bytes, /) -> object:
        """Write a whole line."""
        ...

    def flush(self) -> object:
        """Send buffered lines now."""
        ...


class Connection:
    """The pipes, for all threads of the agent."""

    def __init__(self, incoming: IO[bytes], outgoing: Outgoing) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}

    def send(self, line: bytes) -> None:
        """Send a line; safe to call from any thread."""
        with self._sending:
            self._outgoing.write(line)
            self._outgoing.flush()

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None if the run has hung up."""
        return read_frame_from(self._incoming)

    def order(self) -> dict[str, Any] | None:
        """Exchange greetings and return the run's order; None if it has hung up.

        Raises:
            FrameError: It has another version, or its message cannot be read.
        """
        self.send(hello())
        checked_hello(self.receive())
        return self.receive()

    def listen(
        self,
        on_frame: Callable[[dict[str, Any]], object],
        on_end: Callable[[], object] = lambda: os._exit(_ORPHANED),
    ) -> None:
        """Handle messages from now on, in a separate thread.

        Args:
            on_frame: Receives every message but the answers to `spend`.
            on_end: Called when the run is gone; by default this process then exits at once.
        """

        def listen() -> None:
            with contextlib.suppress(FrameError):
                while (frame := self.receive()) is not None:
                    if frame["type"] == "answer":
                        self._waiting.pop(frame["id"]).put(frame)
                    else:
                        on_frame(frame)
            on_end()

        threading.Thread(target=listen, daemon=True).start()

    def spend(
        self, source: str, usage: Usage, cost_usd: float | None, uncounted: str | None = None
    ) -> None:
        """Report a model call, and why it cannot be counted if so, and wait for permission to go on."""
        number = next(self._numbers)
        answer = self._waiting[number] = queue.SimpleQueue()
        self.send(spend_line(number, source, usage, cost_usd, uncounted))
        decision = answer.get()
        if not decision["go"]:
            raise BudgetExceededError(str(decision["reason"]))


class PipeMeter:
    """Reports each model call to the run before the next one may begin."""

    def __init__(self, connection: Connection, source: str = "agent") -> None:
        self._connection = connection
        self._source = source
        self.latest = LatestCall()
        self._uncounted: str | None = None

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one model call; see `bench_core.protocols.Meter`."""
        uncounted, self._uncounted = self._uncounted, None
        self._connection.spend(self._source, usage, cost_usd, uncounted)

    def uncounted(self, why: str) -> None:
        """Note why the next call cannot be counted; see `bench_core.budgets.TrialMeter.uncounted`."""
        self._uncounted = why

    def of(self, source: str) -> PipeMeter:
        """Return the meter of another source on the same budget."""
        return PipeMeter(self._connection, source)


class ReportedProcesses(ProcessGroups):
    """Reports process groups to the run, which ends what still runs when the trial is over."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def own(self, pgid: int) -> None:
        """Remember and report a group."""
        super().own(pgid)
        self._connection.send(encode_line("own", pgid=pgid))

    def disown(self, pgid: int) -> None:
        """Forget a group and report it."""
        super().disown(pgid)
        self._connection.send(encode_line("disown", pgid=pgid))


class ReportedLog(logging.Handler):
    """Sends log records to the run."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(message)s"))
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record."""
        text = self.format(record)[:_LOG_TEXT]
        self._connection.send(encode_line("log", level=record.levelno, name=record.name, text=text))

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the error: a record that cannot be written is not the agent's failure."""
