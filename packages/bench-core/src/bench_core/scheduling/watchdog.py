"""Detects a blocked event loop."""

from __future__ import annotations

import faulthandler
import signal
import threading
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from pathlib import Path

    from typing_extensions import Self

_TICKS_PER_LIMIT = 8
_LONGEST_TICK_S = 1.0
_BACKSTOP_FACTOR = 2.0
_ENDS_BY_TIMER = hasattr(signal, "setitimer")  # not on Windows, which cannot stop a process


class LoopWatchdog:
    """Watches an event loop from a thread of its own; a context manager.

    When the loop has not turned for `limit_s`, the stacks of all threads are written into
    `folder/stacks-<time>.txt` and `on_blocked` is called with that path, in the watching thread.

    It counts its own ticks instead of reading a clock, so a process that was suspended (Ctrl-Z, a
    sleeping laptop) has not missed any. Code that never lets go of the interpreter's lock stops this
    thread, too: for it a timer in C writes the stacks after twice the time. It ends the process, with
    exit code 1, only if there is no timer of CPU time, which stands still
    while the process is stopped: else that one ends it, by SIGVTALRM.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        folder: Path,
        limit_s: float,
        on_blocked: Callable[[Path], None],
    ) -> None:
        self._loop = loop
        self._limit_s = limit_s
        self._tick_s = min(_LONGEST_TICK_S, limit_s / _TICKS_PER_LIMIT)
        self._on_blocked = on_blocked
        now = datetime.now(timezone.utc)
        self._path = folder / f"stacks-{now:%Y%m%dT%H%M%SZ}.txt"
        self._stacks: TextIO | None = None
        self._turns = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="loop-watchdog", daemon=True)

    def __enter__(self) -> Self:
        _sweep_empty(self._path.parent)
        # opened before it is needed: a blocked process may be out of file handles
        self._stacks = self._path.open("w", encoding="utf-8")
        self._note_turn()
        self._arm_backstop()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        _disarm_backstop()
        if self._timer is not None:
            self._timer.cancel()
        if self._stacks is not None:
            self._stacks.close()
        _sweep_empty(self._path.parent)

    def _note_turn(self) -> None:
        self._turns += 1
        self._timer = self._loop.call_later(self._tick_s, self._note_turn)

    def _watch(self) -> None:
        seen, missed = 0, 0
        while not self._stop.wait(self._tick_s):
            if self._turns != seen:
                seen, missed = self._turns, 0
                self._arm_backstop()
                continue
            missed += 1
            if missed * self._tick_s >= self._limit_s:
                _disarm_backstop()
                if self._stacks is not None:
                    faulthandler.dump_traceback(file=self._stacks, all_threads=True)
                self._on_blocked(self._path)
                return

    def _arm_backstop(self) -> None:
        if self._stacks is not None:
            delay_s = self._limit_s * _BACKSTOP_FACTOR
            faulthandler.dump_traceback_later(delay_s, exit=not _ENDS_BY_TIMER, file=self._stacks)
            if _ENDS_BY_TIMER:
                signal.setitimer(signal.ITIMER_VIRTUAL, delay_s)


def _disarm_backstop() -> None:
    faulthandler.cancel_dump_traceback_later()
    if _ENDS_BY_TIMER:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _sweep_empty(folder: Path) -> None:
    """Remove files of sessions that were never blocked."""
    for path in folder.glob("stacks-*.txt"):
        if not path.stat().st_size:
            path.unlink(missing_ok=True)
