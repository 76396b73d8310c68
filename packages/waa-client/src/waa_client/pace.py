"""How fast a trial goes: vanilla's sleeps for parity, or polling until the screen is ready.

A pace changes how long a trial takes and nothing of how it is scored; it is recorded with every
result. Sleeps of vanilla: `run.py`, `lib_run_single.py` and `desktop_env.py` of
microsoft/WindowsAgentArena @ 6d39ed8.
"""

from __future__ import annotations

import asyncio
import time
from typing import Literal, Protocol

from pydantic import NonNegativeFloat, PositiveInt

from bench_core.errors import InputError
from bench_core.records import Record

__all__ = ["PACES", "Clock", "Pace", "RealClock", "pace_of"]


class Pace(Record):
    """The sleeps of a trial, in seconds.

    Attributes:
        after_close_s: After all windows were closed.
        poll_s: Between looks whether the VM is up, or whether the screen is still.
        boot_polls: How often to look whether the VM is up; then the trial fails.
        after_setup_s: After the task's set-up.
        after_action_s: After every action; WAIT takes it twice.
        settle_s: Instead, at most this long until two pictures in a row are the same; 0 is never.
        update_always: Tell the VM where elements are at every step, as WAA's own agent does.
        window_always: Ask for the foreground window at every step, as WAA does.
    """

    name: Literal["vanilla", "fast"]
    after_close_s: NonNegativeFloat = 0.0
    poll_s: NonNegativeFloat
    boot_polls: PositiveInt
    after_setup_s: NonNegativeFloat = 0.0
    after_action_s: NonNegativeFloat = 0.0
    settle_s: NonNegativeFloat = 0.0
    update_always: bool = False
    window_always: bool = False


PACES = {
    "vanilla": Pace(
        name="vanilla",
        after_close_s=5.0,
        poll_s=5.0,
        boot_polls=20,
        after_setup_s=5.0,
        after_action_s=3.0,
        update_always=True,
        window_always=True,
    ),
    "fast": Pace(name="fast", poll_s=0.1, boot_polls=1000, after_action_s=0.05, settle_s=3.0),
}


def pace_of(timing: str | None) -> Pace:
    """Return the pace of a timing, the fast one where a run says nothing of it.

    Raises:
        InputError: There is no such timing.
    """
    name = timing or "fast"
    if name not in PACES:
        raise InputError(f"unknown timing {name!r}: there are {', '.join(PACES)}")
    return PACES[name]


class Clock(Protocol):
    """Sleeps and tells the time; a test's or a benchmark's may only count."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def now(self) -> float:
        """Return seconds since some moment."""
        ...


class RealClock:
    """The clock on the wall."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def now(self) -> float:
        """Return seconds since some moment."""
        return time.monotonic()
