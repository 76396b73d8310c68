"""A worker as a process of this machine, and the transport of such workers over pipes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, cast

from bench_core.agent_process.framing import MAX_LINE, FrameError, decode_line
from bench_core.agent_process.launcher import Exit
from bench_core.errors import EnvironmentFaultError
from bench_core.processes import ProcessGroups
from bench_core.workers.group_guard import new_mark

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["PipeTransport", "WorkerProcess"]

_COMMAND = ("-m", "bench_core.cli.main", "worker-process")
_KEPT = 1 << 14
_POLL_S = 0.05
_DRAIN_S = 2.0
"""What a worker wrote last is read for this long after its end: others may hold its pipes open for ever."""
_END_S = 30.0
_log = logging.getLogger("bench_core.workers")
_OWN = (b'{"type": "own"', b'{"type": "disown"')


class WorkerProcess:
    """A worker that runs on this machine, and what it has started and not given up.

    These are the process groups that it says are its own, and whatever has its mark in its environment.
    It has a session of its own, so that Ctrl-C in the terminal is not for it.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, name: str, mark: tuple[str, str]
    ) -> None:
        self.name = f"{name}, process {process.pid}"
        self._process = process
        self._groups = ProcessGroups(mark=mark)
        self._output = b""
        self._reading = asyncio.ensure_future(self._read_output())
        self._exit = asyncio.ensure_future(self._wait())
        self._draining = asyncio.ensure_future(self._drain())

    @classmethod
    async def start(cls, name: str, variables: Mapping[str, str] | None = None) -> WorkerProcess:
        """Start one.

        Raises:
            EnvironmentFaultError: The system does not let us.
        """
        pipe, mark = asyncio.subprocess.PIPE, new_mark()
        env = {**(os.environ if variables is None else variables), **dict([mark])}
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *_COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, limit=MAX_LINE,
                start_new_session=True, env=env,
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentFaultError(f"{name} cannot be started: {error}") from error
        return cls(process, name, mark)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    def send(self, line: bytes) -> None:
        """Write to its standard input; nothing happens where it is gone."""
        stdin = cast("asyncio.StreamWriter", self._process.stdin)
        if not stdin.is_closing():
            with contextlib.suppress(OSError, RuntimeError):
                stdin.write(line)

    async def receive(self) -> dict[str, Any] | None:
        """Return its next message, None at the end of its output."""
        line = await self.receive_line()
        return None if line is None else decode_line(line)

    async def receive_line(self) -> bytes | None:
        """Return its next line, None at the end of its output; a torn one is none."""
        stdout = cast("asyncio.StreamReader", self._process.stdout)
        try:
            line = await stdout.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except asyncio.LimitOverrunError:
            raise FrameError(f"a message is longer than {MAX_LINE:,} bytes") from None
        if line.startswith(_OWN):
            self._note_group(decode_line(line))
        return line

    def hang_up(self) -> None:
        """Close its standard input; an idle worker ends then."""
        stdin = cast("asyncio.StreamWriter", self._process.stdin)
        with contextlib.suppress(OSError, RuntimeError):
            stdin.close()

    def kill(self) -> None:
        """End it and what it started."""
        if self.alive:
            # also where it has stopped itself or is stopped
            with contextlib.suppress(ProcessLookupError, PermissionError):
                _kill_group(self._process.pid)
        self._groups.kill()

    async def ended(self) -> str:
        """Wait until it and the groups it started have ended; return how it ended."""
        code = await asyncio.shield(self._exit)
        self.kill()
        await asyncio.wait([self._reading], timeout=_DRAIN_S)
        self._reading.cancel()
        await self._end_groups()
        output = self._output.decode("utf-8", "backslashreplace")
        return Exit(code=code, output=output).in_words()

    async def _end_groups(self) -> None:
        """End what it started; where the system keeps a process that is killed, nothing can."""
        for _ in range(round(_END_S / _POLL_S)):
            if not self._groups.alive():
                return
            self._groups.kill()
            await asyncio.sleep(_POLL_S)
        _log.warning("%s has left processes that do not end: %s", self.name, self._groups.alive())

    async def _wait(self) -> int:
        """Wait for its end alone: `Process.wait` of Python 3.11 waits for its pipes, too."""
        while (code := self._process.returncode) is None:  # noqa: ASYNC110  # nothing public reports its end
            await asyncio.sleep(_POLL_S)
        return code

    async def _drain(self) -> None:
        """Close its pipes some time after its end, so that no one waits for what others hold open."""
        try:
            await asyncio.shield(self._exit)
            await asyncio.sleep(_DRAIN_S)
        finally:
            self._process._transport.close()  # type: ignore[attr-defined]  # it has no other way

    def _note_group(self, frame: dict[str, Any]) -> None:
        pgid = frame.get("pgid")
        if isinstance(pgid, int):
            with contextlib.suppress(ValueError):
                (self._groups.own if frame["type"] == "own" else self._groups.disown)(pgid)

    async def _read_output(self) -> None:
        """Keep the end of what it prints: where it crashed is there."""
        stderr = cast("asyncio.StreamReader", self._process.stderr)
        while part := await stderr.read(_KEPT):
            self._output = (self._output + part)[-_KEPT:]


class PipeTransport:
    """Workers on this machine, over pipes: the reference for what every transport does.

    Args:
        variables: Their environment; by default that of this process.
    """

    name = "pipes"

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = variables

    async def nodes(self) -> None:
        """Return none: this machine is the only one."""

    async def open(
        self, slot: int, folder: Path, labels: frozenset[str] = frozenset()
    ) -> WorkerProcess:
        """Start the worker of a slot."""
        del folder, labels
        return await WorkerProcess.start(f"worker {slot + 1}", self._variables)

    def broker(self) -> None:
        """Return none: locks on files hold between the runs of one machine."""

    async def close(self) -> None:
        """Do nothing: workers share nothing."""


def _kill_group(pgid: int) -> None:
    if sys.platform == "win32":
        os.kill(pgid, signal.SIGTERM)
    else:
        os.killpg(pgid, signal.SIGKILL)
