"""Distinguishes a stop of the program from exceptions that code raises of its own accord.

A benchmark, an evaluator or an agent may raise `KeyboardInterrupt`, `SystemExit`, `GeneratorExit` or
`CancelledError` as it may raise anything else. It is then a defect of that code, and ends no run.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from types import FrameType

    from typing_extensions import Self

__all__ = ["Bordered", "NotedInterrupts", "OwnAccordError", "bordered"]

_T = TypeVar("_T")


class OwnAccordError(Exception):
    """Code raised an exception that ends programs (`SystemExit`, `KeyboardInterrupt`) of its own accord."""


class NotedInterrupts:
    """Handles Ctrl-C as it is handled already, and knows whether there was one; a context manager.

    Does nothing outside the main thread, to which no signal arrives.
    """

    def __init__(self) -> None:
        self.received = False
        self._before: Any = None

    def __enter__(self) -> Self:
        before: Any = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self)
        return self

    def __exit__(self, *_: object) -> None:
        now: object = signal.getsignal(signal.SIGINT)
        if now is self:
            signal.signal(signal.SIGINT, self._before)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        self.received = True
        self._before(number, frame)


async def bordered(
    work: Callable[[], Awaitable[_T]], who: str, error_type: type[Exception] = OwnAccordError
) -> _T:
    """Await foreign `work`; exceptions that end programs pass only if they are not of its own accord.

    Args:
        work: Begins it.
        who: The owner of that code, for the message.
        error_type: Raised in place of an exception that only ends programs.
    """
    task = asyncio.current_task()
    try:
        return await work()
    except Exception:
        raise
    except BaseException as error:
        if not _is_of_own_accord(error, task):
            raise
        raise error_type(f"{who} {_deed(error)}") from error


class Bordered(Generic[_T]):
    """Opens and closes a foreign context manager as `bordered` awaits."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[_T]], who: str) -> None:
        self._opening = opening
        self._who = who
        self._opened: AbstractAsyncContextManager[_T] | None = None

    async def __aenter__(self) -> _T:
        async def enter() -> _T:
            self._opened = self._opening()
            return await self._opened.__aenter__()

        return await bordered(enter, self._who)

    async def __aexit__(self, *raised: object) -> bool | None:
        assert self._opened is not None  # noqa: S101  # it was entered
        opened = self._opened
        leave: Callable[..., Awaitable[bool | None]] = opened.__aexit__
        return await bordered(lambda: leave(*raised), self._who)


def _deed(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "cancelled itself"
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    return f"raised {type(error).__name__}"


def _is_of_own_accord(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Return whether code that ran in `task` raised `error` itself, without a signal or a cancellation."""
    if isinstance(error, KeyboardInterrupt):
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread():
            return True
        if isinstance(handler, NotedInterrupts):
            return not handler.received
        return handler is not signal.default_int_handler  # the user's may arrive in any code
    if isinstance(error, asyncio.CancelledError):
        # 3.10 does not count cancellations: there the runner of the task finds that no one asked
        return task is not None and getattr(task, "cancelling", lambda: 1)() == 0
    if isinstance(error, GeneratorExit):
        # Python raises it in discarded code, while no task or another one runs
        return task is not None and _current_task() is task
    return True


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
