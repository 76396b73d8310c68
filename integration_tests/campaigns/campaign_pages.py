"""Whether acts of one turn are done to what they name on every hard page; a test has one page for each outcome."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

TEST = Path("packages", "bench-core", "tests", "agents", "test_hard_pages.py")


def main() -> int:
    """Run the campaign and return pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="Nothing is drawn.")
    parser.parse_args()
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "pytest", "-q", str(root / TEST)]
    done = subprocess.run(command, cwd=root, env={**os.environ, "HARD_PAGES": "all"}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
