"""What a browser's observation says and costs, beside BrowserGym's accessibility tree and browser-use's state.

The pages are the first ones of the built-in worlds and twenty of `observed_pages.py`. Counted are tokens (characters
/ 4) and how much of what the peer's tree holds is in ours: its texts (names and values) and its states. "older" is the
tree without what only newer versions of Chromium put into it, lines of `InlineTextBox` and `url=`. Then a page of
10,000 nodes is looked at: time of the processor in the page's thread and here, without the picture.

`--url URL`, repeated, compares those pages instead; `-v` prints what is missing.

The peer needs another Playwright: an interpreter that has `browsergym-core` is named by `PROCTOR_BROWSERGYM`.
Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from observed_pages import PAGES

from bench_core.agents import connect
from bench_core.browser import launch_chromium
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.agents import Environment, Observation

MOST_OF_ITS_TOKENS = 0.6
MOST_CPU_MS = 150
NODES = 10_000
LOOKS = 9
_CONTROLS = (
    '<a href="#x">Link {n}</a>', "<button>Button {n}</button>", '<input aria-label="Field {n}">',
    '<input type="checkbox" aria-label="Box {n}">', '<div role="button" tabindex="0">Action {n}</div>',
    "<p>Some <b>words</b> of number {n}</p>", "<table><tr><td>{n}</td><td>Cell</td></tr></table>",
    "<ul><li><span>Note {n}</span></li></ul>",
)  # fmt: skip
_LINE = re.compile(
    r"\s*(?:\[\w+\] )?(?P<role>\w+) (?P<name>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?P<more>.*)"
)
_VALUE = re.compile(r" value=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_STATES = {
    "checked='true'": "checked", "checked='false'": "unchecked", "checked='mixed'": "mixed",
    "expanded=True": "expanded", "expanded=False": "collapsed", "selected=True": "selected",
    "disabled=True": "disabled", "pressed='true'": "pressed", "pressed='false'": "not pressed",
    ", required": "required", ", focused": "focused", "hasPopup='menu'": "opens a menu",
}  # fmt: skip
_CONTROLS_OF_TREE = {
    "link",
    "button",
    "textbox",
    "checkbox",
    "radio",
    "combobox",
    "tab",
    "switch",
    "option",
}
_PARTS = (
    "Month",
    "Day",
    "Year",
    "Month Month",
    "Day Day",
    "Year Year",
    "Hours Hours",
    "Minutes Minutes",
    "AM/PM AM/PM",
    "Show date picker Show date picker",
    "Show time picker Show time picker",
)
"""What a field for a date is made of; ours has the field and the date."""
_MARKUP = re.compile(
    r"\[\d+\] |\bshowing |\bplaceholder |[\s\u200b-\u200f\ue000-\uf8ff|;·:\"=\[\]()#-]+"
)


class Held(NamedTuple):
    """What the peer's tree holds, and what of it is in ours."""

    texts: int
    missing_texts: list[str]
    states: int
    missing_states: list[str]


def plain(text: str) -> str:
    """Return the words of a text without what marks ids, cells and controls."""
    return _MARKUP.sub("", text).lower()


def compare(tree: str, seen: Observation) -> Held:
    """Return what of the peer's tree our observation has."""
    ours = plain(" ".join((str(seen.text), seen.title or "", seen.url or "")))
    elements = [(plain(each.name), each) for each in seen.elements]
    found = [match for match in map(_LINE.match, tree.splitlines()) if match]
    texts, states = 0, 0
    missing_texts, missing_states = [], []
    for line in found:
        role, more = line["role"], line["more"]
        written = ast.literal_eval(line["name"])
        if role in {"RootWebArea", "ListMarker"} or written.strip() in {"•", "◦", "…", *_PARTS}:
            continue
        value = _VALUE.search(more)
        for text in filter(str.strip, (written, ast.literal_eval(value[1]) if value else "")):
            texts += 1
            # names of rows, cells and headings are made of texts that have lines of their own in the tree
            apart = role not in {"StaticText", *_CONTROLS_OF_TREE}
            made = role in {"row", "heading", "LayoutTableCell"}
            pieces = text.split() if apart else text.splitlines()
            if not made and not all(plain(each) in ours for each in pieces):
                missing_texts.append(f"{role} {text}")
        for name, state in _STATES.items():
            if name not in more:
                continue
            states += 1
            held = role in {"row", "gridcell"} and f"({state}" in str(seen.text)
            for called, each in elements:
                listed = role == "option" and plain(written) in plain(each.value or "")
                # what a native list does is said by its being one
                native = (
                    role == "combobox" and each.options and state in {"collapsed", "opens a menu"}
                )
                # what has no name there is called after its placeholder or its field here
                same = (
                    called and plain(written).startswith(called.rstrip("…"))
                    if written
                    else each.role in {role, "generic"}
                )
                mine = same and (state in each.states or native)
                held = held or listed or bool(mine)
            if not held:
                missing_states.append(f"{role} {written} {state}")
    return Held(texts, missing_texts, states, missing_states)


def older(tree: str) -> str:
    """Return a tree without what earlier versions of Chromium do not put into it."""
    lines = [each for each in tree.splitlines() if not each.lstrip().startswith("InlineTextBox")]
    return re.sub(r", url='[^']*'", "", "\n".join(lines))


def worlds(stack: ExitStack) -> Iterator[tuple[str, str]]:
    """Start the built-in worlds and return a page of each site."""
    from multireal_harness.world.launch import built_in_world as apps  # starts nothing before
    from webarena_runner.world.launch import built_in_world as sites

    for name, url in stack.enter_context(sites()).urls.items():
        yield f"WebArena's {name}", url
    for name, url in stack.enter_context(apps()).urls.items():
        yield f"Multi-REAL's {name}", url


