"""Runs a request's programs on a desktop of this process, in a process of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.simulate.isolation.pool import ProcessEndedError, shared_pool
from waa_server_ext.simulate.isolation.requests import ended, perform
from waa_server_ext.simulate.isolation.transfer import (
    Contents,
    TransferError,
    decode,
    encode,
    parts_of,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from waa_server_ext.simulate.desktop.composition import Desktop
    from waa_server_ext.simulate.isolation.pool import ProgramPool, ProgramProcess
    from waa_server_ext.simulate.isolation.requests import ProgramRequest

__all__ = ["ProgramRunner"]

_ENDED = "the program took too much time or memory and was ended"
_REPLACED = "the desktop was put back while the program ran"


class _ReplacedError(Exception):
    """The desktop that a program ran on is shown no more."""


class ProgramRunner:
    """Runs programs, small ones at once and the others where they do no harm.

    A program begins in this process with a small budget: most need less, and another process would
    take a sixth of a step more. One that exceeds it never was: the desktop becomes what it was, and the program
    runs again, with all that it may take, in a process of its own. Others look at the desktop meanwhile, which
    changes as a whole when the program is done. One that is ended there for its time or memory has
    changed nothing.

    A desktop that cannot be sent, because windows of unknown classes are open on it, is worked on in this
    process with the whole budget.

    Args:
        lock: What is held by whoever looks at the desktop or changes it.
        pool: The processes; by default those that all desktops share.
    """

    def __init__(self, lock: threading.RLock, pool: ProgramPool | None = None) -> None:
        self._lock = lock
        self._kept = Contents(first=2)
        self.pool = pool or shared_pool()

    def run(
        self, desktop: Desktop, request: ProgramRequest, is_shown: Callable[[], bool]
    ) -> ProgramRequest:
        """Do what a request asks for and return it with its answer.

        Args:
            desktop: What the programs act on.
            request: What is asked for.
            is_shown: Whether `desktop` is still the one that is shown; asked with the lock held.

        Raises:
            EnvironmentFaultError: The system starts no processes.
        """
        try:
            done = self._tried(desktop, request)
            if done.is_done:
                return done
            with self.pool.process() as process:
                return self._sent(process, desktop, done, is_shown)
        except ProcessEndedError:
            return replace(request, answer=ended(request.kind, _ENDED))
        except _ReplacedError:
            return replace(request, answer=ended(request.kind, _REPLACED))
        except TransferError:
            with self._lock:
                return perform(request, desktop)

    def _tried(self, desktop: Desktop, request: ProgramRequest) -> ProgramRequest:
        """Return the request done, or, with the desktop as it was, not done."""
        with self._lock:
            parts = parts_of(desktop)
            *_, before = encode(parts, request, self._kept)
            with Budget.small() as budget:
                done = perform(request, desktop)
            if not budget.is_exceeded:
                return done
            found = decode(before, self._kept, parts)
        if found is None:
            raise TransferError("the desktop was not kept")
        asked: ProgramRequest = found[1]
        return asked

    def _sent(
        self,
        process: ProgramProcess,
        desktop: Desktop,
        request: ProgramRequest,
        is_shown: Callable[[], bool],
    ) -> ProgramRequest:
        process.wait_until_ready()
        with self._lock:
            parts = parts_of(desktop)
            messages = encode(parts, request, process.contents)
        for message in process.ask(messages):
            with self._lock:
                if message.number == 0 and not is_shown():
                    raise _ReplacedError
                found = decode(message, process.contents, parts)
        if found is None:
            raise TransferError("nothing came back")
        done: ProgramRequest = found[1]
        return done
