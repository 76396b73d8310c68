"""After any sequence of faults no machine is left, and none of a live owner was removed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bench_core.testing.machines import FaultyBackend, MemoryBackend, SetClock, faulty_sequence

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("fives", range(4))
async def test_memory_sequences_leave_nothing(fives: int, tmp_path: Path) -> None:
    for seed in range(5 * fives, 5 * fives + 5):
        clock = SetClock()
        backend = FaultyBackend(MemoryBackend(clock=clock), random.Random(seed))  # noqa: S311  # chance
        wrong = await faulty_sequence(seed, backend, {"a": 1}, tmp_path / str(seed), clock)
        assert (seed, wrong) == (seed, [])
