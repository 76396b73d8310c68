"""Whether trajectories have the acts that were done, and no others: episodes of every agent with unusable replies.

Each episode presses buttons whose page tells a server, and the scripted model now and then answers what cannot be
read. The clicks of `trajectory.jsonl` must be those that the server saw, and each unusable reply a step without acts.
Half of the episodes are browser-use's, the other built-in agents share the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "packages" / "bench-core" / "tests" / "helpers"), str(ROOT)]

from bench_core.browser_use import import_browser_use  # noqa: E402  # needs the path above

import_browser_use()

from built_in_agents import AGENTS  # noqa: E402  # as above
from posting_page import Posts, buttons  # noqa: E402  # as above
from unusable_replies import differences, episode  # noqa: E402  # as above
from unusable_turns import loop_episode  # noqa: E402  # as above

from bench_core.browser import (  # noqa: E402  # as above
    ChromiumOptions,
    Places,
    SharedBrowser,
    launch_chromium,
)
from bench_core.errors import BrowserError  # noqa: E402  # as above
from bench_core.protocols import BrowserHandle  # noqa: E402  # as above

ATTEMPTS = 3
PROGRESS = 10


def told(differing: list[str], played: int, seeds: range) -> list[str]:
    """Print what differs in the episode just played, and how far it is; return what differs.

    200 episodes take hours: one that is ended early has told what it found.
    """
    for line in differing:
        print(line, flush=True)
    if played % PROGRESS == 0:
        print(f"{played} of {len(seeds)} played, next seed {seeds[0] + played}", flush=True)
    return differing


async def of_browser_use(server: Posts, place: Path, seeds: range) -> list[str]:
    """Play the episodes of browser-use, each in a browser of its own; return what differs."""
    found: list[str] = []
    pressed = unusable = 0
    for played, seed in enumerate(seeds, 1):
        for attempt in range(ATTEMPTS):
            folder = place / f"{seed}-{attempt}"
            try:
                async with launch_chromium() as chromium:
                    browser = BrowserHandle(cdp_url=chromium.cdp_url)
                    posted, steps, _ = await episode(browser, server, folder, seed)
                break
            except BrowserError as error:  # on a busy machine, before the first step
                print(f"seed {seed}, attempt {attempt + 1}: {error}", flush=True)
        else:
            found += told([f"seed {seed} was not played"], played, seeds)
            continue
        found += told(differences(posted, steps, seed), played, seeds)
        pressed += len(posted)
        unusable += sum(bool(each.error) for each in steps)
    print(f"browser-use: {len(seeds)} episodes, {pressed} acts, {unusable} unusable replies")
    return found


async def of_loop_agents(server: Posts, place: Path, seeds: range) -> list[str]:
    """Play the episodes of the other agents in turn, in contexts of one browser; return what differs."""
    found: list[str] = []
    pressed = 0
    shared = SharedBrowser()
    size = {"width": 800, "height": 600}
    try:
        for played, seed in enumerate(seeds, 1):
            agent = list(AGENTS)[seed % len(AGENTS)]
            opened = shared.open(ChromiumOptions(), lambda *_: None, Places(), viewport=size)
            async with opened as browser:
                await browser.arm()
                differing = await loop_episode(agent, browser, server, place / f"loop-{seed}", seed)
            found += told(differing, played, seeds)
            pressed += len(server.posted)
    finally:  # or its thread keeps a campaign that fails from ending
        await shared.close()
    print(f"{len(AGENTS)} other agents: {len(seeds)} episodes, {pressed} acts")
    return found


async def campaign(place: Path, seeds: range) -> list[str]:
    """Play all episodes; return what differs."""
    half = len(seeds) // 2
    with buttons() as server:
        found = await of_browser_use(server, place, seeds[:half])
        found += await of_loop_agents(server, place, seeds[half:])
    print(f"{len(seeds)} episodes: {len(found)} differences")
    return found


def main() -> int:
    """Run the campaign; return 1 where a trajectory says what was not done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        seeds = range(given.seed, given.seed + given.episodes)
        return 1 if asyncio.run(campaign(Path(place), seeds)) else 0


if __name__ == "__main__":
    sys.exit(main())
