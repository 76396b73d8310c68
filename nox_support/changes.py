"""Which tests are about what has changed since the main branch: for `nox -s quick`."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from nox_support.packages import ROOT, packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["changed_files", "modules_of", "related_tests"]

_BASES = ("origin/main", "main")


def changed_files(root: Path = ROOT) -> list[Path]:
    """Return the files that differ from where the main branch was left, uncommitted and new ones included."""
    base = next(
        (each for each in _BASES if _git(root, "rev-parse", "--verify", "-q", each)), "HEAD"
    )
    since = _git(root, "merge-base", base, "HEAD") or ["HEAD"]
    found = {
        *_git(root, "diff", "--name-only", since[0]),
        *_git(root, "ls-files", "--others", "--exclude-standard"),
    }
    return sorted(path for each in found if (path := root / each).is_file())


def modules_of(files: Iterable[Path], root: Path = ROOT) -> set[str]:
    """Return the names by which tests import the modules among `files`: their own and their package's."""
    found = set()
    for each in packages(root):
        source = each.folder / "src"
        for file in files:
            if file.suffix == ".py" and source in file.parents:
                parts = file.relative_to(source).with_suffix("").parts
                own = parts[:-1] if parts[-1] == "__init__" else parts
                found |= {".".join(own), ".".join(own[:-1])} - {"", each.module}
    return found


def related_tests(files: Iterable[Path], root: Path = ROOT) -> list[Path]:
    """Return the test files that changed, and those of packages that import a module that changed."""
    changed = set(files)
    modules = modules_of(changed, root)
    named = "|".join(map(re.escape, sorted(modules)))
    imports = re.compile(rf"^\s*(?:from|import) (?:{named})\b(?!\.)", re.MULTILINE)
    return sorted(
        test
        for test in _tests(root)
        if test in changed or (modules and imports.search(test.read_text(encoding="utf-8")))
    )


def _tests(root: Path) -> Iterator[Path]:
    for each in packages(root):
        yield from each.folder.glob("tests/**/test_*.py")


def _git(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=root, check=False, capture_output=True, text=True)  # noqa: S603, S607  # fixed words
    return done.stdout.split() if done.returncode == 0 else []
