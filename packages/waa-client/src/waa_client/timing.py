"""Sleeps and waits of a trial: vanilla's for parity, or polling until the screen does not change.

They affect the duration of a trial but not its score; their name is recorded with every result.
Sleeps of vanilla: `run.py`, `lib_run_single.py` and `desktop_env.py` of
microsoft/WindowsAgentArena @ 6d39ed8.
"""

from __future__ import annotations

import asyncio
import time
from typing import Literal, Protocol

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from bench_core.errors import InputError
from bench_core.records import Record

__all__ = ["TIMINGS", "SleepClock", "Timing"]


class Timing(Record):
    """The sleeps of a trial, in seconds.

    Attributes:
        after_close_s: After closing all windows.
        poll_s: Between polls whether the VM answers, or whether the screen changes.
        boot_polls: The most polls whether the VM answers before the trial fails.
        after_setup_s: After the task's setup.
        after_action_s: After every action; WAIT takes it twice.
        uia_s: Longest time to read the accessibility tree by `uia`; after that, the trial uses `win32`.
        settle_s: Wait at most this long until two screenshots in a row are the same; 0 for no wait.
        update_always: Send the elements to the VM at every step, as WAA's own agent does.
        window_always: Ask for the foreground window at every step, as WAA does.
    """

    name: Literal["vanilla", "fast"]
    after_close_s: NonNegativeFloat = 0.0
    poll_s: NonNegativeFloat
    boot_polls: PositiveInt
    after_setup_s: NonNegativeFloat = 0.0
    after_action_s: NonNegativeFloat = 0.0
    uia_s: PositiveFloat = 300.0  # as long as vanilla waits
    settle_s: NonNegativeFloat = 0.0
    update_always: bool = False
    window_always: bool = False


TIMINGS = {
    "vanilla": Timing(
        name="vanilla",
        after_close_s=5.0,
        poll_s=5.0,
        boot_polls=20,  # vanilla's `_wait_emulator` polls 20 times, 5 s apart
        # `desktop_env.py` sleeps after the setup
        after_setup_s=5.0,
        # vanilla's `--sleep_after_execution`
        after_action_s=3.0,
        update_always=True,
        window_always=True,
    ),
    "fast": Timing(
        name="fast", poll_s=0.1, boot_polls=1000, after_action_s=0.05, uia_s=30.0, settle_s=3.0
    ),
}


def timing_of(timing: str | None) -> Timing:
    """Return the timing of a name, the fast one if a run has none.

    Raises:
        InputError: The timing does not exist.
    """
    name = timing or "fast"
    if name not in TIMINGS:
        raise InputError(f"unknown timing {name!r}: there are {', '.join(TIMINGS)}")
    return TIMINGS[name]


class SleepClock(Protocol):
    """A clock that sleeps; in tests and benchmarks it may only count."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def now(self) -> float:
        """Return seconds since a fixed moment."""
        ...


class RealClock:
    """The system's monotonic clock."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def now(self) -> float:
        """Return seconds since a fixed moment."""
        return time.monotonic()
