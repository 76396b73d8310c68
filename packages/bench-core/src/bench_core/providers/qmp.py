"""One QMP connection to a QEMU: commands in, answers out, events left aside.

QEMU's protocol: https://www.qemu.org/docs/master/interop/qmp-spec.html. A socket serves one client;
a second one gets no greeting until the first has gone, so connections are short.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from bench_core.machines import MachineError

Address = tuple[str, int]
"""Host and port of a QMP server."""

_ANSWER_S = 900.0  # QEMU answers nothing while it saves or loads much memory
_LONGEST_LINE = 4_000_000
_POLL_S = 0.01


class Qmp:
    """A connection that has greeted."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def run(self, command: str, **arguments: object) -> Any:
        """Return QEMU's answer to a command.

        Raises:
            MachineError: It refused, the connection ended, or it was silent for a quarter of an hour.
        """
        asked = {"execute": command, "arguments": arguments}
        try:
            self._writer.write(json.dumps(asked).encode() + b"\n")
            await self._writer.drain()
            while True:
                answer = await asyncio.wait_for(_message(self._reader), _ANSWER_S)
                if "error" in answer:
                    raise MachineError(f"QEMU refused {command}: {answer['error'].get('desc')}")
                if "return" in answer:
                    return answer["return"]
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            raise MachineError(f"QEMU did not answer {command}: {error!r}") from error

    async def until(self, command: str, done: Callable[[Any], bool]) -> Any:
        """Ask again until the answer is `done`; the caller bounds the time."""
        while not done(answer := await self.run(command)):  # noqa: ASYNC110  # QEMU changes it
            await asyncio.sleep(_POLL_S)
        return answer


@contextlib.asynccontextmanager
async def connected(socket: Path | Address, within_s: float) -> AsyncIterator[Qmp]:
    """Connect to the QMP socket of a QEMU.

    Args:
        socket: Host and port, or a path, which may exceed the length limit of socket paths.
        within_s: Seconds until its greeting.

    Raises:
        MachineError: QEMU is not running, another client is connected, or it does not answer.
    """
    writer = None
    try:
        reader, writer = await asyncio.wait_for(_open(socket), within_s)
        qmp = Qmp(reader, writer)
        await asyncio.wait_for(_greet(reader, qmp), within_s)
        yield qmp
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        raise MachineError(f"no answer from QEMU at {socket}: {error!r}") from error
    finally:
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _open(
    socket: Path | Address,
) -> Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    if isinstance(socket, tuple):
        return asyncio.open_connection(*socket, limit=_LONGEST_LINE)
    # the kernel takes 107 bytes
    return _through_folder(socket) if len(os.fsencode(socket)) > 100 else _direct(str(socket))


async def _direct(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(path, limit=_LONGEST_LINE)


async def _through_folder(socket: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    folder = os.open(socket.parent, os.O_RDONLY)
    try:
        return await _direct(f"/proc/self/fd/{folder}/{socket.name}")
    finally:
        os.close(folder)


async def _greet(reader: asyncio.StreamReader, qmp: Qmp) -> None:
    await _message(reader)
    await qmp.run("qmp_capabilities")


async def _message(reader: asyncio.StreamReader) -> dict[str, Any]:
    line = await reader.readline()
    if not line:
        raise ConnectionResetError("QEMU closed the connection")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError(f"no message of QMP: {line[:80]!r}")  # noqa: TRY004  # a bad message, no bad argument
    return message
