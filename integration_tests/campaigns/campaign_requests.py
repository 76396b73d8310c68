"""Whether any of twenty thousand hostile requests stops waa-server-ext, or lets its memory grow.

It is the test of the same, which draws 4,000 of them in CI.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "packages/waa-server-ext/tests/server/test_fuzz.py"


def main() -> int:
    """Run the campaign and return pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20_000)
    asked, _ = parser.parse_known_args()
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(TESTS), "-k", "thousands"],
        env={**os.environ, "PROCTOR_FUZZ_REQUESTS": str(asked.times)},
        check=False,
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
