"""Guards a process that runs trials: signals end it in order, a blocked loop cannot hang it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, NoReturn, Protocol

from bench_core.errors import RunFolderError
from bench_core.exit_codes import ABORTED, INTERRUPTED
from bench_core.files.temporary import remove_temporary_folder
from bench_core.records import Event
from bench_core.scheduling.interrupts import Interrupts
from bench_core.scheduling.watchdog import LoopWatchdog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.progress import Progress
    from bench_core.records import SessionOutcome, TrialKey
    from bench_core.run_spec import Timeouts

_LAST_MESSAGE_S = 2.0


class _Runner(Protocol):
    """The methods a guard needs of a scheduler, or of several that it stops together."""

    @property
    def in_flight(self) -> int: ...

    def stop(self) -> None: ...

    def running(self) -> list[TrialKey]: ...

    def kill_processes(self) -> None: ...


class _Folder(Protocol):
    """The methods a guard needs of a run folder."""

    path: Path

    def event(self, event: Event) -> None: ...

    def now(self) -> datetime: ...

    def finish(self, outcome: SessionOutcome) -> None: ...


@contextlib.contextmanager
def guarded(
    scheduler: _Runner, folder: _Folder, timeouts: Timeouts, progress: Progress
) -> Iterator[None]:
    """Guard this process while `scheduler` runs in its main thread's event loop.

    Ctrl-C, SIGTERM or SIGHUP stops the scheduler in order; a second one kills the trials' processes and
    exits with code 130. When the event loop is blocked for `timeouts.loop_block_s`, the stacks of
    all threads are written into the run folder and the process exits with code 75. Results that
    were reported are on disk in every case and the same command continues the run.
    """
    guard = _Guard(scheduler, folder, progress)
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            Interrupts(lambda: loop.call_soon_threadsafe(guard.stop), guard.stop_now)
        )
        if timeouts.loop_block_s is not None:
            stack.enter_context(LoopWatchdog(loop, folder.path, timeouts.loop_block_s, guard.abort))
        stack.enter_context(_no_exit_as_if_all_were_well())
        yield


@contextlib.contextmanager
def _no_exit_as_if_all_were_well() -> Iterator[None]:
    """Let code that ends this process with `os._exit(0)` end it with the code of an aborted run.

    The run has not ended then, and whoever started the command reads 0 as "every trial has a result".
    Children that were forked from this process end as they like.
    """
    leave, owner = os._exit, os.getpid()

    def exit_honestly(status: int) -> NoReturn:
        leave(ABORTED if status == 0 and os.getpid() == owner else status)

    os._exit = exit_honestly
    try:
        yield
    finally:
        os._exit = leave


class _Guard:
    def __init__(self, scheduler: _Runner, folder: _Folder, progress: Progress) -> None:
        self._scheduler = scheduler
        self._folder = folder
        self._progress = progress

    def stop(self) -> None:
        in_flight = self._scheduler.in_flight
        self._scheduler.stop()
        with contextlib.suppress(OSError):  # whoever would read it may be gone
            self._progress.note(
                f"Stopping: {in_flight} trials in flight are cancelled and written down. Ctrl-C "
                "again stops now."
            )

    def stop_now(self) -> None:
        self._leave("interrupted", INTERRUPTED, "stopped_now", {})

    def abort(self, stacks: Path) -> None:
        text = (
            f"A trial blocks the event loop: the stacks are in {stacks}. Aborting; the same "
            "command continues the run."
        )
        _within(_LAST_MESSAGE_S, lambda: print(text, file=sys.stderr, flush=True))  # noqa: T201  # the process is about to end
        self._leave("aborted", ABORTED, "loop_blocked", {"stacks": stacks.name})

    def _leave(self, outcome: SessionOutcome, code: int, kind: str, data: dict[str, str]) -> None:
        """Write down why, kill the trials' processes and exit without waiting for any of them."""
        running = [f"{key.task_id} #{key.trial}" for key in self._scheduler.running()]
        found: dict[str, JsonValue] = {**data, "in_flight": list(running)}
        # Processes first: they act on sites until they are dead; the rest only writes down why.
        _within(_LAST_MESSAGE_S, self._scheduler.kill_processes)
        _within(
            _LAST_MESSAGE_S,
            lambda: self._folder.event(Event(time=self._folder.now(), kind=kind, data=found)),
        )
        _within(_LAST_MESSAGE_S, lambda: self._folder.finish(outcome))
        _within(_LAST_MESSAGE_S, _flush)
        _within(_LAST_MESSAGE_S, remove_temporary_folder)
        # Not `sys.exit`: it would wait for the threads of the trials that are blocked.
        os._exit(code)


def _within(seconds: float, work: Callable[[], None]) -> None:
    """Do `work` in a thread, for `seconds` at most: the interrupted one may hold a lock that it needs."""

    def try_it() -> None:
        with contextlib.suppress(OSError, RunFolderError):  # a full disk, or the run has just ended
            work()

    thread = threading.Thread(target=try_it, daemon=True)
    thread.start()
    thread.join(seconds)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
