"""Decisions turned around, one at a time: the tests nearest to each have to notice.

    python -m nox_support.mutation_testing [WHERE ...] [--since REV] [--limit N] [--seed N]

WHERE is a module as `webarena_runner/failures.py`, a folder of modules or a package. Each mutant is made in a copy of
the package's sources, never where they are. A survivor is a missing test, or changes nothing that anybody can see; those
are in `integration_tests/explained_mutants.toml`, each with the reason.

Own, as of the mutation testers that others keep cosmic-ray writes mutants into the work tree, mutmut cannot choose what
it changes, and neither chooses tests by module.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nox_support.changes import changed_files, nearest_tests
from nox_support.mutants import Decisions, Mutant
from nox_support.packages import ROOT, Package, packages
from nox_support.source_copies import ENDED, KILLED, SURVIVED, source_copies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nox_support.source_copies import Outcome

__all__ = ["EXPLAINED", "Placed", "main", "read_explained", "read_mutants"]

EXPLAINED = Path("integration_tests", "explained_mutants.toml")
QUICK = ["-m", "not browser and not slow"]
_NO_DECISIONS = {"testing", "world", "simulate", "python_subset"}
"""Folders of tests for others, and of the built-in worlds, which no result is decided in."""
_ALL_DECIDE = {
    "evidence", "eval_rules", "redaction.py", "guard.py", "places.py", "rules.py", "run_folder", "scheduling",
    "statistics",
}  # fmt: skip
"""Folders and modules that decide by plain values: what proves a claim, what agents may see and reach, which results
stand, what an interval is.
"""
_LONGEST = 1200
_TIMES_LONGER = 5
"""How much longer than without the mutant tests may take: the machine is shared, and a mutant may never end."""

NOT_TESTED, HAS_REASON, NO_REASON = "not tested", "explained", "explained, but killed"

Place = tuple[str, str, str, str]


class Placed(NamedTuple):
    """A mutant and where it is.

    Attributes:
        package: Whose module it is.
        file: The module, relative to the package's `src`.
        mutant: What is changed.
    """

    package: Package
    file: str
    mutant: Mutant

    @property
    def path(self) -> Path:
        """The module's file."""
        return self.package.folder / "src" / self.file

    @property
    def place(self) -> Place:
        """What it is known by, which other lines of the module may move without changing."""
        return self.file, self.mutant.function, self.mutant.old, self.mutant.new


def read_mutants(root: Path = ROOT) -> list[Placed]:
    """Return all mutants of all modules that decide something."""
    texts = {
        (each, str(path.relative_to(each.folder / "src"))): path.read_text(encoding="utf-8")
        for each in packages(root)
        for path in sorted((each.folder / "src").rglob("*.py"))
        if not _NO_DECISIONS.intersection(path.parts)
    }
    decisions = Decisions(texts.values())
    return [
        Placed(*place, mutant)
        for place, text in texts.items()
        for mutant in decisions.mutants(text, decides=bool(_ALL_DECIDE & {*Path(place[1]).parts}))
    ]


def read_explained(root: Path = ROOT) -> dict[Place, str]:
    """Return why mutants that were looked at survive."""
    listed = tomllib.loads((root / EXPLAINED).read_text(encoding="utf-8")).get("explained", [])
    return {
        (each["file"], each["function"], each["old"], each["new"]): each["why"] for each in listed
    }


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the campaign; return 1 if a mutant survived that nobody has explained, 2 if nothing is asked for."""
    parser = argparse.ArgumentParser(prog="mutants", description="Turn decisions around.")
    parser.add_argument("where", nargs="*", help="modules, folders of them or packages; or all")
    parser.add_argument("--since", metavar="REV", help="only modules that have changed since")
    parser.add_argument("--limit", type=int, help="draw this many")
    parser.add_argument("--seed", type=int, default=0, help="what is drawn")
    parser.add_argument("--nearest", type=int, default=8, help="how many test files may kill one")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--seconds", type=float, default=30, help="what each may take at least")
    asked = parser.parse_args(arguments)
    known, explained = read_mutants(root), read_explained(root)
    stale = explained.keys() - {each.place for each in known}
    for place in sorted(stale):
        print(f"explained, but there is no such mutant: {' | '.join(place)}")
    chosen = [each for each in known if _is_in(each, asked.where)]
    if asked.since:
        changed = set(changed_files(root, [asked.since]))
        chosen = [each for each in chosen if each.path in changed]
    if asked.limit is not None and asked.limit < len(chosen):
        chosen = random.Random(asked.seed).sample(chosen, asked.limit)  # noqa: S311  # no secret
    if not chosen:
        print("no module that is asked for decides anything", file=sys.stderr)
        return 2
    return max(_run(chosen, explained, asked, root), int(bool(stale)))


def _is_in(placed: Placed, where: Sequence[str]) -> bool:
    return not where or any(
        each in {placed.package.name, placed.file} or placed.file.startswith(f"{each.rstrip('/')}/")
        for each in where
    )


def _run(
    chosen: Sequence[Placed],
    explained: Mapping[Place, str],
    asked: argparse.Namespace,
    root: Path,
) -> int:
    modules: dict[tuple[Package, str], Sequence[str]] = {
        each[:2]: _tests(each, asked.nearest, root) for each in chosen
    }
    owners = dict.fromkeys(owner for owner, _ in modules)
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(asked.workers) as pool, source_copies(owners) as copies:

        def seconds_without(place: tuple[Package, str]) -> float | None:
            """Return how long the tests of a module take; None if they fail."""
            begun = time.monotonic()
            outcome = copies[place[0].name].unchanged(modules[place], _LONGEST, QUICK)
            if outcome.verdict == SURVIVED:
                return time.monotonic() - begun
            print(f"{place[1]}, as it is: {outcome.verdict} {outcome.by}", flush=True)
            return None

        taken = dict(zip(modules, pool.map(seconds_without, modules), strict=True))

        def ended(each: Placed) -> str:
            without = taken[each[:2]]
            if without is None:
                return NOT_TESTED
            longest = max(asked.seconds, _TIMES_LONGER * without)
            tests = modules[each[:2]]
            outcome = copies[each.package.name].changed(
                each.file, each.mutant.text, tests, longest, QUICK
            )
            return _told(each, outcome, explained.get(each.place))

        counts.update(pool.map(ended, chosen))
    told = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
    print(f"{len(chosen)} mutants of {len(modules)} modules, seed {asked.seed}: {told}")
    return int(any(counts[each] for each in (ENDED, NOT_TESTED, SURVIVED, NO_REASON)))


def _tests(placed: Placed, nearest: int, root: Path) -> list[str]:
    """Return the test files of the package that are nearest to a module, relative to the package's folder."""
    folder = placed.package.folder
    found = [each for each in nearest_tests([placed.path], root) if folder in each.parents]
    return [str(each.relative_to(folder)) for each in found[:nearest]]


def _told(placed: Placed, outcome: Outcome, why: str | None) -> str:
    """Print what is not as it should be; return what became of the mutant."""
    kind = outcome.verdict
    if why is not None and kind in {KILLED, SURVIVED}:
        kind = HAS_REASON if kind == SURVIVED else NO_REASON
    if kind != KILLED:
        print(f"{kind}: {' | '.join(placed.place)}", why or outcome.by, sep="\n    ", flush=True)
    return kind


if __name__ == "__main__":
    sys.exit(main())
