"""After any sequence of faults no machine is left, and none of a live owner was removed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from test_support.machines import FaultyBackend, MemoryBackend, faulty_sequence

from bench_core.testing.providers import SetClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.machines import Found


class Unlabelled(MemoryBackend):
    """One that does not say what its machines were labelled with."""

    async def find(self) -> Sequence[Found]:
        return [each.model_copy(update={"labels": {}}) for each in await super().find()]


@pytest.mark.parametrize("fives", range(4))
async def test_memory_sequences_leave_nothing(fives: int, tmp_path: Path) -> None:
    for seed in range(5 * fives, 5 * fives + 5):
        clock = SetClock()
        backend = FaultyBackend(MemoryBackend(clock=clock), random.Random(seed))  # noqa: S311  # chance
        wrong = await faulty_sequence(seed, backend, {"a": 1}, tmp_path / str(seed), clock)
        assert (seed, wrong) == (seed, [])


async def test_a_reaper_that_sees_no_labels_is_noticed(tmp_path: Path) -> None:
    clock = SetClock()
    backend = FaultyBackend(Unlabelled(clock=clock), random.Random(0))  # noqa: S311  # chance
    wrong = await faulty_sequence(0, backend, {"a": 1}, tmp_path, clock, steps=0)
    assert [each.partition(":")[0] for each in wrong] == ["left behind"]
