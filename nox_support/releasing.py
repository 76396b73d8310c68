"""Versions, tags and changelogs: what a release checks before and after its commit.

`python -m nox_support.releasing PACKAGE|all STEP` makes the commit of a release and prints how to tag it.
`python -m nox_support.releasing TAG` checks a pushed tag and prints `package=` and `version=` lines
for the workflow that publishes it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from nox_support.metadata import core_ranges_that_refuse
from nox_support.packages import CORE, ROOT, package, packages

if TYPE_CHECKING:
    from pathlib import Path

    from nox_support.packages import Package

__all__ = [
    "ALL",
    "ReleaseError",
    "check_tag",
    "next_version",
    "prepare",
    "prepare_all",
    "release",
    "tag_of",
]

ALL = "all"
"""Names all packages, where a package is asked for."""

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_PARTS = ("major", "minor", "patch")
_CORE_RANGE = re.compile(rf'("{CORE}(?:\[[^\]]*\])?)[=>]=[^"]*"')


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
    _write_version(released, version, root)
    return released


def prepare_all(step: str, root: Path = ROOT) -> list[Package]:
    """Write the next version of every package, and let the others require this bench-core or newer.

    They are tested with the bench-core of this repository and use what is new in it, so that their
    ranges begin there and end before its next minor version.

    Raises:
        ReleaseError: There are uncommitted changes.
    """
    _require_clean(root)
    for each in packages(root):
        _write_version(each, next_version(each.version, step), root)
    core = package(CORE, root).version
    major, minor, _ = core.split(".")
    for each in packages(root):
        pyproject = each.folder / "pyproject.toml"
        wanted = rf'\g<1>>={core},<{major}.{int(minor) + 1}"'
        pyproject.write_text(_CORE_RANGE.sub(wanted, pyproject.read_text("utf-8")), "utf-8")
    return packages(root)


def release(name: str, step: str, root: Path = ROOT) -> list[Package]:
    """Commit the next version of the package `name`, or of all, with the changelog of its fragments.

    Raises:
        KeyError: No package has that name.
        ReleaseError: See `prepare`; or a release without a change.
    """
    released = (
        prepare_all(step, root) if name == ALL else [prepare(package(name, root), step, root)]
    )
    for each in released:
        folder, config = str(each.folder), str(root / "pyproject.toml")
        told = ["--yes", "--config", config, "--dir", folder, "--version", each.version]
        _run([sys.executable, "-m", "towncrier", "build", *told], root)
        _run(["git", "add", folder], root)
    _run(["git", "add", "--update"], root)
    of = f"all packages {released[0].version}" if name == ALL else f"{name} {released[0].version}"
    _run(["git", "commit", "-qm", f"Release {of}"], root)
    for each in released:
        check_tag(tag_of(each), root)
    return released


def _run(command: list[str], root: Path) -> None:
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)  # noqa: S603  # our words
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:4])}: {(done.stderr or done.stdout).strip()}")


def _write_version(released: Package, version: str, root: Path) -> None:
    """Write a package's version where it stands, and where pages say how to install it."""
    pinned = re.compile(rf"(\b{released.name}(?:\[[\w,-]+\])?==){re.escape(released.version)}\b")
    for page in (
        *root.glob("README.md"),
        *root.glob("docs/**/*.md"),
        *root.glob("packages/*/README.md"),
    ):
        text = page.read_text(encoding="utf-8")
        page.write_text(pinned.sub(rf"\g<1>{version}", text), encoding="utf-8")
    text = released.about.read_text(encoding="utf-8")
    released.about.write_text(text.replace(f'"{released.version}"', f'"{version}"'), "utf-8")


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


def main(*words: str) -> int:
    """Check a tag and describe its package for the workflow, or make a release."""
    try:
        if len(words) == len(("package", "step")):
            return _main_release(*words)
        (tag,) = words
        found = check_tag(tag)
    except (KeyError, ReleaseError) as error:
        print(error.args[0], file=sys.stderr)
        return 1
    print(f"package={found.name}\nversion={found.version}\nmodule={found.module}")
    return 0


def _main_release(name: str, step: str) -> int:
    released = release(name, step)
    tags = [tag_of(each) for each in released]
    print(*(f"git tag -a {tag} -m '{tag.replace('-v', ' ')}'" for tag in tags), sep="\n")
    print(f"git push origin HEAD {' '.join(tags)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
