"""Whether browser-use's trajectories have the acts that were done, and no others: episodes with unusable replies.

Each episode presses buttons whose page tells a server, and the scripted model now and then answers what cannot be
read. The clicks of `trajectory.jsonl` must be those that the server saw, and each unusable reply a step without acts.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "packages" / "bench-core" / "tests" / "helpers"))

from bench_core.browser_use import import_browser_use  # noqa: E402  # needs the path above

import_browser_use()

from unusable_replies import buttons, differences, episode  # noqa: E402  # as above

from bench_core.browser import launch_chromium  # noqa: E402  # as above
from bench_core.protocols import BrowserHandle  # noqa: E402  # as above


async def campaign(place: Path, seeds: range) -> list[str]:
    """Play the episodes one after the other, each in a browser of its own; return what differs."""
    found: list[str] = []
    pressed = unusable = 0
    with buttons() as server:
        for seed in seeds:
            async with launch_chromium() as chromium:
                browser = BrowserHandle(cdp_url=chromium.cdp_url)
                posted, steps, _ = await episode(browser, server, place / str(seed), seed)
            found += differences(posted, steps, seed)
            pressed += len(posted)
            unusable += sum(bool(each.error) for each in steps)
    print(
        f"{len(seeds)} episodes, {pressed} acts, {unusable} unusable replies: {len(found)} differences"
    )
    return found


def main() -> int:
    """Run the campaign; return 1 where a trajectory says what was not done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        seeds = range(given.seed, given.seed + given.episodes)
        found = asyncio.run(campaign(Path(place), seeds))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
