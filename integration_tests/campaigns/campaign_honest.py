"""Whether honest agents are ever flagged: every built-in solution of the three worlds, many times over.

Each runner's scripted agent does all tasks of its built-in world that have a solution, as a run of its
own. A trial counts against the promise where its integrity is `flagged`, where it is marked as having done what no
right solution needs, or where it is no success.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence

WORLDS = ("webarena", "multireal", "waa")
_GOOD = {"clean success", "unknown success"}
_COMMANDS = {"webarena": "webarena-runner", "multireal": "multireal-harness", "waa": "waa-client"}


def main() -> int:
    """Run the campaign and return the exit code: 1 where an honest trial was flagged or no success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=9, help="trials of each of the 118 solutions")
    parser.add_argument("--world", choices=WORLDS, nargs="*", default=WORLDS)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="honest-") as place:
        for world in options.world:
            found += _states(world, Path(place) / world, options.times, options.workers)
    bad = sum(number for state, number in found.items() if state not in _GOOD)
    print(f"{sum(found.values()):,} honest trials: {dict(found)}")
    return 1 if bad else 0


def _states(world: str, out: Path, times: int, workers: int) -> Counter[str]:
    command = [_COMMANDS[world], "run", "--world", "built-in", "--agent", "scripted"]
    command += [*_solved(world), "-k", str(times), "-j", str(workers), "-o", str(out)]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    found: Counter[str] = Counter()
    for each in read_run(out).latest:
        state = "unknown" if each.integrity is None else each.integrity.state
        named = f"{state} {'success' if each.success else 'failure'}"
        if "unneeded-act" in each.flags:
            named += " marked as having done too much"
        found[named] += 1
        if named not in _GOOD:
            print(f"{world} {each.task_id} #{each.trial}: {named}: {each.integrity!r}")
    print(f"{world}: {dict(found)}, exit code {done.returncode}", flush=True)
    return found


def _solved(world: str) -> Sequence[str]:
    """Return the options that choose the tasks which have a solution."""
    if world == "webarena":
        from webarena_runner.world import scripted_task_ids  # one world of three

        return ["--task", ",".join(map(str, scripted_task_ids()))]
    if world == "waa":
        from waa_client.world.launch import built_in_world

        return ["--task", ",".join(built_in_world().solutions())]
    return []


if __name__ == "__main__":
    sys.exit(main())
