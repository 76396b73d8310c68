"""Tests that draw few cases each time they run, with as many as take minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

DRAWS = {
    # what a test reads: how much, and where
    "WRITER_KILLS": ("200", "packages/bench-core/tests/test_run_folder_kill.py"),
    "RESULT_FILE_CUTS": ("1000", "packages/bench-core/tests/run_folder/test_damage.py"),
    "CHANGED_VALUES_EVERY": ("1", "packages/llm-judge/tests/test_visibility.py"),
    "DESKTOP_EVENTS": ("100000", "packages/waa-server-ext/tests/simulate/test_world.py"),
    "PROCTOR_HOSTILE_ROUNDS": ("500", "packages/waa-server-ext/tests/native/test_hostile_files.py"),
    "JUDGED_PER_STATE": ("35", "packages/llm-judge/tests/test_recorded_states.py"),
}


def main() -> int:
    """Run the campaign and return the exit code: 1 where a test failed."""
    failed = [name for name, (much, tests) in DRAWS.items() if not _passes(name, much, tests)]
    print(f"{len(DRAWS)} tests: {'failed: ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


def _passes(name: str, much: str, tests: str) -> bool:
    print(f"{name}={much} pytest {tests}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    return (
        subprocess.run(command, cwd=ROOT, env={**os.environ, name: much}, check=False).returncode
        == 0
    )


if __name__ == "__main__":
    sys.exit(main())
