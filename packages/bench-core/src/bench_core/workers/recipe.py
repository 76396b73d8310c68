"""How a worker builds the benchmark of a run in its own environment, and how two builds are compared."""

from __future__ import annotations

import hashlib
import importlib
import operator
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from bench_core.records import Record, Resource


class Recipe(Record):
    """An entry point and its settings: no object crosses, because objects hold the keys of this process.

    Attributes:
        prepare: `module:name` of a `bench_core.runs.Prepare`, which gets the options as a mapping.
        options: The options of the run.
        slots: Of each worker the options that replace these, such as the one VM that it alone uses.
        holds: For each worker the names of the resources it holds alone in the whole cluster while it lives.
    """

    prepare: str
    options: dict[str, JsonValue] = Field(default_factory=dict)
    slots: tuple[dict[str, JsonValue], ...] = ()
    holds: tuple[tuple[str, ...], ...] = ()

    def for_slot(self, slot: int) -> Recipe:
        """Return the recipe of one worker."""
        own = self.slots[slot % len(self.slots)] if self.slots else {}
        return Recipe(prepare=self.prepare, options={**self.options, **own})

    def held_by(self, slot: int) -> tuple[Resource, ...]:
        """Return the resources one worker holds alone."""
        names = self.holds[slot % len(self.holds)] if self.holds else ()
        return tuple(Resource(name=each) for each in names)

    @property
    def package(self) -> str:
        """The package that the entry point is in."""
        return self.prepare.partition(":")[0].partition(".")[0]


def load_reference(reference: str) -> Any:
    """Return the object that `module:name` names.

    Raises:
        ImportError: The module does not exist.
        AttributeError: It has no such name.
    """
    module, _, name = reference.partition(":")
    return operator.attrgetter(name)(importlib.import_module(module))


def package_digests(packages: Iterable[str]) -> dict[str, str]:
    """Return for each package the SHA-256 over its Python files, `absent` if it is not installed."""
    return {each: _digest(each) for each in dict.fromkeys(packages)}


def _digest(package: str) -> str:
    files = sorted(_files(package))
    if not files:
        return "absent"
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(package: str) -> Iterator[tuple[str, Path]]:
    found = find_spec(package)
    if found is None:
        return
    if found.submodule_search_locations is None:
        yield package, Path(str(found.origin))
        return
    for root in found.submodule_search_locations:
        for path in Path(root).rglob("*.py"):
            yield path.relative_to(root).as_posix(), path
