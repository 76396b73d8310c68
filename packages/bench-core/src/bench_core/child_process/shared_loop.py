"""Child processes for code without an event loop."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from bench_core.background_loop import BackgroundLoop

_T = TypeVar("_T")


def blocking(work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` in the event loop that all child processes of blocking code share.

    Every use of a child process that was started this way goes through here: its pipes belong to that loop.

    >>> import sys
    >>> from bench_core.child_process import SpawnedProcess
    >>> process = blocking(SpawnedProcess.start([sys.executable, "-c", "pass"]))
    >>> blocking(process.ended()).code
    0
    """
    return _loop_of(os.getpid()).call(work)


def in_background(work: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Run `work` in the same event loop without waiting for it, one after the other until each first waits."""
    return _loop_of(os.getpid()).begin(work)


@cache
def _loop_of(pid: int) -> BackgroundLoop:
    """Return the loop of a process.

    A forked process makes its own. It keeps the other, which has no thread there: to let go of it would
    take the pipes out of the `epoll` that both processes share.
    """
    return BackgroundLoop(f"child processes of {pid}")
