"""The sketch of reinforcement learning in docs/sessions.md, on a world of numbers to count up to."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from counting_benchmark import Faulty

from bench_core.sessions import EpisodeError, open_many

SKETCH = Path(__file__).parents[4] / "docs" / "rollouts.py"

pytestmark = pytest.mark.skipif(not SKETCH.exists(), reason="the pages are not here")


@pytest.fixture(scope="module")
def sketch() -> dict[str, Any]:
    return runpy.run_path(str(SKETCH))


def test_sixty_four_episodes_over_eight_sessions_have_group_advantages(
    sketch: dict[str, Any],
) -> None:
    done = list(sketch["rollouts"]("counting_benchmark:Counting", groups=5, max_steps=2))
    done += list(sketch["rollouts"]("counting_benchmark:Counting", groups=3, seed=1, max_steps=2))
    assert sum(len(found) for _, found in done) == 64
    assert all(sum(found) == pytest.approx(0.0) for _, found in done)


def test_episodes_that_fail_are_masked_and_enter_no_mean(sketch: dict[str, Any]) -> None:
    with Faulty("3", "evaluate"):
        done = dict(sketch["rollouts"]("counting_benchmark:Counting", groups=5, max_steps=2))
    assert done.pop("3") == [None] * 8
    assert all(None not in found for found in done.values())
    assert sketch["advantages"]([1.0, 0.0, None]) == [0.5, -0.5, None]
    assert sketch["advantages"]([None]) == [None]


def test_an_error_is_no_episode_that_goes_on(sketch: dict[str, Any]) -> None:
    with Faulty("1", "open"), open_many("counting_benchmark:Counting", 2) as group:
        (first, _) = group.reset(["1", "2"])
        assert isinstance(first, EpisodeError)
        assert not sketch["goes_on"](first)
