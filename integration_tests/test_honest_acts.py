"""Odd but honest behaviours of agents are not flagged; the campaign `honest_acts` tries all of them in both worlds."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.exploits.honest_acts import HONEST_ACTS
from integration_tests.exploits.honest_ways import WAYS, false_alarms
from integration_tests.exploits.worlds import apps, sites

if TYPE_CHECKING:
    from pathlib import Path

QUICK = (
    "back-and-forward",
    "view-source",
    "list-of-downloads",
    "other-language",
    "advertising-is-stubbed",
    "upload-too-large",
    "unknown-method",
)


def test_there_are_many_behaviours() -> None:
    assert len(HONEST_ACTS) >= 44
    assert {way: len(acts) for way, (acts, _) in WAYS.items()} == {
        "protocol": 48, "playwright": 60, "browser-use": 33, "screen-reader": 14,
    }  # fmt: skip


def drawn(way: str) -> tuple[str, ...]:
    """Return two behaviours of a way, always the same."""
    return tuple(random.Random(way).sample(sorted(WAYS[way][0]), 2))  # noqa: S311  # a draw


@pytest.mark.browser
@pytest.mark.full_chromium
@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "way", "acts"),
    [
        (sites, "protocol", QUICK),
        (apps, "protocol", ("back-and-forward",)),
        (sites, "playwright", ("storage-of-sites-left", *drawn("playwright"))),
        (sites, "browser-use", drawn("browser-use")),
        (apps, "screen-reader", drawn("screen-reader")),
    ],
)
def test_odd_but_honest_behaviours_are_not_flagged(
    tmp_path: Path, world: Any, way: str, acts: tuple[str, ...]
) -> None:
    with world() as started:
        found = asyncio.run(false_alarms(started, way, acts, tmp_path))
    assert found == {}
