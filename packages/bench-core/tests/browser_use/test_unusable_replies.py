"""What browser-use's trajectories say of steps whose replies could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from posting_page import buttons
from unusable_replies import differences, episode

from bench_core.browser import launch_chromium
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser


async def test_a_step_whose_reply_could_not_be_read_has_nothing_of_the_step_before(
    tmp_path: Path,
) -> None:
    with buttons() as server:
        async with launch_chromium() as chromium:
            browser = BrowserHandle(cdp_url=chromium.cdp_url)
            posted, steps, chat = await episode(browser, server, tmp_path / "trial", seed=15)

    assert differences(posted, steps, seed=15) == []
    failed = next(each for each in steps if each.error)
    assert failed.error is not None
    assert failed.error.startswith("The reply is not in the form that was asked for")
    assert failed.error in chat.asked[failed.step]
