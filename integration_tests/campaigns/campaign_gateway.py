"""Whether the gateway between agent and browser passes every message, drawn by seed.

Each draw runs the law test of `bench_core.browser` on other messages: 20,000 of them, on one connection
and on four, cut where nothing begins or ends.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAW = "packages/bench-core/tests/browser/test_gateway.py"


def main() -> int:
    """Run the campaign and return the exit code: 1 where a message did not pass as it was sent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.times)
    broken = [seed for seed in seeds if not _holds(seed)]
    print(
        f"{options.times * 20_000:,} messages: {'seeds ' + repr(broken) if broken else 'all passed'}"
    )
    return 1 if broken else 0


def _holds(seed: int) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", LAW, "-k", "law"]
    environment = {**os.environ, "GATEWAY_SEED": str(seed), "GATEWAY_MESSAGES": "10000"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
