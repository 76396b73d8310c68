"""Whether a fault of the run itself - its folders, limits, processes - is ever taken for an agent's, drawn by seed.

Runs of six trials, half of whose agents fail, meet a fault at a moment that is drawn, and go on when all is well.
Besides folders, limits and processes, single calls of the system fail (`strace` injects their errors), so that each
error that our own code can meet comes from where it would come from. The law: no trial is scored for what was not its agent's, each agent's failure is scored in the end, and money is
counted once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from integration_tests.own_faults import FAULTS, can_fail, run_with  # noqa: E402


def main() -> int:
    """Run the campaign and return the exit code: 1 where a record broke the law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="draws of every fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    options = parser.parse_args()
    wrong: Counter[str] = Counter()
    done = 0
    possible = [each for each in FAULTS if options.only in each and can_fail(each)]
    for draw, fault, process in product(range(options.times), possible, ("own", "shared")):
        with tempfile.TemporaryDirectory() as folder:
            found = list(run_with(fault, process, options.seed + draw, Path(folder)))
        done += 1
        wrong[fault] += bool(found)
        print(
            f"{fault:20} {process:6} seed {options.seed + draw}  {'; '.join(found) or 'ok'}",
            flush=True,
        )
    impossible = sorted(set(FAULTS) - set(possible)) if not options.only else []
    print(
        f"{done} runs, {wrong.total()} broke the law; not possible here: {', '.join(impossible) or 'none'}"
    )
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
