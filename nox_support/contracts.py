"""Import-linter contracts of our own: bench-core's towers, public modules, and no circles."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from importlinter import Contract, ContractCheck, fields, output

from nox_support.public_api import is_public, public_modules
from nox_support.stubs import offering_modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from grimp import ImportGraph

__all__ = ["BaseAndTowers", "NoCircles", "PublicModules"]

_ROW = re.compile(
    r"(?P<name>\w+)(?: over (?P<over>\w+(?:, \w+)*))?(?: \[(?P<libraries>\w+(?:, \w+)*)\])?"
)


@dataclass(frozen=True)
class _Part:
    """The base, one of its modules that may import more, or a tower."""

    name: str
    over: frozenset[str] = frozenset()
    libraries: frozenset[str] = field(default_factory=frozenset)


class BaseAndTowers(Contract):
    """Hold a package to its plan.

    Base modules import the standard library, the `base` row's libraries and each other. A tower
    imports the base, what the base imports, the towers it stands over and its own libraries. Rows
    read `name over tower, tower [library, library]`; a tower that does not exist yet is fine.
    """

    type_name = "base_and_towers"

    package = fields.StringField()
    base = fields.ListField(subfield=fields.StringField())
    towers = fields.ListField(subfield=fields.StringField())
    exceptions = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(
        self, graph: ImportGraph, verbose: bool
    ) -> ContractCheck:  # import-linter's signature
        """Compare every import of the package with the plan."""
        plan = _Plan(
            str(self.package), _texts(self.base), _texts(self.towers), _texts(self.exceptions)
        )
        broken = sorted(plan.violations(graph))
        output.verbose_print(verbose, f"{len(graph.modules)} modules looked at")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import that is not in the plan."""
        for line in check.metadata["broken"]:
            output.print_error(line)


class PublicModules(Contract):
    """A package imports of another what that lists as public in its pyproject.toml, nothing else."""

    type_name = "public_modules"

    def check(
        self, graph: ImportGraph, verbose: bool
    ) -> ContractCheck:  # import-linter's signature
        """Compare every import between two packages with the lists."""
        listed = public_modules(Path.cwd())
        broken = sorted(
            f"{importer} -> {imported}: {imported} is not public"
            for importer in graph.modules
            for imported in graph.find_modules_directly_imported_by(importer)
            if importer.partition(".")[0] != imported.partition(".")[0]
            and not is_public(imported, listed)
        )
        output.verbose_print(verbose, f"{sum(map(len, listed.values()))} modules are public")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each import of what is not public."""
        for line in check.metadata["broken"]:
            output.print_error(line)


class NoCircles(Contract):
    """No module imports, over others or for types alone, what imports it."""

    type_name = "no_circles"

    def check(
        self, graph: ImportGraph, verbose: bool
    ) -> ContractCheck:  # import-linter's signature
        """Look for circles among all modules."""
        imports = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
        for package, names in offering_modules(Path.cwd()).items():
            imports[package] = imports[package] | set(names.values())
        broken = sorted(" <-> ".join(sorted(each)) for each in _circles(imports))
        output.verbose_print(verbose, f"{len(imports)} modules looked at")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each group of modules that need each other."""
        for line in check.metadata["broken"]:
            output.print_error(line)


def _circles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of modules in which each reaches each, of two or more."""
    left = {each: set(targets) for each, targets in imports.items()}
    # what imports nothing more, or is imported by nothing more, is in no circle
    while gone := {each for each, targets in left.items() if not targets & left.keys()} | (
        left.keys() - set().union(*left.values())
    ):
        left = {each: targets - gone for each, targets in left.items() if each not in gone}
    groups: list[list[str]] = []
    while left:
        start = min(left)
        group = _reached(start, left) & {each for each in left if start in _reached(each, left)}
        if len(group) > 1:
            groups.append(sorted(group))
        for each in group or {start}:
            del left[each]
    return groups


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for each in imports.get(ahead.pop(), ()):
            if each not in found and each in imports:
                found.add(each)
                ahead.append(each)
    return found


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value]


class _Plan:
    """Who may import what inside `package`."""

    def __init__(
        self, package: str, base: list[str], towers: list[str], exceptions: list[str]
    ) -> None:
        self.package = package
        self.base = frozenset(base)
        self.towers = {part.name: part for part in map(_parse, towers)}
        self.exceptions = {part.name: part for part in map(_parse, exceptions)}

    def violations(self, graph: ImportGraph) -> Iterator[str]:
        """Yield a line for each import that the plan does not allow."""
        for importer in graph.modules:
            if self._is_inside(importer):
                for imported in graph.find_modules_directly_imported_by(importer):
                    if reason := self._objection(importer, imported):
                        yield f"{importer} -> {imported}: {reason}"

    def _objection(self, importer: str, imported: str) -> str | None:
        part = self._part_of(importer)
        if self._is_inside(imported):
            target = self._part_of(imported)
            if target.name in {"", part.name} | part.over or target.name not in self.towers:
                return None
            return f"{self._title(part)} may not import the tower {target.name!r}"
        library = imported.partition(".")[0]
        if library in self.base | part.libraries or library in sys.stdlib_module_names:
            return None
        return f"{self._title(part)} may not import {library!r}"

    def _title(self, part: _Part) -> str:
        return f"the tower {part.name!r}" if part.name in self.towers else "the base"

    def _part_of(self, module: str) -> _Part:
        name = module.removeprefix(self.package).strip(".").partition(".")[0]
        return self.towers.get(name) or self.exceptions.get(name) or _Part("")

    def _is_inside(self, module: str) -> bool:
        return module == self.package or module.startswith(f"{self.package}.")


def _parse(row: str) -> _Part:
    found = _ROW.fullmatch(row)
    if found is None:
        raise ValueError(f"cannot read the row {row!r}: expected `name over tower [library]`")
    return _Part(found["name"], _names(found["over"]), _names(found["libraries"]))


def _names(text: str | None) -> frozenset[str]:
    return frozenset(text.split(", ")) if text else frozenset()
