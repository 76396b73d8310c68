"""Limits on the resources that one request running programs may take from the desktop's process."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MB = 2**20


@dataclass(frozen=True)
class ProgramLimits:
    """Limits that end the process; the interpreter's own budget ends nearly all programs earlier.

    Attributes:
        wall_s: Seconds. Programs do not wait for anything, so if processor time is limited as well, only an
            overloaded machine reaches this.
        cpu_s: Seconds of processor time, if the system supports such a limit.
        memory_mb: Megabytes by which the process may grow, if the system supports such a limit.
    """

    wall_s: float = 60.0
    cpu_s: int = 5
    memory_mb: int = 256


@contextlib.contextmanager
def limited(limits: ProgramLimits) -> Iterator[None]:
    """End this process if the block takes too long; refuse memory beyond the limit."""
    with (
        open(os.devnull, "wb") as nowhere,  # noqa: PTH123  # a device
        contextlib.ExitStack() as stack,
    ):
        # not a Python thread: it could not run while a program holds the interpreter's lock
        faulthandler.dump_traceback_later(limits.wall_s, exit=True, file=nowhere)
        stack.callback(faulthandler.cancel_dump_traceback_later)
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource  # not on Windows

            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            allowed = {
                resource.RLIMIT_CORE: 0,
                resource.RLIMIT_CPU: int(time.process_time()) + 1 + limits.cpu_s,
                resource.RLIMIT_AS: pages * resource.getpagesize() + limits.memory_mb * _MB,
            }
            for kind, most in allowed.items():
                before = resource.getrlimit(kind)
                resource.setrlimit(kind, (most, before[1]))
                stack.callback(resource.setrlimit, kind, before)
        yield
