"""The import-linter contract of bench-core: a base that anyone can install, and towers on it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grimp import ImportGraph

__all__ = ["BaseAndTowers"]

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

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001  # import-linter's signature
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
