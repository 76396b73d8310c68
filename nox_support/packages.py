"""The distributions of this repository, read from their own pyproject files."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

__all__ = ["CORE", "ROOT", "Package", "package", "packages"]

ROOT = Path(__file__).resolve().parent.parent
CORE = "bench-core"

_VERSION = re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE)
_MINOR = re.compile(r"Programming Language :: Python :: (3\.\d+)")


@dataclass(frozen=True)
class Package:
    """One folder of `packages/`."""

    folder: Path

    @property
    def name(self) -> str:
        """The distribution, the folder and the command."""
        return self.folder.name

    @property
    def module(self) -> str:
        """The import name."""
        return self.name.replace("-", "_")

    @property
    def about(self) -> Path:
        """The file that holds the version."""
        return self.folder / "src" / self.module / "__about__.py"

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The package's pyproject.toml."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def project(self) -> dict[str, Any]:
        """The `[project]` table."""
        return dict(self.metadata["project"])

    @property
    def version(self) -> str:
        """The version its sources carry now."""
        found = _VERSION.search(self.about.read_text(encoding="utf-8"))
        if found is None:
            raise ValueError(f'{self.about} has no line `__version__ = "..."`')
        return found["version"]

    @property
    def pythons(self) -> list[str]:
        """The Python versions it is tested on: its classifiers, and this one when it is newer."""
        named = [m[1] for each in self.project["classifiers"] if (m := _MINOR.fullmatch(each))]
        if sys.version_info[:2] > _as_tuple(named[-1]):
            named.append(f"{sys.version_info.major}.{sys.version_info.minor}")
        return named

    def has(self, folder: str, pattern: str) -> bool:
        """Whether a file below `folder` matches the glob `pattern`."""
        return any((self.folder / folder).rglob(pattern))

    @property
    def has_browser_tests(self) -> bool:
        """Whether a test of it is marked as starting a real Chromium."""
        tests = (self.folder / "tests").rglob("*.py")
        return any("mark.browser" in each.read_text(encoding="utf-8") for each in tests)


def packages(root: Path = ROOT) -> list[Package]:
    """Return all packages, bench-core first."""
    found = [Package(each.parent) for each in (root / "packages").glob("*/pyproject.toml")]
    return sorted(found, key=lambda each: (each.name != CORE, each.name))


def package(name: str, root: Path = ROOT) -> Package:
    """Return the package `name`.

    Raises:
        KeyError: There is none; the message names those there are.
    """
    known = {each.name: each for each in packages(root)}
    if name not in known:
        raise KeyError(f"no package {name!r}: there are {', '.join(known)}")
    return known[name]


def _as_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
