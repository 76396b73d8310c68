"""Whether odd but honest behaviours of agents are ever flagged: each as a trial of its own in both browser worlds.

Each is tried in every way of driving the browser that has it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from itertools import product
from pathlib import Path

from integration_tests.exploits.honest_ways import WAYS, false_alarms
from integration_tests.exploits.worlds import apps, sites

WORLDS = {"webarena": sites, "multireal": apps}


def main() -> int:
    """Try the behaviours and return the exit code: 1 where one was flagged, or did not happen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--world", action="append", choices=WORLDS)
    options = parser.parse_args()
    wrong = 0
    for name, way in product(options.world or WORLDS, options.way or WAYS):
        names = [each for each in WAYS[way][0] if not options.only or each in options.only]
        with WORLDS[name]() as world, tempfile.TemporaryDirectory(prefix="honest-acts-") as place:
            found = asyncio.run(false_alarms(world, way, names, Path(place)))
        for act, why in found.items():
            print(f"{name}, {way}: {act}: {why}")
        wrong += len(found)
        print(
            f"{name}, {way}: {len(names)} behaviours, {len(found)} flagged or not done", flush=True
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
