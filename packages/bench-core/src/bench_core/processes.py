"""The process groups a trial started, so that it can be ended even when it does not cooperate.

A trial that starts a browser or a VM in a process group of its own reports it to its context::

    process = subprocess.Popen(command, start_new_session=True)
    context.processes.own(process.pid)

Processes that live when the trial is over are killed, and the resources the trial held stay held until
they are dead: a browser without a run may still act on a site.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping

from bench_core.process_table import PROC, pids, stat_of


class ProcessGroups:
    """Process groups by their id, each with its leader's start time so that no other is hit.

    Survives pickling with the ids it knows; they mean something on the same machine only.

    Args:
        groups: Groups with the start times of their leaders.
        mark: Name and value of a variable: the groups of all processes with it in their environment count as
            well, except our own and forgotten ones. If `/proc` is missing, none is found.
    """

    def __init__(
        self, groups: Mapping[int, str | None] | None = None, *, mark: tuple[str, str] | None = None
    ) -> None:
        self._groups = dict(groups or {})
        self._mark = mark
        self._forgotten: set[int] = set()
        self._lock = threading.Lock()

    def own(self, pgid: int) -> None:
        """Remember a process group the trial started.

        Raises:
            ValueError: It is not a group of the trial's own, e.g. that of the scheduler itself.
        """
        # To end our own group, or every process (0, -1), would end the run.
        if pgid <= 1 or (sys.platform != "win32" and pgid == os.getpgrp()):
            raise ValueError(
                f"{pgid} is not a process group of the trial's own: "
                "start the process with start_new_session=True"
            )
        with self._lock:
            self._groups[pgid] = _start_time(pgid)
            self._forgotten.discard(pgid)

    def disown(self, pgid: int) -> None:
        """Forget a process group that has ended or that shall outlive the trial."""
        with self._lock:
            self._groups.pop(pgid, None)
            if self._mark is not None:
                self._forgotten.add(pgid)

    def __len__(self) -> int:
        return len(self._groups)

    def alive(self) -> tuple[int, ...]:
        """Return the groups that have a running process; zombies do not count."""
        marked = set() if self._mark is None else _marked(self._mark)
        with self._lock:
            groups = dict.fromkeys(marked - self._forgotten) | self._groups
        if not groups:
            return ()
        running = _running_groups()
        return tuple(
            pgid
            for pgid, started in groups.items()
            # The system gives ids again: another's group must not be killed.
            if _lives(pgid, running) and _same(pgid, started)
        )

    def stopped(self) -> tuple[int, ...]:
        """Return the leaders that a signal has stopped (SIGSTOP); none if `/proc` is missing."""
        with self._lock:
            leaders = tuple(self._groups)
        return tuple(pid for pid in leaders if (found := stat_of(pid)) and found.state == "T")

    def terminate(self) -> None:
        """Ask the groups that live to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the groups that live."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def __reduce__(self) -> tuple[type[ProcessGroups], tuple[dict[int, str | None]]]:
        return type(self), (dict(self._groups),)

    def _signal(self, number: signal.Signals) -> None:
        if sys.platform == "win32":
            return
        for pgid in self.alive():
            # it may end between the look and the signal, or belong to another user by now
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pgid, number)


def is_below(pid: int, ancestor: int) -> bool:
    """Return whether a process was started by another, or by one that this one started.

    Always false if `/proc` is missing.
    """
    while pid > 1:
        if pid == ancestor:
            return True
        found = stat_of(pid)
        if found is None:
            return False
        pid = found.parent
    return False


def _lives(pgid: int, running: frozenset[int] | None) -> bool:
    if running is not None:
        return pgid in running
    if sys.platform == "win32":
        return False
    try:
        os.killpg(pgid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _same(pgid: int, started: str | None) -> bool:
    """Whether the group's id was not given to a new leader; without a leader it is the old one."""
    now = _start_time(pgid)
    return started is None or now is None or now == started


def _running_groups() -> frozenset[int] | None:
    """Return the groups of all processes except zombies, or None if /proc is missing."""
    if not PROC.is_dir():
        return None
    every = (found for pid in pids() if (found := stat_of(pid)))
    return frozenset(each.group for each in every if each.state not in {"Z", "X"})


def _marked(mark: tuple[str, str]) -> set[int]:
    """Return the groups, except our own, that have a process with `mark` in its environment."""
    wanted = os.fsencode("=".join(mark))
    if not PROC.is_dir():
        return set()
    found = set()
    for pid in pids():
        # another user's cannot be read, a zombie's is empty
        with contextlib.suppress(OSError):
            if wanted in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.add(os.getpgid(pid))
    return found - {os.getpgrp()}


def _start_time(pid: int) -> str | None:
    found = stat_of(pid)
    return found.started if found else None
