"""What an observation's elements with ARIA roles cost, beside tag names alone and beside Playwright's tree.

Times are medians of rounds in which all take turns, measured in the page and for Playwright and Chromium around
the call. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from bench_core.agents.browser import connect_browser
from bench_core.agents.page_scripts import ELEMENTS
from bench_core.browser import launch_chromium
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BOUND = 1.3
ROUNDS = 25
TREES = 3
"""Rounds of the whole trees, which take ten to a hundred times as long."""
NODES = 2_000

TAG_NAMES = """() => {
  const wanted = 'a[href],button,input,select,textarea,summary,[role],[onclick],[contenteditable]';
  const seen = [];
  for (const node of document.querySelectorAll(wanted)) {
    const box = node.getBoundingClientRect();
    const style = getComputedStyle(node);
    const shown = box.width > 0 && box.height > 0 && style.visibility !== 'hidden'
      && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    if (!shown || node.type === 'hidden') continue;
    const label = node.getAttribute('aria-label') || (node.labels && node.labels[0]
      && node.labels[0].innerText) || node.innerText || node.placeholder || node.title
      || node.name || '';
    const secret = node.type === 'password';
    seen.push({
      id: String(seen.length + 1),
      role: node.getAttribute('role') || node.tagName.toLowerCase(),
      name: label.trim().slice(0, 200),
      value: 'value' in node && !secret ? String(node.value).slice(0, 200) : null,
      rect: [box.x, box.y, box.width, box.height],
    });
    if (seen.length >= 500) break;
  }
  return seen;
}"""
"""The walk by tag names that the walk by roles replaced."""

_CONTROLS = (
    '<a href="#x">Link {n}</a>', "<button>Button {n}</button>", '<input aria-label="Field {n}">',
    '<input type="checkbox" aria-label="Box {n}">', '<div role="button" tabindex="0">Action {n}</div>',
    "<select aria-label='List {n}'><option>a</select>", "<p>Some words of number {n}</p>",
    "<span>Note {n}</span>",
)  # fmt: skip
_IN_VIEW = "*{position:absolute;width:8px;height:8px;overflow:hidden;font-size:6px}"


def page_of(style: str) -> str:
    """Return a page of 2,000 nodes, of which three quarters can be acted on."""
    made = "".join(_CONTROLS[n % len(_CONTROLS)].format(n=n) for n in range(NODES))
    return f"<!doctype html><style>{style}</style>{made}"


async def in_page(page: Any, script: str) -> float:
    """Return the milliseconds that a script takes in a page."""
    timed = f"() => {{ const since = performance.now(); ({script})(); return performance.now() - since }}"
    return float(await page.evaluate(timed))


async def around(call: Callable[[], Awaitable[Any]]) -> float:
    """Return the milliseconds until a call returns."""
    since = time.perf_counter()
    await call()
    return (time.perf_counter() - since) * 1000


async def measure(page: Any) -> dict[str, float]:
    """Return the median milliseconds of each way to read a page."""
    session = await page.context.new_cdp_session(page)
    quick = {"tag names": TAG_NAMES, "roles": ELEMENTS}
    times: dict[str, list[float]] = {"tag names": [], "roles": [], "aria": [], "full tree": []}
    for number in range(ROUNDS + 1):
        # neither has the advantage of coming second
        for name in sorted(quick, reverse=bool(number % 2)):
            times[name].append(await in_page(page, quick[name]))
    for _ in range(TREES + 1):
        times["aria"].append(await around(lambda: page.locator("body").aria_snapshot()))
        times["full tree"].append(await around(lambda: session.send("Accessibility.getFullAXTree")))
    await session.detach()
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


async def run() -> bool:
    """Print the table and return whether the bound holds."""
    held = True
    print(f"{'one look at ' + str(NODES) + ' nodes':58} {'ms':>8} {'ratio':>8}")
    async with (
        launch_chromium() as chromium,
        connect_browser(BrowserHandle(cdp_url=chromium.cdp_url, viewport=(1280, 720))) as browser,
    ):
        page = browser._tabs.page()  # noqa: SLF001  # the page itself is not part of the interface
        for name, style in (("most below the fold", ""), ("all in view", _IN_VIEW)):
            await page.set_content(page_of(style))
            found = await measure(page)
            base = found["tag names"]
            ratio = found["roles"] / base
            held = held and ratio <= BOUND
            for label, key in (
                (f"{name}: tag names alone", "tag names"),
                (f"{name}: ARIA roles (bound: {BOUND})", "roles"),
                (f"{name}: Playwright's aria_snapshot", "aria"),
                (f"{name}: Chromium's full tree", "full tree"),
            ):
                print(f"{label:58} {found[key]:8.2f} {found[key] / base:8.2f}")
    return held


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(run()) else 1)