class Peer:
    """BrowserGym in an interpreter of its own; none where there is no such interpreter."""

    def __init__(self, cdp_url: str) -> None:
        interpreter = os.environ.get("PROCTOR_BROWSERGYM", "")
        self._process: subprocess.Popen[str] | None = None
        if not interpreter:
            print("BrowserGym is left out: PROCTOR_BROWSERGYM names no interpreter that has it")
            return
        script = str(Path(__file__).with_name("browsergym_tree.py"))
        self._process = subprocess.Popen(
            [interpreter, script, cdp_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    async def tree(self) -> str | None:
        """Return its tree of the page in front."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = json.loads(await asyncio.to_thread(self._process.stdout.readline))
        return str(answer["text"])

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


async def browser_use_state(cdp_url: str) -> Any:
    """Return a session of browser-use in the same browser, None where it is not installed."""
    try:
        from browser_use import BrowserSession
    except ImportError:
        print("browser-use is left out: it is not installed")
        return None
    session = BrowserSession(cdp_url=cdp_url)
    await session.start()
    return session


async def look(page: Any, browser: Environment) -> tuple[float, float]:
    """Return the milliseconds of processor time of one look: in the page's thread, and here."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})

    async def spent() -> tuple[float, float]:
        found = await session.send("Performance.getMetrics")
        metrics = {each["name"]: each["value"] for each in found["metrics"]}
        return metrics["TaskDuration"] * 1000, time.process_time() * 1000

    before = await spent()
    seen = await browser._reader.look(page)  # the picture is measured nowhere
    seen.text()
    after = await spent()
    await session.detach()
    return after[0] - before[0], after[1] - before[1]


async def large(page: Any, browser: Environment) -> bool:
    """Print what a look at a page of 10,000 nodes costs and return whether the bound holds."""
    made, nodes = [], 0
    while nodes < NODES:
        made.append(_CONTROLS[len(made) % len(_CONTROLS)].format(n=len(made)))
        nodes += made[-1].count("<") - made[-1].count("</")
    await page.set_content("<!doctype html>" + "".join(made))
    spent = [await look(page, browser) for _ in range(LOOKS)]
    both = [sum(each) for each in spent]
    print(f"\na look at {NODES} nodes, ms of processor time: median {statistics.median(both):.0f}, "
          f"least {min(both):.0f}, first {both[0]:.0f} (bound of the least: {MOST_CPU_MS})")  # fmt: skip
    return min(both) <= MOST_CPU_MS


async def run(asked: list[tuple[str, str]], stack: ExitStack, *, verbose: bool) -> bool:
    """Print the table and return whether the bounds hold."""
    held = True
    async with (
        launch_chromium() as chromium,
        connect(BrowserHandle(cdp_url=chromium.cdp_url, viewport=(1280, 720))) as browser,
    ):
        page = browser._tabs.page()  # the page itself is not part of the interface
        peer = Peer(chromium.cdp_url)
        stack.callback(peer.close)
        other = await browser_use_state(chromium.cdp_url)
        print(
            f"{'tokens':26} {'ours':>6} {'BrowserGym':>11} {'ratio':>6} {'older':>6} {'ratio':>6} {'texts':>12} {'states':>10} {'browser-use':>12}"
        )
        totals = [0, 0, 0, 0, 0, 0, 0]
        for name, where in asked:
            if where.startswith("http"):
                await page.goto(where, wait_until="load")
                await page.wait_for_timeout(1500)  # apps draw themselves
            else:
                await page.set_content(where)
            seen = await browser.observe()
            tree = await peer.tree()
            state = (
                await other.get_browser_state_summary(include_screenshot=False) if other else None
            )
            ours = len(str(seen.text)) // 4
            row = f"{name:26} {ours:6}"
            if tree is not None:
                found = compare(tree, seen)
                its, plainer = len(tree) // 4, len(older(tree)) // 4
                texts = found.texts - len(found.missing_texts)
                states = found.states - len(found.missing_states)
                row += f" {its:11} {ours / its:6.2f} {plainer:6} {ours / plainer:6.2f} {texts:5} of {found.texts:3} {states:3} of {found.states:3}"
                for place, each in enumerate(
                    (ours, its, plainer, texts, found.texts, states, found.states)
                ):
                    totals[place] += each
                held = held and ours <= MOST_OF_ITS_TOKENS * its
            if state is not None:
                row += f" {len(state.dom_state.llm_representation()) // 4:12}"
            print(row)
            if tree is not None and verbose:
                for each in (*found.missing_texts, *found.missing_states):
                    print(f"    missing: {each[:150]}")
        if totals[1]:
            ours, its, plainer, *counts = totals
            print(f"{'all':26} {ours:6} {its:11} {ours / its:6.2f} {plainer:6} {ours / plainer:6.2f} "
                  f"{counts[0]:5} of {counts[1]:3} {counts[2]:3} of {counts[3]:3}")  # fmt: skip
            print(
                f"(bounds: {MOST_OF_ITS_TOKENS} of its tokens on each page and of the older tree in all, all texts, all states)"
            )
            held = held and ours <= MOST_OF_ITS_TOKENS * plainer
            held = held and counts[0] == counts[1] and counts[2] == counts[3]
        if other is not None:
            await other.stop()
        return await large(page, browser) and held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", action="append", default=[], help="a page to compare; repeat it")
    parser.add_argument("-v", action="store_true", help="print what is missing")
    chosen = parser.parse_args()
    with ExitStack() as opened:
        compared = [(url.partition("://")[2].partition("/")[2][-26:], url) for url in chosen.url]
        compared = compared or [*worlds(opened), *PAGES.items()]
        sys.exit(0 if asyncio.run(run(compared, opened, verbose=chosen.v)) else 1)
