"""The processes that run programs: warm, watched, and replaced when a program exceeds its limits.

A process keeps nothing between two requests, so all desktops of this process share them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from bench_core.errors import EnvironmentFaultError
from waa_server_ext.simulate.isolation.messages import read_message, write_message
from waa_server_ext.simulate.isolation.transfer import Contents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from waa_server_ext.simulate.isolation.messages import Message

__all__ = ["ProcessEndedError", "ProgramLimits", "ProgramPool", "ProgramProcess", "shared_pool"]

_AT_ONCE = 4
_LONGEST = 15
"""So many times as long as it may take, a process waits at most for a processor."""
_START = (
    "import sys; sys.path[:] = sys.argv[3:];"
    "from waa_server_ext.simulate.isolation.worker import main;"
    "main(int(sys.argv[1]), int(sys.argv[2]))"
)


@dataclass(frozen=True)
class ProgramLimits:
    """What one request may take in its process.

    Attributes:
        wall_s: Seconds from the request to the answer, without those in which the process waited for a
            processor that others had (where the system reports that, as Linux does).
        cpu_s: Seconds of processor time; the budget of the interpreter ends most programs before.
        memory_mb: Megabytes by which the process may grow, where the system keeps such a limit.
        start_s: Seconds that a new process may take; half a second on a quiet machine.
    """

    wall_s: float = 7.0
    cpu_s: int = 5
    memory_mb: int = 256
    start_s: float = 120.0


class ProcessEndedError(Exception):
    """The process ended before it answered, or was ended because it took too long."""


class ProgramProcess:
    """One process and the pipes to it.

    Attributes:
        contents: What of files it has.
        limits: When it is ended.

    Raises:
        EnvironmentFaultError: The system starts no more processes.
    """

    def __init__(self, limits: ProgramLimits) -> None:
        self.contents = Contents(first=2)
        self._limits = limits
        self._is_ready = False
        command = [
            sys.executable, "-c", _START, str(limits.memory_mb), str(limits.cpu_s), *sys.path,
        ]  # fmt: skip
        try:
            self._process = subprocess.Popen(  # noqa: S603  # this package's own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the server
            )
        except OSError as error:
            raise EnvironmentFaultError(
                f"no process for programs can be started: {error}"
            ) from error

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Wait until it has started.

        Raises:
            EnvironmentFaultError: It did not start.
        """
        if self._is_ready:
            return
        with self._watched(self._limits.start_s):
            self._is_ready = read_message(self._outgoing) is not None
        if not self._is_ready:
            self.end()
            raise EnvironmentFaultError("the process for programs did not start")

    def ask(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Send messages and yield those that come back, the last of which has the number 0.

        Raises:
            ProcessEndedError: It took too much time or memory.
        """
        with self._watched(self._limits.wall_s):
            try:
                for each in messages:
                    write_message(self._incoming, each)
            except OSError as error:
                raise ProcessEndedError from error
            number = -1
            while number != 0:
                reply = read_message(self._outgoing)  # the watchdog ends this, too
                if reply is None:
                    raise ProcessEndedError
                number = reply.number
                yield reply

    def end(self) -> None:
        """End it; safe to call twice."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    @property
    def _incoming(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)

    @property
    def _outgoing(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdout)

    @contextlib.contextmanager
    def _watched(self, seconds: float) -> Iterator[None]:
        """Kill the process when the block takes longer, which ends what waits for it."""
        done = threading.Event()
        watchdog = threading.Thread(target=self._watch, args=(seconds, done), daemon=True)
        watchdog.start()
        try:
            yield
        finally:
            done.set()

    def _watch(self, seconds: float, done: threading.Event) -> None:
        began, waited = time.monotonic(), _waited_s(self.pid)
        left = seconds
        # a machine with too much to do must not end a program that got no processor
        while left > 0 and not done.wait(left):
            longest = began + _LONGEST * seconds
            left = began + seconds + _waited_s(self.pid) - waited - time.monotonic()
            left = min(left, longest - time.monotonic())
        if not done.is_set():
            self._process.kill()


class ProgramPool:
    """Processes that are started before they are needed and used again.

    Attributes:
        limits: When one is ended.
        places: How many work at once.

    Example:
        >>> pool = ProgramPool()
        >>> with pool.process() as process:
        ...     process.wait_until_ready()
        >>> pool.close()
    """

    def __init__(self, limits: ProgramLimits | None = None) -> None:
        self.limits = limits or ProgramLimits()
        self._idle: list[ProgramProcess] = []
        self._lock = threading.Lock()
        # on a machine with few processors more of them would only wait for each other
        self.places = min(os.cpu_count() or 1, _AT_ONCE)
        self._free = threading.BoundedSemaphore(self.places)

    def warm(self) -> None:
        """Have a process ready soon, without waiting for it."""
        with self._lock:
            if not self._idle:
                with contextlib.suppress(EnvironmentFaultError):  # said when it is needed
                    self._idle.append(ProgramProcess(self.limits))

    @contextlib.contextmanager
    def process(self) -> Iterator[ProgramProcess]:
        """Give a process for one request; it is replaced where the block raises.

        Raises:
            EnvironmentFaultError: None can be started.
        """
        with self._free:
            process = self._waiting() or ProgramProcess(self.limits)
            try:
                yield process
            except BaseException:
                process.end()
                self.warm()
                raise
            with self._lock:
                self._idle.append(process)

    def _waiting(self) -> ProgramProcess | None:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                process.end()  # it ended between two requests: no program is to blame
        return None

    def pids(self) -> list[int]:
        """Return the processes that wait for a request."""
        with self._lock:
            return [each.pid for each in self._idle]

    def close(self) -> None:
        """End the processes that wait; safe to call twice."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.end()

    def forget(self) -> None:
        """Leave the processes to the process that this one was forked from."""
        self._idle = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self.places)


def _waited_s(pid: int) -> float:
    """Return how long a process was ready to run and did not; 0 where the system does not report it."""
    try:
        text = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii")
        return int(text.split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@cache
def shared_pool() -> ProgramPool:
    """Return the processes of all desktops of this process; they end with it."""
    pool = ProgramPool()
    atexit.register(pool.close)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pool.forget)
    return pool
