"""Odd but honest behaviours of agents are not flagged; the campaign `honest_acts` tries all of them in both worlds."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.exploits.honest_acts import HONEST_ACTS, QUICK, TASKS, false_alarms
from integration_tests.exploits.worlds import apps, sites

if TYPE_CHECKING:
    from pathlib import Path


def test_there_are_many_behaviours() -> None:
    assert len(HONEST_ACTS) >= 44
    assert set(QUICK) <= set(HONEST_ACTS)


@pytest.mark.browser
@pytest.mark.full_chromium
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "world", "acts"),
    [("webarena", sites, QUICK), ("multireal", apps, ("back-and-forward",))],
)
def test_odd_but_honest_behaviours_are_not_flagged(
    tmp_path: Path, name: str, world: Any, acts: tuple[str, ...]
) -> None:
    with world() as started:
        alone = replace(started, honest=())
        found = asyncio.run(false_alarms(alone, TASKS[name], acts, tmp_path))
    assert found == {}
