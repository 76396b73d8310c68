"""Whether the trajectory of a loop agent has the acts that its page and server saw; a campaign has every agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from built_in_agents import needs_sdk
from posting_page import buttons
from unusable_turns import loop_episode

from bench_core.browser import ChromiumOptions, Places, SharedBrowser

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("playwright", reason="Playwright is an extra")


@pytest.mark.browser
async def test_a_trajectory_has_the_acts_that_page_and_server_saw(tmp_path: Path) -> None:
    needs_sdk("computer_20250124")
    shared = SharedBrowser()
    size = {"width": 800, "height": 600}
    opened = shared.open(ChromiumOptions(), lambda *_: None, Places(), viewport=size)
    with buttons() as server:
        async with opened as browser:
            await browser.arm()
            # presses before and after an unusable act of the same reply
            found = await loop_episode("computer_20250124", browser, server, tmp_path / "t", seed=6)
    await shared.close()
    assert found == []
