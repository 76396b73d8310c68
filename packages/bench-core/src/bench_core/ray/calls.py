"""Calls to Ray with their own deadlines: some of Ray's wait forever on a cluster without its head."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any


async def value_of(reference: Any, seconds: float) -> Any:
    """Return the value of a call; Ray's own deadline does not hold for all of them."""
    return await asyncio.wait_for(asyncio.wrap_future(reference.future()), seconds)


async def in_thread(
    call: Callable[[], Any], seconds: float, until: threading.Event | None = None
) -> Any:
    """Return the value of a call; a hanging one does not keep this process from ending, as a pool's would.

    Its thread then lives `until` something happens.
    """
    done: Future[Any] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001  # raised in the waiting code
            with contextlib.suppress(InvalidStateError):  # no one waits any longer
                done.set_exception(error)
        if until is not None:
            until.wait()

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wait_for(asyncio.wrap_future(done), seconds)
