"""Versions, tags and changelogs: what a release checks before and after its commit.

`python -m nox_support.releasing TAG` checks a pushed tag and prints `package=` and `version=` lines
for the workflow that publishes it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from nox_support.metadata import core_ranges_that_refuse
from nox_support.packages import CORE, ROOT, package

if TYPE_CHECKING:
    from pathlib import Path

    from nox_support.packages import Package

__all__ = ["ReleaseError", "check_tag", "next_version", "prepare", "tag_of"]

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_PARTS = ("major", "minor", "patch")


class ReleaseError(Exception):
    """The release cannot go on; the message says what to mend."""


def next_version(version: str, step: str) -> str:
    """Return the version after `version`; `step` is major, minor, patch or a version itself.

    >>> next_version("0.1.3", "minor")
    '0.2.0'
    >>> next_version("0.1.3", "0.1.3")
    '0.1.3'
    """
    if _VERSION.fullmatch(step):
        return step
    if step not in _PARTS:
        raise ReleaseError(f"{step!r} is none of major, minor, patch or a version like 1.2.3")
    numbers = [int(each) for each in version.split(".")]
    at = _PARTS.index(step)
    return ".".join(map(str, [*numbers[:at], numbers[at] + 1, *[0] * (2 - at)]))


def prepare(released: Package, step: str, root: Path = ROOT) -> Package:
    """Write the next version of `released` into its `__about__.py`, if it can be released.

    Raises:
        ReleaseError: There are uncommitted changes, or a package would refuse to work with the
            bench-core of this repository.
    """
    _require_clean(root)
    version = next_version(released.version, step)
    core = version if released.name == CORE else package(CORE, root).version
    refusing = core_ranges_that_refuse(core, root)
    if refusing and released.name in {CORE, *refusing}:
        raise ReleaseError(f"{', '.join(refusing)}: widen the range for {CORE} to admit {core}")
    text = released.about.read_text(encoding="utf-8")
    released.about.write_text(text.replace(f'"{released.version}"', f'"{version}"'), "utf-8")
    return released


def _require_clean(root: Path) -> None:
    status = ["git", "status", "--porcelain"]
    changes = subprocess.run(status, cwd=root, check=True, capture_output=True, text=True).stdout  # noqa: S603  # fixed words
    if changes:
        raise ReleaseError(f"commit or stash these changes first:\n{changes}")


def tag_of(package: Package) -> str:
    """Return the tag that publishes the package's version."""
    return f"{package.name}-v{package.version}"


def check_tag(tag: str, root: Path = ROOT) -> Package:
    """Return the package that `tag` publishes.

    Raises:
        ReleaseError: Tag, `__about__.py` and changelog do not name the same version.
    """
    name, _, version = tag.rpartition("-v")
    try:
        found = package(name, root)
    except KeyError as error:
        raise ReleaseError(f"tag {tag!r}: {error.args[0]}") from error
    if found.version != version:
        raise ReleaseError(f"tag {tag!r} does not fit: {found.about} says {found.version}")
    changelog = found.folder / "CHANGELOG.md"
    if f"\n## {version} " not in changelog.read_text(encoding="utf-8"):
        raise ReleaseError(f"{changelog} has no section for {version}")
    return found


def main(tag: str) -> int:
    """Check `tag` and describe its package for the workflow."""
    try:
        found = check_tag(tag)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"package={found.name}\nversion={found.version}\nmodule={found.module}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
