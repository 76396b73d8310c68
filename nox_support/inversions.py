"""Decisions turned around, one at a time: for each, a test that is named for it has to fail.

    python -m nox_support.inversions [NAME ...] [--workers 2] [--seconds 300]

A decision is what makes of something unknown a pass, a failure or somebody's fault. `integration_tests/inversions`
lists them, a file for each part of a package. Each is turned around in a copy of the package's sources, never where
they are.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from nox_support.packages import ROOT, package
from nox_support.source_copies import KILLED, all_pass, source_copies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nox_support.source_copies import Outcome, SourceCopy

__all__ = ["LISTS", "Inversion", "InversionError", "main", "read_lists"]

LISTS = ROOT / "integration_tests" / "inversions"


class InversionError(ValueError):
    """An entry of the lists, or a name on the command line, that cannot be used; says the way out."""


@dataclass(frozen=True)
class Inversion:
    """A decision and what turns it around.

    Attributes:
        id: What would be wrong, in words.
        file: The module, relative to the package's `src`.
        old: Text that occurs in it exactly once.
        new: What takes its place.
        tests: Those of which one has to fail: files or node ids, relative to the package's folder.
        why: What users would get.
        package: The distribution whose decision it is; given once for a list.
        source: The list that it is an entry of.
    """

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str
    package: str
    source: Path

    def applied(self, text: str) -> str:
        """Return the module's text with the decision turned around.

        Raises:
            InversionError: The old text does not occur exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise InversionError(
                f"{self.source}: {self.id!r}: its `old` occurs {count} times in {self.file} instead of once: "
                f"copy more or other lines from there, or take the entry out if that is decided no more"
            )
        return text.replace(self.old, self.new)


def read_lists(folder: Path = LISTS) -> list[Inversion]:
    """Return all inversions.

    Raises:
        InversionError: A list cannot be read, or two entries have one id.
    """
    found: dict[str, Inversion] = {}
    for path in sorted(folder.glob("*.toml")):
        for each in _entries(path):
            if each.id in found:
                raise InversionError(
                    f"{path}: {each.id!r} is in {found[each.id].source.name}, too: give one another id"
                )
            found[each.id] = each
    return list(found.values())


def _entries(path: Path) -> Iterator[Inversion]:
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InversionError(f"{path}: {error}") from error
    owner = listed.get("package")
    if not isinstance(owner, str):
        raise InversionError(f"{path}: it has to say whose decisions it lists: package = ...")
    for number, entry in enumerate(listed.get("inversion", []), 1):
        yield _inversion(path, number, owner, entry)


def _inversion(path: Path, number: int, owner: str, entry: dict[str, Any]) -> Inversion:
    wanted = {each.name for each in fields(Inversion)} - {"package", "source"}
    wrong = wanted.symmetric_difference(entry)
    if wrong:
        raise InversionError(
            f"{path}: entry {number}, {entry.get('id', 'without an id')!r}, has to have {', '.join(sorted(wanted))}; "
            f"missing or unknown: {', '.join(sorted(wrong))}"
        )
    return Inversion(**{**entry, "tests": tuple(entry["tests"])}, package=owner, source=path)


def _chosen(known: Sequence[Inversion], names: Sequence[str]) -> list[Inversion]:
    unknown = set(names) - {each.id for each in known} - {each.source.stem for each in known}
    if unknown:
        raise InversionError(
            f"no inversion and no list is named {', '.join(sorted(unknown))}: see {LISTS}"
        )
    return [each for each in known if not names or {each.id, each.source.stem} & set(names)]


def _problems(
    chosen: Sequence[Inversion],
    copies: Mapping[str, SourceCopy],
    pool: ThreadPoolExecutor,
    seconds: float,
) -> list[str]:
    """Return what is wrong with the tests themselves."""

    def problem(name: str) -> str | None:
        tests = sorted({test for each in chosen if each.package == name for test in each.tests})
        return all_pass(copies[name], tests, seconds * len(tests))

    return [each for each in pool.map(problem, copies) if each is not None]


def _printed(chosen: Sequence[Inversion], outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Print a row for each as it comes."""
    for each, outcome in zip(chosen, outcomes, strict=True):
        print(f"{each.id:<72} {outcome.verdict} {outcome.by}".rstrip(), flush=True)
        if outcome.verdict != KILLED:
            print(f"    {each.source.name}, {each.file}: {each.why}", flush=True)
        yield outcome


def _turn_around(chosen: Sequence[Inversion], workers: int, seconds: float) -> int:
    with (
        ThreadPoolExecutor(workers) as pool,
        source_copies(
            package(name) for name in sorted({each.package for each in chosen})
        ) as copies,
    ):
        texts = {each.id: each.applied(copies[each.package].text(each.file)) for each in chosen}
        problems = _problems(chosen, copies, pool, seconds)
        if problems:
            print("Tests that do not pass say nothing:", *problems, sep="\n")
            return 1

        def ended(each: Inversion) -> Outcome:
            return copies[each.package].changed(each.file, texts[each.id], each.tests, seconds)

        outcomes = list(_printed(chosen, pool.map(ended, chosen)))
    killed = sum(each.verdict == KILLED for each in outcomes)
    print(f"{len(outcomes)} inversions: {killed} killed, {len(outcomes) - killed} not")
    return int(killed != len(outcomes))


def main(arguments: Sequence[str] | None = None, lists: Path = LISTS) -> int:
    """Turn the named decisions around, or all, and print which test each was killed by.

    Returns 1 where one survived or its tests could not say, 2 where a list or a name is wrong.
    """
    parser = argparse.ArgumentParser(prog="inversions", description="Turn decisions around.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="an id, or a list without .toml")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--seconds", type=float, default=300, help="the most one may take")
    asked = parser.parse_args(arguments)
    try:
        return _turn_around(_chosen(read_lists(lists), asked.names), asked.workers, asked.seconds)
    except (InversionError, KeyError) as error:
        print(error.args[0], file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
