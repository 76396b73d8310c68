"""A page that crashes under an agent of the loop is told apart from a browser that has gone."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from bench_core.agents.browser import connect_browser
from bench_core.browser import launch_chromium
from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import BrowserHandle

playwright = pytest.importorskip("playwright.async_api", reason="Playwright is an extra")
pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("command", "fault"), [("Page.crash", "page_crashed"), ("Browser.close", "environment")]
)
async def test_whose_a_page_is_that_no_longer_answers(command: str, fault: str) -> None:
    async with (
        launch_chromium() as chromium,
        connect_browser(BrowserHandle(cdp_url=chromium.cdp_url)) as live,
    ):
        await live.observe()
        page = live._tabs.page()
        session = await page.context.new_cdp_session(page)
        with suppress(playwright.Error, asyncio.TimeoutError):
            await asyncio.wait_for(session.send(command), 2.0)
        with pytest.raises(EnvironmentFaultError) as caught:
            await live.observe()
    assert caught.value.fault == fault
