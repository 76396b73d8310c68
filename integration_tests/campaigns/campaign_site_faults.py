"""Whether every fault of a site is found before a run or marks the trial; a test has a trial for each way of marking."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

TEST = Path("packages", "webarena-runner", "tests", "test_site_faults.py")


def main() -> int:
    """Run the campaign and return pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="Nothing is drawn.")
    parser.parse_args()
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "pytest", "-q", str(root / TEST)]
    done = subprocess.run(command, cwd=root, env={**os.environ, "SITE_FAULTS": "all"}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
