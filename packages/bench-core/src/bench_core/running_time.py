"""The time in which this process could run, which limits count, and the gaps in it.

A process that is stopped (Ctrl-Z, SIGSTOP, a frozen container) or whose machine sleeps loses time that
no code in it can have used. A thread gives a sign twice a second; if the next sign of any thread comes
much later, and the process did not compute meanwhile, the time between is a gap. The system's calendar is
asked nowhere: it may be set.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from typing_extensions import Self

    from bench_core.processes import ProcessGroups

__all__ = ["RUNNING_TIME", "RunningTime", "Suspension", "SuspensionWatch"]

SLACK_S = 4.0
"""Least seconds of a stop that a trial cannot make good: it waits at least that long for its answers."""
_CHILD_SLACK_S = 1.0
"""The same for one of its processes: one that is stopped while the trial waits for it answers too late."""
_BEAT_S = 0.5
_LATE_S = 2.0
# Counts the machine's sleep, which `time.monotonic` does not (macOS calls it CLOCK_MONOTONIC).
_AWAKE_OR_NOT = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def _elapsed() -> float:
    """Return seconds that go on while the machine sleeps, if the system has such a clock."""
    return time.monotonic() if _AWAKE_OR_NOT is None else time.clock_gettime(_AWAKE_OR_NOT)


@dataclass(frozen=True)
class Suspension:
    """A time in which this process could not run.

    Attributes:
        seconds: How long.
        cause: `stopped`, also by too much load, or `asleep`, as was the machine.
    """

    seconds: float
    cause: Literal["stopped", "asleep"]


class RunningTime:
    """Counts the seconds in which this process could run; a context manager, inside which gaps are noticed.

    May be entered often and from any thread. Outside of it, all time counts.

    Args:
        monotonic: The clock that counts, in seconds.
        elapsed: One that goes on while the machine sleeps.
        computed: CPU seconds of this process: one that computes for long is not stopped.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        elapsed: Callable[[], float] = _elapsed,
        computed: Callable[[], float] = time.process_time,
    ) -> None:
        self._monotonic, self._elapsed, self._computed = monotonic, elapsed, computed
        self._entered = 0
        self._lost_s, self._told = 0.0, float("-inf")
        self.begin_anew()

    def begin_anew(self) -> None:
        """Reset to the state of a new process: after a fork there are neither threads nor trials."""
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Suspension], object]] = []
        self._watches: list[SuspensionWatch] = []
        self._ended: threading.Event | None = None
        self._seen = self._beat = self._monotonic()
        self._seen_elapsed, self._seen_computed = self._elapsed(), self._computed()

    def seconds(self) -> float:
        """Return seconds from an arbitrary start that never run backwards and leave out every gap."""
        with self._lock:
            now = self._monotonic()
            if self._ended is None:
                return self._counted(now)
            late_s, self._seen = now - self._seen, now
            if late_s >= _LATE_S:
                gap_s = late_s - max(0.0, self._computed() - self._seen_computed)
                if gap_s >= _LATE_S:
                    self._lost_s += gap_s
                    self._tell(Suspension(gap_s, "stopped"))
            return self._counted(now)

    def _counted(self, now: float) -> float:
        self._told = max(self._told, now - self._lost_s)  # differences are rounded
        return self._told

    def beat(self) -> None:
        """Look at all clocks and at the watched processes."""
        self.seconds()
        with self._lock:
            now, elapsed = self._monotonic(), self._elapsed()
            passed_s, self._beat = now - self._beat, now
            asleep_s = (elapsed - self._seen_elapsed) - passed_s
            self._seen_elapsed, self._seen_computed = elapsed, self._computed()
            if asleep_s >= _LATE_S:
                self._tell(Suspension(asleep_s, "asleep"))
            for each in self._watches:
                each.look(min(passed_s, _LATE_S))

    def _tell(self, gap: Suspension) -> None:
        for watch in self._watches:
            watch.lose(gap)
        for listener in self._listeners:
            listener(gap)

    def __enter__(self) -> Self:
        with self._lock:
            self._entered += 1
            if self._ended is None:
                self._begin_signs()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered and self._ended is not None:
                self._ended.set()
                self._ended = None

    def _begin_signs(self) -> None:
        ended = threading.Event()
        thread = threading.Thread(
            target=self._give_signs, args=(ended,), name="running-time", daemon=True
        )
        # without a thread all time counts, as it does outside
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._seen = self._beat = self._monotonic()
            self._seen_elapsed, self._seen_computed = self._elapsed(), self._computed()
            self._ended = ended

    def _give_signs(self, ended: threading.Event) -> None:
        while not ended.wait(_BEAT_S):
            self.beat()

    @contextlib.contextmanager
    def listening(self, listener: Callable[[Suspension], object]) -> Iterator[None]:
        """Call `listener` after every gap inside the block, in any thread; it may not block."""
        with self:
            self._listeners.append(listener)
            try:
                yield
            finally:
                self._listeners.remove(listener)

    @contextlib.contextmanager
    def watched(self, processes: ProcessGroups) -> Iterator[SuspensionWatch]:
        """Watch for stops that a trial of this process, which has started `processes`, cannot make good."""
        watch = SuspensionWatch(processes)
        with self:
            self._watches.append(watch)
            try:
                yield watch
            finally:
                self._watches.remove(watch)


class SuspensionWatch:
    """Notes how long one trial, or a process that it started, could not run.

    Attributes:
        problem: The stop it cannot make good, in words; None if it can.
    """

    def __init__(self, processes: ProcessGroups) -> None:
        self.problem: str | None = None
        self._processes = processes
        self._stopped_s = 0.0
        self._loop = asyncio.get_running_loop()
        self._found = asyncio.Event()

    async def wait(self) -> None:
        """Wait until there is something that the trial cannot make good."""
        await self._found.wait()

    def lose(self, gap: Suspension) -> None:
        """Note a gap of the process itself."""
        if gap.seconds >= SLACK_S:
            what = "the machine slept" if gap.cause == "asleep" else "this process was stopped"
            self._find(f"{what} for {gap.seconds:.0f} s while the trial ran")

    def look(self, passed_s: float) -> None:
        """Note whether a process of the trial's is stopped now, `passed_s` after the last look."""
        for pid in self._processes.stopped():
            self._stopped_s += passed_s
            if self._stopped_s >= _CHILD_SLACK_S:
                self._find(f"a process of the trial's ({pid}) was stopped by a signal")

    def _find(self, problem: str) -> None:
        if self.problem is None:
            self.problem = problem
            with contextlib.suppress(RuntimeError):  # the loop is closed: no one waits
                self._loop.call_soon_threadsafe(self._found.set)


RUNNING_TIME = RunningTime()
"""That of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RUNNING_TIME.begin_anew)


def leave_out_gaps(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    """Let every timer of `loop` wait in the time in which this process could run."""
    loop.time = RUNNING_TIME.seconds  # type: ignore[method-assign]
    return loop
