"""Whether odd but honest behaviours of agents are ever flagged: each as a trial of its own in both browser worlds."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from integration_tests.exploits.honest_acts import HONEST_ACTS, TASKS, false_alarms
from integration_tests.exploits.worlds import apps, sites

WORLDS = {"webarena": sites, "multireal": apps}


def main() -> int:
    """Try the behaviours and return the exit code: 1 where one was flagged, or did not happen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=sorted(HONEST_ACTS), metavar="NAME")
    parser.add_argument("--world", action="append", choices=sorted(WORLDS))
    options = parser.parse_args()
    names, wrong = options.only or list(HONEST_ACTS), 0
    for name in options.world or WORLDS:
        with WORLDS[name]() as world, tempfile.TemporaryDirectory(prefix="honest-acts-") as place:
            alone = replace(world, honest=())
            found = asyncio.run(false_alarms(alone, TASKS[name], names, Path(place)))
        for act, why in found.items():
            print(f"{name}: {act}: {why}")
        wrong += len(found)
        print(f"{name}: {len(names)} behaviours, {len(found)} flagged or not done")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
