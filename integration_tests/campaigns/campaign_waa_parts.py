"""Every way in which a part of a WAA trial can fail, in every phase of the trial, in random order.

The tests of a pull request take one part or the other for each of them; here are all 56, in orders
drawn at random, so that what one leaves behind meets another.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
from pathlib import Path
from typing import get_args

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from test_support.part_faults import Phase, WayToFail, waa_fault  # noqa: E402  # same
from test_waa_fault_matrix import check, run, running_parts  # noqa: E402  # needs the paths above


def main() -> int:
    """Run the campaign and return the exit code: 1 where a record says something else."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells = itertools.product(("desktop", "evaluator"), get_args(WayToFail), get_args(Phase))
    faults = [waa_fault(*each) for each in cells]
    wrong, done = 0, 0
    for time in range(options.times):
        random.Random(f"{options.seed}-{time}").shuffle(faults)  # reproducible
        with tempfile.TemporaryDirectory() as folder, running_parts(Path(folder)) as parts:
            for number, fault in enumerate(faults):
                done += 1
                try:
                    check(fault, *run(fault, parts, Path(folder) / str(number)))
                except AssertionError as error:
                    wrong += 1
                    print(f"{fault.name} (order {time}): {error}")
    print(f"{done} trials, {wrong} with a record that is not the table's")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
