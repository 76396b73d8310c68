"""The one rule, read from metadata: a package requires bench-core and no sibling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from nox_support.packages import CORE, package, packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nox_support.packages import Package

__all__ = ["core_ranges_that_refuse", "violations"]


OPEN_ENDED = {
    "pyarrow": "a new major version every three months, and the files stay the same",
    "pytest": "a plug-in of what the user tests with",
}
"""What is required without a bound below the next major version, and why."""
_FOREIGN_EXTRAS = {"vanilla"}  # what a checkout of somebody else's code imports


def violations(root: Path) -> Iterator[str]:
    """Yield a line for each requirement that breaks the rule."""
    siblings = {each.name for each in packages(root)} - {CORE}
    for each in packages(root):
        named = {canonicalize_name(found.name) for found in _requirements(each)}
        for sibling in sorted(named & (siblings - {each.name})):
            yield f"{each.name} requires its sibling {sibling}"
        if each.name != CORE and _core_range(each) is None:
            yield f"{each.name} does not require {CORE} with a range of versions"
        for open_ended in _open_ended(each):
            yield f"{each.name} requires {open_ended} without a bound below its next major version"
    for name in core_ranges_that_refuse(package(CORE, root).version, root):
        yield f"{name} refuses the {CORE} of this repository"


def _open_ended(package: Package) -> Iterator[str]:
    """Yield what a package requires of users in any later version, too."""
    extras = package.project.get("optional-dependencies", {})
    own = [
        each for name, listed in extras.items() if name not in _FOREIGN_EXTRAS for each in listed
    ]
    for each in map(Requirement, [*package.project.get("dependencies", []), *own]):
        bounds = {bound.operator for bound in each.specifier}
        if bounds and not bounds & {"<", "<=", "==", "~="} and each.name not in OPEN_ENDED:
            yield each.name


def core_ranges_that_refuse(version: str, root: Path) -> list[str]:
    """Return the packages whose range for bench-core does not admit `version`."""
    ranges = {each.name: _core_range(each) for each in packages(root) if each.name != CORE}
    return [name for name, found in ranges.items() if found and version not in found.specifier]


def _requirements(package: Package) -> list[Requirement]:
    """Return what the package requires, its extras and test dependencies included."""
    extras = package.project.get("optional-dependencies", {}).values()
    groups = package.metadata.get("dependency-groups", {}).values()
    listed = [package.project.get("dependencies", []), *extras, *groups]
    return [Requirement(each) for group in listed for each in group if isinstance(each, str)]


def _core_range(package: Package) -> Requirement | None:
    declared = map(Requirement, package.project.get("dependencies", []))
    return next((each for each in declared if each.name == CORE and each.specifier), None)
