"""The process that runs programs.

It reads a desktop and a request from its standard input and writes both back as they are afterwards,
until the input ends. It keeps the limits that the system can keep; how long it takes is watched from
outside.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import IO

from waa_server_ext.simulate.isolation.messages import Message, read_message, write_message
from waa_server_ext.simulate.isolation.requests import perform
from waa_server_ext.simulate.isolation.transfer import Contents, TransferError, decode, encode

__all__ = ["main"]

_MB = 2**20
_READY = Message(0, b"ready")
_IMPOSSIBLE = Message(0, b"")


def main(memory_mb: int, cpu_s: int) -> None:
    """Serve until the input ends.

    Args:
        memory_mb: By how much the process may grow.
        cpu_s: Processor time for each request.
    """
    incoming, outgoing = _channels()
    contents = Contents(first=1)
    _limit_memory(memory_mb)
    write_message(outgoing, _READY)
    while (message := read_message(incoming)) is not None:
        _limit_cpu(cpu_s)
        for each in _answers(message, contents):
            write_message(outgoing, each)


def _answers(message: Message, contents: Contents) -> list[Message]:
    """Return what is said to a message: nothing until a desktop and its request are complete."""
    try:
        found = decode(message, contents)
        if found is None:
            return []
        parts, request = found
        return encode(parts, perform(request, parts[0]), contents)
    except TransferError:
        return [_IMPOSSIBLE]


def _channels() -> tuple[IO[bytes], IO[bytes]]:
    """Return what leads to the parent; nothing that is printed goes there."""
    outgoing = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nowhere:  # noqa: PTH123  # a device
        os.dup2(nowhere.fileno(), 1)
    return sys.stdin.buffer, outgoing


def _limit_memory(more_mb: int) -> None:
    """Let the process grow by so much beyond what it is; does nothing where there is no such limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + more_mb * _MB
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(seconds: int) -> None:
    """Let the process take so many seconds more; does nothing where there is no such limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + seconds, hard))
