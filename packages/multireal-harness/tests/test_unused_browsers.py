"""A shared Chromium that must not take more trials ends with its last."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from multireal_harness.browsers import Browsers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser]

WAIT_S = 120.0


async def test_a_chromium_that_may_see_too_much_ends_with_the_last_trial_in_it(
    tmp_path: Path,
) -> None:
    browsers = Browsers()
    try:
        async with AsyncExitStack() as first, AsyncExitStack() as second:
            leases = [
                await stack.enter_async_context(browsers.open_context())
                for stack in (first, second)
            ]
            old = leases[0].chromium
            assert leases[1].chromium is old
            async with browsers.open_context(hidden=(tmp_path,)) as sealed:
                assert sealed.chromium is not old
                await first.aclose()
                assert old.alive
                await (await leases[1].context.new_page()).goto("about:blank")
                await second.aclose()
                await asyncio.wait_for(old.wait_closed(), WAIT_S)
                assert sealed.chromium.alive
            async with browsers.open_context(hidden=(tmp_path,)) as again:
                assert again.chromium is sealed.chromium
    finally:
        await browsers.close()


async def test_those_who_wait_for_a_chromium_get_it_where_another_takes_its_place(
    tmp_path: Path,
) -> None:
    browsers = Browsers()

    async def used(*hidden: Path) -> bool:
        async with browsers.open_context(hidden=hidden) as lease:
            await lease.context.new_page()
            return lease.chromium.alive

    try:
        assert await asyncio.gather(used(), used(tmp_path), used()) == [True, True, True]
    finally:
        await browsers.close()
