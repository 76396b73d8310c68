"""A worker as a process of this machine, and the transport of such workers over pipes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from bench_core.child_process.framing import decode_line
from bench_core.child_process.process import Exit, SpawnedProcess
from bench_core.errors import EnvironmentFaultError
from bench_core.processes import ProcessGroups
from bench_core.workers.group_guard import new_mark

_COMMAND = ("-m", "bench_core.cli.main", "worker-process")
_POLL_S = 0.05
_END_S = 30.0
_log = logging.getLogger("bench_core.workers")
_OWN = (b'{"type": "own"', b'{"type": "disown"')


class WorkerProcess(SpawnedProcess):
    """A worker that runs on this machine, and its children that it has not given up.

    These are the process groups that it says are its own, and whatever has its mark in its environment.
    """

    name: str
    _groups: ProcessGroups

    @classmethod
    async def start_named(
        cls, name: str, variables: Mapping[str, str] | None = None
    ) -> WorkerProcess:
        """Start one.

        Raises:
            EnvironmentFaultError: The system does not let us.
        """
        mark = new_mark()
        env = {**(os.environ if variables is None else variables), **dict([mark])}
        try:
            process = await cls.start([sys.executable, *_COMMAND], env)
        except OSError as error:
            raise EnvironmentFaultError(f"{name} cannot be started: {error}") from error
        process.name = f"{name}, process {process.pid}"
        process._groups = ProcessGroups(mark=mark)
        return process

    async def receive_line(self) -> bytes | None:
        """Return its next line, None at the end of its output."""
        line = await super().receive_line()
        if line is not None and line.startswith(_OWN):
            frame = decode_line(line)
            if isinstance(pgid := frame.get("pgid"), int):
                with contextlib.suppress(ValueError):
                    (self._groups.own if frame["type"] == "own" else self._groups.disown)(pgid)
        return line

    def kill(self) -> None:
        """End it and its children."""
        super().kill()
        self._groups.kill()

    async def how_ended(self) -> str:
        """Wait until it and the groups it started have ended; return how it ended."""
        return (await self.ended()).in_words()

    async def _wait(self) -> Exit:
        """Wait until its children have ended, too; impossible if the system keeps a killed process."""
        ended = await super()._wait()
        for _ in range(round(_END_S / _POLL_S)):
            if not self._groups.alive():
                return ended
            self._groups.kill()
            await asyncio.sleep(_POLL_S)
        _log.warning("%s has left processes that do not end: %s", self.name, self._groups.alive())
        return ended


class PipeTransport:
    """Workers on this machine, over pipes: the reference for the behavior of every transport.

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
        return await WorkerProcess.start_named(f"worker {slot + 1}", self._variables)

    def broker(self) -> None:
        """Return none: locks on files hold between the runs of one machine."""

    async def close(self) -> None:
        """Do nothing: workers share nothing."""
