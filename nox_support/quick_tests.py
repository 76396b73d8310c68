"""Run the quick tests about what has changed, the nearest first, for a minute: `nox -s quick`.

Says what did not fit into the time, and fails where a change of the sources was tested by nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nox_support.changes import changed_files, modules_of, nearest_tests
from nox_support.packages import ROOT

if TYPE_CHECKING:
    import pytest

__all__ = ["main"]

SECONDS = 60.0
_BATCH = 6
"""Test files of one pytest, which takes two seconds to start."""
_UNTIL = "PROCTOR_QUICK_UNTIL"
_REPORT = "PROCTOR_QUICK_REPORT"
_NAMED = 5
"""How many files are named that did not fit into the time."""


class _Tests:
    """Test files that are run in batches by as many pytest as there are cores."""

    def __init__(self, files: list[Path], until: float, options: list[str]) -> None:
        self.ahead = list(files)
        self.until = until
        self.options = options
        self.ran = 0
        self.late: list[str] = []
        self.failed = False
        self._lock = threading.Lock()

    def run(self) -> None:
        """Run all batches or those that begin before the time is over."""
        workers = [threading.Thread(target=self._work) for _ in range(os.cpu_count() or 1)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()

    def _work(self) -> None:
        while time.time() < self.until and not self.failed:
            with self._lock:
                batch, self.ahead = self.ahead[:_BATCH], self.ahead[_BATCH:]
            if not batch:
                return
            self._run_batch(batch)

    def _run_batch(self, batch: list[Path]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            done = subprocess.run(  # noqa: S603  # our own words
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "nox_support.quick_tests",
                 "-m", "not browser and not slow", "--timeout", "120", *self.options, *map(str, batch)],
                cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, _UNTIL: str(self.until), _REPORT: str(report)},
            )  # fmt: skip
            counted = json.loads(report.read_text()) if report.is_file() else {}
        with self._lock:
            self.ran += counted.get("ran", 0)
            self.late += counted.get("late", [])
            # a session that the clock has ended is no failure; one without a report is
            if not counted or counted["failed"]:
                self.failed = True
                print(done.stdout)


class _Clock:
    """In pytest: starts no test after the time, and reports what ran."""

    def __init__(self, until: float, report: Path) -> None:
        self._until = until
        self._report = report
        self._ran = 0
        self._late: set[str] = set()

    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.time() < self._until:
            self._ran += 1
            return None
        self._late.add(str(item.path))
        return True

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        failed = session.testsfailed or exitstatus not in {0, 5}
        counted = {"ran": self._ran, "late": sorted(self._late), "failed": bool(failed)}
        self._report.write_text(json.dumps(counted), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the clock of a batch."""
    config.pluginmanager.register(_Clock(float(os.environ[_UNTIL]), Path(os.environ[_REPORT])))


def main(options: list[str]) -> int:
    """Run the tests about what has changed; return the exit code.

    Args:
        options: Of pytest.
    """
    changed = changed_files()
    files = nearest_tests(changed)
    if not files:
        if modules := modules_of(changed):
            print(f"no test is about {', '.join(sorted(modules))}: write one")
            return 1
        print("no sources and no tests have changed")
        return 0
    tests = _Tests(files, time.time() + SECONDS, options)
    tests.run()
    if tests.failed:
        return 1
    left = [*tests.late, *map(str, tests.ahead)]
    print(f"{tests.ran} quick tests passed, those about what has changed first")
    if left:
        named = ", ".join(str(Path(each).relative_to(ROOT)) for each in left[:_NAMED])
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        print(f"not in {SECONDS:.0f} s: {named}{more}")
    if not tests.ran:
        print("no quick test is about what has changed: run `nox -s tests`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
