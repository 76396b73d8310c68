from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import AsyncExitStack
from typing import Any

import pytest

from multireal_harness.browsers import Browsers

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CONTEXTS = 21
WRITE = """(value) => {
  localStorage.setItem('law', value); sessionStorage.setItem('law', value);
  document.cookie = `law=${value}`;
}"""
READ = "[localStorage.getItem('law'), sessionStorage.getItem('law'), document.cookie]"


async def test_law_no_two_of_210_pairs_of_contexts_at_once_see_each_others_state(
    world: Any,
) -> None:
    """Write different values in many contexts at once, in a random order, and read all of them."""
    assert len(list(itertools.combinations(range(CONTEXTS), 2))) >= 200
    rng = random.Random(7)  # noqa: S311  # seeded on purpose
    browsers = Browsers()
    try:
        async with AsyncExitStack() as stack:
            leases = [
                await stack.enter_async_context(browsers.open_context()) for _ in range(CONTEXTS)
            ]
            assert len({id(lease.chromium) for lease in leases}) == 1
            pages = [await _blank(lease, world.urls["mail"]) for lease in leases]
            assert await _all(pages) == [[None, None, ""]] * CONTEXTS
            values = [f"{number}-{rng.random()}" for number in range(CONTEXTS)]
            order = rng.sample(range(CONTEXTS), CONTEXTS)
            await asyncio.gather(*(pages[n].evaluate(WRITE, values[n]) for n in order))
            expected = [[value, value, f"law={value}"] for value in values]
            assert await _all(pages) == expected
            await asyncio.gather(*(page.reload() for page in pages))
            assert await _all(pages) == expected
    finally:
        await browsers.close()


async def _all(pages: list[Any]) -> list[Any]:
    return list(await asyncio.gather(*(page.evaluate(READ) for page in pages)))


async def _blank(lease: Any, url: str) -> Any:
    """Open a page of the app's origin without the app, which would only take time."""
    page = await lease.context.new_page()
    await page.route(
        "**/*", lambda route: route.fulfill(status=200, body="", content_type="text/html")
    )
    await page.goto(url)
    return page
