"""Whether tests are collected alike by processes that share neither hash seed, clock nor place.

pytest-xdist runs nothing where two workers collected different tests, so an id that holds the time,
an address or the order of a set fails a whole suite, now and then. Each draw collects twice, in other
seconds and with another hash seed, time zone, locale, home and folder for temporary files each time,
and compares the ids in their order.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [*map(str, sorted(ROOT.glob("packages/*/tests"))), str(ROOT / "integration_tests")]
APART = 1.5
"""Seconds from the end of one collection to the start of the next: side by side, a slow start of the
first can make both read the clock in the same second."""
ZONES = ["UTC", "Pacific/Kiritimati", "America/St_Johns", "Asia/Kathmandu"]
LOCALES = ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"]
COLLECT = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]


class CollectionError(Exception):
    """pytest could not collect; the message is the end of what it printed."""


def disagreement(folders: list[str], chance: random.Random) -> list[str]:
    """Return the lines in which two collections of `folders` differ.

    Raises:
        CollectionError: One of them failed.
    """
    hash_seeds = chance.sample(range(2**32), 2)
    zones, locales = chance.sample(ZONES, 2), chance.sample(LOCALES, 2)
    first = _collected(folders, hash_seeds[0], zones[0], locales[0])
    time.sleep(APART)
    second = _collected(folders, hash_seeds[1], zones[1], locales[1])
    lines = difflib.unified_diff(first, second, n=0, lineterm="")
    return [line for line in lines if "::" in line]


def main() -> int:
    """Run the campaign and return the exit code: 1 where collections differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folders", nargs="*", default=FOLDERS, help="default: those of all packages"
    )
    parser.add_argument(
        "--together", action="store_true", help="collect all folders in one process"
    )
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    groups = [options.folders] if options.together else [[each] for each in options.folders]
    return max([_report(group, options.times, options.seed) for group in groups])


def _report(folders: list[str], times: int, seed: int) -> int:
    """Draw side by side, as many at once as there are cores, and print what came out."""
    name = ", ".join(os.path.relpath(each, ROOT) for each in folders)
    draws = [random.Random(f"{seed} {name} {draw}") for draw in range(times)]
    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, lines in enumerate(pool.map(lambda one: disagreement(folders, one), draws), 1):
            found += [lines] if lines else []
            print(f"draw {number} of {times}: {len(lines)} lines differ", file=sys.stderr)
    print(f"{name}: {times - len(found)} of {times} collections agree", flush=True)
    for lines in found[:1]:
        print(*lines, sep="\n")
    return 1 if found else 0


def _collected(folders: list[str], hash_seed: int, zone: str, locale: str) -> list[str]:
    """Return the ids of all tests in the order in which they would run."""
    drawn = {"PYTHONHASHSEED": str(hash_seed), "TZ": zone, "LC_ALL": locale}
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [*COLLECT, *folders],
            cwd=ROOT,
            env={**_own_environment(), **drawn, "HOME": place, "TMPDIR": place},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
    if done.returncode:
        raise CollectionError(done.stdout[-2000:])
    return [line for line in done.stdout.splitlines() if "::" in line]


def _own_environment() -> dict[str, str]:
    """Return this process's environment without what pytest left there: it may be what started us."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


if __name__ == "__main__":
    sys.exit(main())
