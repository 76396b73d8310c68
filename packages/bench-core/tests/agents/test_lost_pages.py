"""A page that crashes or hangs under an agent of the loop is told apart from a browser that has gone."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from bench_core.agents import Click, Point, Wait
from bench_core.agents.browser import BrowserEnvironment, connect_browser
from bench_core.browser import launch_chromium
from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


@asynccontextmanager
async def a_page_that_hangs_once_clicked() -> AsyncIterator[BrowserEnvironment]:
    page = "<button style='position: fixed; inset: 0' onclick='for (;;);'>Go</button>"
    async with (
        launch_chromium() as chromium,
        connect_browser(BrowserHandle(cdp_url=chromium.cdp_url)) as live,
    ):
        await live._tabs.page().goto(f"data:text/html,{quote(page)}")
        await live.observe()
        yield live


CLICK = Click(target=Point(x=100, y=100))


async def test_an_act_ends_where_its_page_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_page_that_hangs_once_clicked() as live:
        monkeypatch.setattr("bench_core.agents.browser._SILENT_S", 1.0)
        with pytest.raises(EnvironmentFaultError, match="hangs") as caught:
            await live.act(CLICK)
    assert caught.value.fault == "page_crashed"


async def test_time_that_was_over_while_a_page_hung_is_not_the_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        async with a_page_that_hangs_once_clicked() as live:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(live.act(CLICK), 1.0)
            monkeypatch.setattr("bench_core.agents.browser._SILENT_S", 1.0)

    with pytest.raises(EnvironmentFaultError, match="hangs") as caught:
        await work()
    assert caught.value.fault == "page_crashed"


async def test_an_act_may_take_long_where_its_page_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_page_that_hangs_once_clicked() as live:
        monkeypatch.setattr("bench_core.agents.browser._SILENT_S", 5.0)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(live.act(Wait(seconds=60)), 6.0)


async def test_a_look_that_never_ends_at_a_page_that_answers_is_no_agents_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        launch_chromium() as chromium,
        connect_browser(BrowserHandle(cdp_url=chromium.cdp_url)) as live,
    ):
        monkeypatch.setattr("bench_core.agents.browser._OBSERVE_S", 1.0)
        monkeypatch.setattr(live._reader, "look", lambda _: asyncio.sleep(600))
        with pytest.raises(EnvironmentFaultError, match="showed no state of its page") as caught:
            await live.observe()
    assert caught.value.fault == "environment"
