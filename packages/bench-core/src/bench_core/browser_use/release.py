"""Detach from a browser that another program owns, in any state of browser-use.

`BrowserSession.kill` and `stop` wait for handlers that a page which never answers keeps busy, for
more than a minute. `reset` only drops the connection, but leaves the session's event bus running,
and a running bus keeps `asyncio.run` from ever returning. It also forgets its watchdogs without ending
their tasks, which would run on and keep the session's data in memory.
"""

from __future__ import annotations

import asyncio
from typing import Any


async def release_session(session: Any, *buses: Any, patience_s: float = 3.0) -> None:
    """Disconnect `session` from its browser without closing it; never waits much longer than its limit.

    `buses` are further event buses to stop, e.g. that of an agent that was cut off.
    """
    # the requests under way get an error when cdp-use disconnects; who waits for them is cancelled in the
    # same moment, and asyncio would complain
    if session.is_cdp_connected:
        for request in session.cdp_client.pending_requests.values():
            request.add_done_callback(_ignore_outcome)
    leaving = asyncio.ensure_future(_leave(session, buses))
    leaving.add_done_callback(_ignore_outcome)
    try:
        await asyncio.wait({leaving}, timeout=patience_s)
    finally:
        leaving.cancel()
        for task in _tasks_of(session):
            task.cancel()


async def _leave(session: Any, buses: tuple[Any, ...]) -> None:
    for bus in (session.event_bus, *buses):
        await bus.stop(clear=True, timeout=0)
    await session.reset()


def _tasks_of(session: Any) -> list[asyncio.Task[Any]]:
    """Return the tasks that run methods of a session's watchdogs: nothing else knows all of them."""
    return [
        task
        for task in asyncio.all_tasks()
        if (frame := getattr(task.get_coro(), "cr_frame", None)) is not None
        # reading `f_locals` freezes a frame's names as they are now, so only browser-use's frames are read
        and str(frame.f_globals.get("__name__")).startswith("browser_use.")
        and getattr(frame.f_locals.get("self"), "browser_session", None) is session
    ]


def _ignore_outcome(task: asyncio.Future[Any]) -> None:
    """Take a future's exception so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
