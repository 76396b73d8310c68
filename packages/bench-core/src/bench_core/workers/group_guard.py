"""Ends the process groups of a worker that is killed together with its holder.

A killed worker cannot end its children, so its holder does. But Ray kills the
children of an actor whose run is gone, and with them all knowledge of the groups. So a process that is not
a child of the actor's knows them, too, and sees the end of the worker, its parent, by itself.

Processes started in the moment of the end, and not reported any more, are found by a mark: a variable in the
environment of each worker, and so of its children.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import subprocess
import sys
import time
from typing import IO, cast

from bench_core.agent_process.connection import Connection, ReportedProcesses
from bench_core.processes import ProcessGroups

_PROGRAM = "from bench_core.workers.group_guard import main; main()"
_MARK = "PROCTOR_WORKER"
_LOOK_S = 0.5
_POLL_S, _END_S = 0.05, 30.0
_OVER = 0


def new_mark() -> tuple[str, str]:
    """Return name and value of a variable for the environment of a new worker."""
    return _MARK, secrets.token_hex(16)


class GroupGuard:
    """The process that knows the groups; missing on Windows, where workers have no nodes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform == "win32":
            return
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-c", _PROGRAM, str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def note(self, number: int) -> None:
        """Let it know a group, or, by its negative number, forget one."""
        if self._process is not None:
            # without it, the worker and its holder still end them
            with contextlib.suppress(OSError):
                stdin = cast("IO[bytes]", self._process.stdin)
                stdin.write(b"%d\n" % number)
                stdin.flush()

    def close(self) -> None:
        """End it, and the groups that it still knows."""
        self.note(_OVER)
        if self._process is not None:
            self._process.wait()


class GuardedProcesses(ReportedProcesses):
    """Reports process groups to the run and to the guard."""

    def __init__(self, connection: Connection, guard: GroupGuard) -> None:
        super().__init__(connection)
        self._guard = guard

    def own(self, pgid: int) -> None:
        """Remember and report a group."""
        super().own(pgid)
        self._guard.note(pgid)

    def disown(self, pgid: int) -> None:
        """Forget a group and report it."""
        self._guard.note(-pgid)
        super().disown(pgid)


def main() -> None:
    """Read groups until the worker ends, and end them."""
    worker, rest = int(sys.argv[1]), b""
    groups = ProcessGroups(mark=(_MARK, os.environ[_MARK]) if _MARK in os.environ else None)
    while True:
        if not select.select([0], [], [], _LOOK_S)[0]:
            # a process that the worker has forked keeps the pipe open: then only this shows that it is gone
            if os.getppid() != worker:
                break
            continue
        read = os.read(0, 1 << 16)
        *lines, rest = (rest + read).split(b"\n")
        numbers = [int(each) for each in lines]
        if _OVER in numbers:
            # the worker, which has the mark, ends by itself
            numbers, read = [*filter(None, numbers), -worker], b""
        for number in numbers:
            with contextlib.suppress(ValueError):
                (groups.own if number > 0 else groups.disown)(abs(number))
        if not read:
            break
    for _ in range(round(_END_S / _POLL_S)):
        if not groups.alive():
            break
        groups.kill()
        time.sleep(_POLL_S)
