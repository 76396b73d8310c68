"""What the gateway between an agent and its Chromium costs where no agent thinks: steps and single calls.

A visit is a fresh Chromium, Playwright attached, twenty steps on a form as fast as they go, with a screenshot each,
and the end of it all. What whole trials cost, as runners do them, is measured by webarena-runner's
`bench_gateway_trial.py`. Visits by the gateway and without it take turns, so that both meet the same machine; the
best of each counts. The first of each is not counted.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from playwright.async_api import async_playwright

from bench_core.browser import launch_chromium, open_gateway
from bench_core.cli import render_table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

VISITS = 9
STEPS = 20
CALLS = 300
MOST_RATIO = 1.05
PAGE = """<!doctype html><title>Form</title><input name="word"><button>Send</button><p id="said"></p>
<script>document.querySelector('button').onclick = () => said.textContent += word.value + ' '
</script>""".replace("word.value", "document.querySelector('input').value")


async def visit(driver: Any, *, gateway: bool) -> float:
    """Return the seconds of one visit."""
    began = time.perf_counter()
    async with _browser(gateway=gateway) as cdp_url:
        await work(driver, cdp_url)
    return time.perf_counter() - began


async def work(driver: Any, cdp_url: str) -> None:
    """Do what an agent does that knows every answer at once."""
    browser = await driver.chromium.connect_over_cdp(cdp_url)
    page = await browser.contexts[0].new_page()
    await page.set_content(PAGE)
    for step in range(STEPS):
        await page.fill("input", f"word {step}")
        await page.click("button")
        await page.screenshot()
    said = await page.text_content("#said")
    await page.close()
    await browser.close()
    if said.split()[-1] != str(STEPS - 1):
        raise SystemExit(f"the page was told {said!r}")


async def call(driver: Any, *, gateway: bool) -> float:
    """Return the milliseconds of one call, the median of many."""
    times = []
    async with _browser(gateway=gateway) as cdp_url:
        browser = await driver.chromium.connect_over_cdp(cdp_url)
        page = browser.contexts[0].pages[0]
        for _ in range(CALLS):
            began = time.perf_counter()
            await page.evaluate("6 * 7")
            times.append(time.perf_counter() - began)
        await browser.close()
    return statistics.median(times) * 1000


@asynccontextmanager
async def _browser(*, gateway: bool) -> AsyncIterator[str]:
    async with launch_chromium() as chromium:
        if not gateway:
            yield chromium.cdp_url
            return
        async with open_gateway(chromium.cdp_url) as between:
            yield between.cdp_url


async def measure() -> tuple[list[float], list[float]]:
    """Return seconds of a visit and milliseconds of a call, each direct and by the gateway."""
    async with async_playwright() as driver:
        return await _best(visit, driver, VISITS), await _best(call, driver, 5)


async def _best(timed: Callable[..., Awaitable[float]], driver: Any, rounds: int) -> list[float]:
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds + 1):
        for gateway in (False, True) if number % 2 else (True, False):
            times[gateway].append(await timed(driver, gateway=gateway))
    return [min(each[1:]) for each in times.values()]


def main() -> int:
    """Measure, print the table and tell whether the promise holds."""
    visits, calls = asyncio.run(measure())
    ratio = visits[1] / visits[0]
    held = ratio <= MOST_RATIO
    rows = [
        ("visit, direct", f"{visits[0]:.3f} s", "", ""),
        ("visit, by the gateway", f"{visits[1]:.3f} s", "", ""),
        ("ratio", f"{ratio:.3f}", f"<= {MOST_RATIO:g}", "" if held else "missed"),
        ("call, direct", f"{calls[0]:.3f} ms", "", ""),
        ("call, by the gateway", f"{calls[1]:.3f} ms", "", ""),
    ]
    print(render_table(("what", "best", "promised", ""), rows))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
