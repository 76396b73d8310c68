from __future__ import annotations

import asyncio

import pytest

from bench_core.playwright_driver import open_playwright


@pytest.mark.browser
@pytest.mark.full_chromium
async def test_the_driver_ends_though_its_end_is_cancelled() -> None:
    opened, ending = asyncio.Event(), asyncio.Event()
    ended = []

    async def use() -> None:
        async with open_playwright("this test") as playwright:
            stop = playwright.stop

            async def slow_stop() -> None:
                ending.set()
                await asyncio.sleep(0.2)
                await stop()
                ended.append(True)

            playwright.stop = slow_stop
            opened.set()
            await asyncio.sleep(600)

    user = asyncio.create_task(use())
    await opened.wait()
    user.cancel()
    await ending.wait()
    user.cancel()
    with pytest.raises(asyncio.CancelledError):
        await user
    assert ended == [True]
