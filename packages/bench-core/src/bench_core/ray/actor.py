"""The actor of one slot: holds a worker process of its node, and passes lines between it and the run."""

from __future__ import annotations

import asyncio
import platform
from typing import Any

import ray

from bench_core.child_process.framing import FrameError
from bench_core.workers.process import WorkerProcess

_POLL_S = 5.0
_LINES, _BYTES = 64, 4 << 20
"""Most messages of a worker that wait here, and their bytes: the rest waits in its pipe."""


class SlotActor:
    """A worker process, as an actor with asynchronous methods.

    The process has its own standard output and error, which keeps a trial's output out of Ray's logs.
    If the actor dies, the process reads the end of its input and ends.
    """

    async def start(self, name: str) -> dict[str, Any]:
        """Start the process; return where it is."""
        self._process = await WorkerProcess.start_named(name)
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_LINES)
        self._pumping = asyncio.ensure_future(self._pump())
        self._unsent: dict[int, bytes] = {}
        self._sent = 0
        node = ray.get_runtime_context().get_node_id()
        return {"host": platform.node(), "pid": self._process.pid, "node": node}

    async def send(self, number: int, line: bytes) -> None:
        """Pass a line on to the worker, in the order of their numbers: calls of an actor may overtake each other."""
        self._unsent[number] = line
        while (following := self._unsent.pop(self._sent, None)) is not None:
            self._process.send(following)
            self._sent += 1

    async def receive(self) -> tuple[list[bytes], bool]:
        """Return the next lines, none after some seconds without, and whether they are the last."""
        try:
            line = await asyncio.wait_for(self._lines.get(), _POLL_S)
        except asyncio.TimeoutError:
            return [], False
        lines: list[bytes] = []
        while line is not None:
            lines.append(line)
            if self._lines.empty() or sum(map(len, lines)) > _BYTES:
                return lines, False
            line = self._lines.get_nowait()
        self._lines.put_nowait(None)
        return lines, True

    async def hang_up(self) -> None:
        """Close the worker's input."""
        self._process.hang_up()

    async def kill(self) -> None:
        """End the worker and its children."""
        self._process.kill()

    async def how_ended(self) -> str:
        """Wait until all of the worker has ended; return how it ended."""
        return await self._process.how_ended()

    async def _pump(self) -> None:
        line: bytes | None = b""
        while line is not None:
            try:
                line = await self._process.receive_line()
            except FrameError:
                self._process.kill()
                line = None
            await self._lines.put(line)
