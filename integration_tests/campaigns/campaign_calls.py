"""Whether any of 3,000 wrong calls per dialect raises, does something else than was asked, or gets no answer.

Calls are drawn by seed from each dialect's table of cases, one to four a reply: arguments missing, renamed, of other
types, out of bounds, nested, huge, and right ones among them. In CI a test draws 150 of each.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "packages" / "bench-core" / "tests" / "agents"
sys.path.insert(0, str(TESTS))

from fuzzed_calls import draw  # noqa: E402  # needs the path above

from bench_core.agents.dialects import all_dialects  # noqa: E402  # same


def main() -> int:
    """Run the campaign and return the exit code: 1 where a wrong call became more than a refusal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong = 0
    for dialect in sorted(all_dialects()):
        found, problems = draw(dialect, asked.times, asked.seed)
        for each in problems:
            print(f"{dialect}: {each[:2_000]}")
        print(f"{dialect}: {dict(found)}, {len(problems)} problems, seed {asked.seed}")
        wrong += len(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
