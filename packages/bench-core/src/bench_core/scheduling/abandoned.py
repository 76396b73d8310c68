"""Leftovers of attempts: they keep their resources until they can do no more harm."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.processes import ProcessGroups
    from bench_core.scheduling.attempts import RunningAttempt

_TERM_GRACE_S = 3.0
_POLL_S = 0.2

ABANDONED_END_S = _TERM_GRACE_S + 2.0
"""Seconds after which every process group that can be killed is dead."""


async def outlast(attempt: RunningAttempt, processes: ProcessGroups) -> None:
    """End the leftovers of an attempt and return when they are dead.

    Its process groups are asked to end, then killed. An attempt that was abandoned without any
    process group holds on until its own task ends; it is cancelled again and again until then.
    """
    acts_through_processes = len(processes) > 0
    loop = asyncio.get_running_loop()
    kill_at = loop.time() + _TERM_GRACE_S
    processes.terminate()
    while processes.alive() or not (attempt.task.done() or acts_through_processes):
        # Again and again: code that swallows one cancellation may end at the next.
        attempt.task.cancel()
        await asyncio.wait([attempt.task], timeout=_POLL_S)
        if attempt.task.done():
            await asyncio.sleep(_POLL_S if processes.alive() else 0)
        if loop.time() >= kill_at:
            processes.kill()
