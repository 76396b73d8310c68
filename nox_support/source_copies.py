"""Tests of a package run on a copy of its sources in which one module has another text."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nox_support.packages import Package

__all__ = ["ENDED", "KILLED", "SURVIVED", "TIMED_OUT", "Outcome", "SourceCopy", "source_copies"]

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
ENDED = "ended by a signal"
_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+?::.+?)(?: - .*)?$", re.MULTILINE)
_OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-rfE", "--tb=no"]
_RULE = re.compile(r"([!=_-])\1{9,}")
"""A line across the page, which is as wide as the names of tests may be."""
_SHOWN = 600


@dataclass(frozen=True)
class Outcome:
    """How tests ended.

    Attributes:
        verdict: `survived` if all passed, `timed out` if they did not end in their time, `ended by a
            signal` if something killed them, else `killed`.
        by: The test that failed or, if they could not even be collected, the end of what pytest printed.
    """

    verdict: str
    by: str = ""


class SourceCopy:
    """A package's sources in a folder of their own, which tests import in place of the installed ones.

    Args:
        tested: The package.
        folder: Where the copy is made; it must not exist.
    """

    def __init__(self, tested: Package, folder: Path) -> None:
        self.package = tested
        self._folder = folder
        self._pristine = folder / "pristine"
        self._running: set[subprocess.Popen[str]] = set()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(tested.folder / "src", self._pristine, ignore=ignored)

    def text(self, file: str) -> str:
        """Return the text of the module `file`, which is relative to the package's `src`."""
        return (self._pristine / file).read_text(encoding="utf-8")

    def unchanged(
        self, tests: Iterable[str], seconds: float, options: Sequence[str] = ()
    ) -> Outcome:
        """Run tests on the sources as they are; this also compiles them for what follows.

        Args:
            tests: Folders, files or node ids, relative to the package's folder.
            seconds: The most they may take together.
            options: Of pytest.
        """
        return self._run(self._pristine, tests, seconds, options)

    def changed(
        self,
        file: str,
        text: str,
        tests: Iterable[str],
        seconds: float,
        options: Sequence[str] = (),
    ) -> Outcome:
        """Run tests where the module `file` has the text `text`; see `unchanged`."""
        with tempfile.TemporaryDirectory(dir=self._folder) as parent:
            copy = Path(parent) / "src"
            # links cost nothing: what Python compiles anew takes the place of a file, and is never written into it
            shutil.copytree(self._pristine, copy, copy_function=os.link)
            module = copy / file
            module.unlink()
            module.write_text(text, encoding="utf-8")
            for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"):
                compiled.unlink()
            return self._run(copy, tests, seconds, options)

    def stop(self) -> None:
        """Kill what still runs."""
        for process in tuple(self._running):
            _kill(process)

    def _run(
        self, sources: Path, tests: Iterable[str], seconds: float, options: Sequence[str]
    ) -> Outcome:
        with tempfile.TemporaryDirectory(dir=self._folder) as own:
            named = [str(self.package.folder / each) for each in tests]
            command = [
                sys.executable,
                "-m",
                "pytest",
                *_OPTIONS,
                f"--basetemp={own}/tests",
                *options,
                *named,
            ]
            with subprocess.Popen(  # noqa: S603  # pytest, on tests of this repository
                command,
                cwd=self.package.folder,
                env=_variables(sources, own),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,  # so that what tests started is killed with them
            ) as process:
                self._running.add(process)
                try:
                    said, _ = process.communicate(timeout=seconds)
                except subprocess.TimeoutExpired:
                    return Outcome(TIMED_OUT)
                finally:
                    self._running.discard(process)
                    _kill(process)
        return _outcome(process.returncode, said)


@contextlib.contextmanager
def source_copies(packages: Iterable[Package]) -> Iterator[dict[str, SourceCopy]]:
    """Copy packages' sources, by name; leaving the block ends what runs on them and removes them."""
    with tempfile.TemporaryDirectory(prefix="source-copies-") as folder:
        copies = {each.name: SourceCopy(each, Path(folder) / each.name) for each in packages}
        try:
            yield copies
        finally:
            for each in copies.values():
                each.stop()


def _variables(sources: Path, own: str) -> dict[str, str]:
    before = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(sources), *([before] if before else [])]),
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{own}/hypothesis",
        "COLUMNS": "500",  # to which pytest cuts the names of tests
    }


def _outcome(code: int, said: str) -> Outcome:
    if code == 0:
        return Outcome(SURVIVED)
    if code < 0:  # the system's doing, or another's: it tells nothing of the tests
        return Outcome(ENDED)
    failed = _FAILED_TEST.search(said)
    return Outcome(KILLED, failed["test"] if failed else _RULE.sub(r"\1", said).strip()[-_SHOWN:])


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
