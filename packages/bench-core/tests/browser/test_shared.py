"""A shared Chromium that does not start says so to whoever waits for it."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.browser import ChromiumOptions
from bench_core.browser.shared import SharedChromium
from bench_core.errors import BrowserError, MissingExtraError, pip_install

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WAIT_S = 60.0


@pytest.mark.asyncio
async def test_without_playwright_the_package_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    shared = SharedChromium(ChromiumOptions(), asyncio.get_running_loop())
    with pytest.raises(MissingExtraError, match=re.escape(pip_install("bench-core[playwright]"))):
        await asyncio.wait_for(shared.ready(), WAIT_S)
    await shared.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("turns", [0, 1, 5], ids="{}-turns-of-the-loop".format)
async def test_an_end_during_the_start_is_told(turns: int) -> None:
    shared = SharedChromium(ChromiumOptions(), asyncio.get_running_loop())
    waiting = asyncio.create_task(shared.ready())
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in asyncio.all_tasks():
        if task.get_name() == "shared Chromium":  # as a loop does that ends
            task.cancel()
    with pytest.raises((BrowserError, MissingExtraError)):
        await asyncio.wait_for(waiting, WAIT_S)


@pytest.mark.asyncio
async def test_a_chromium_that_cannot_run_is_told(program: Callable[[str], Path]) -> None:
    pytest.importorskip("playwright")
    options = ChromiumOptions(executable=program("echo broken >&2; exit 3"))
    shared = SharedChromium(options, asyncio.get_running_loop())
    with pytest.raises(BrowserError, match="broken"):
        await asyncio.wait_for(shared.ready(), WAIT_S)
    await shared.close()
