"""Who does a built-in task in another way than the kept solution scores one, too."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from test_solutions import score_of
from ways import CANVAS, SECRET, WAYS, WRAP

from waa_server_ext.built_in import SimulatedDesktopWorld
from waa_server_ext.built_in.solutions import action_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUICK = {(CANVAS, "saved by keys"), (SECRET, "by keys"), (WRAP, "by the palette")}


@pytest.fixture(scope="module")
def world() -> Iterator[SimulatedDesktopWorld]:
    made = SimulatedDesktopWorld()
    asyncio.run(made.start())
    yield made
    made.close()


@pytest.mark.parametrize(
    ("task", "way"),
    [
        pytest.param(task, way, marks=() if (task, way) in _QUICK else pytest.mark.slow)
        for task, ways in WAYS.items()
        for way in ways
    ],
)
def test_every_way_to_do_a_task_scores_one(
    world: SimulatedDesktopWorld, task: str, way: str
) -> None:
    world.reset()
    verdict = score_of(world, task, [action_of(step, {}) for step in WAYS[task][way]])
    assert verdict["score"] == 1.0, verdict["reason"]
