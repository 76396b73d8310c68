"""Which changes of one operator, constant, branch or returned value no test notices.

They are drawn by seed from the modules whose decisions `integration_tests/inversions` lists. For each the quick tests
nearest to its module are run, and where none fails its package's whole suite. A survivor is a test that is missing, or
changes nothing that anybody can see; those that somebody has looked at are in `integration_tests/explained_mutants.toml`
and are printed with the reason. Tests that do not end within their time tell nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nox_support.changes import nearest_tests  # noqa: E402  # needs the path above
from nox_support.inversions import read_lists  # noqa: E402  # same
from nox_support.mutants import Mutant, mutants_of  # noqa: E402  # same
from nox_support.packages import package  # noqa: E402  # same
from nox_support.source_copies import KILLED, SURVIVED, all_pass, source_copies  # noqa: E402  # same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nox_support.source_copies import Outcome, SourceCopy

QUICK = ["-m", "not browser and not slow"]
SUITE = ["-n", "4", "--dist", "worksteal", "--timeout", "900"]
EXPLAINED = ROOT / "integration_tests" / "explained_mutants.toml"


class Drawn(NamedTuple):
    """A mutant and where it is."""

    package: str
    file: str
    mutant: Mutant

    @property
    def change(self) -> str:
        """What is changed into what, in one line."""
        return f"{' '.join(self.mutant.old.split())} -> {self.mutant.new}"

    @property
    def place(self) -> tuple[str, str, str]:
        """The module, the change and the line that it makes: in another line the same change is another mutant."""
        line = self.mutant.text.splitlines()[self.mutant.line - 1].strip()
        return self.file, self.change, line

    def __str__(self) -> str:
        return f"{self.file}:{self.mutant.line}: {self.change}"


def main() -> int:
    """Run the campaign and return the exit code: 1 where tests do not pass without any mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", help="draw from this one alone, as webarena_runner/failures.py")
    parser.add_argument(
        "--nearest", type=int, default=10, help="quick test files beside those that inversions name"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=600, help="the most quick tests may take")
    parser.add_argument("--suite-seconds", type=float, default=1800, help="the most a suite may")
    asked = parser.parse_args()
    named = {
        place: tests for place, tests in named_tests().items() if asked.module in {None, place[1]}
    }
    drawn = draw(list(named), asked.times, random.Random(asked.seed))  # not cryptography
    tests = {
        place: tests_of(*place, named[place], asked.nearest)
        for place in dict.fromkeys(each[:2] for each in drawn)
    }
    owners = sorted({each.package for each in drawn})
    why, suite = explanations(), Lock()
    with (
        ThreadPoolExecutor(asked.workers) as pool,
        source_copies(map(package, owners)) as copies,
    ):
        wrong = unsound(copies, tests, asked.seconds)
        if wrong:
            print("Tests that do not pass say nothing:", *wrong, sep="\n")
            return 1

        def ended(each: Drawn) -> Outcome:
            changed = partial(copies[each.package].changed, each.file, each.mutant.text)
            outcome = changed(tests[each[:2]], asked.seconds, QUICK)
            if outcome.verdict == KILLED or each.place in why:
                return outcome
            with suite:
                return changed(["tests"], asked.suite_seconds, SUITE)

        found = dict(zip(drawn, pool.map(ended, drawn), strict=True))
    report(found, why, asked.seed)
    return 0


def named_tests() -> dict[tuple[str, str], list[str]]:
    """Return the test files that the lists of inversions name, by package and module."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in read_lists():
        files = [test.partition("::")[0] for test in each.tests]
        found.setdefault((each.package, each.file), []).extend(files)
    return found


def draw(places: Sequence[tuple[str, str]], times: int, seed: random.Random) -> list[Drawn]:
    """Draw mutants of these modules; a module with more of them is drawn from more often."""
    known = [
        Drawn(owner, file, mutant)
        for owner, file in sorted(places)
        for mutant in mutants_of((package(owner).folder / "src" / file).read_text(encoding="utf-8"))
    ]
    return seed.sample(known, min(times, len(known)))


def tests_of(owner: str, file: str, first: Sequence[str], nearest: int) -> list[str]:
    """Return the package's tests of a module: those that its inversions name, then the nearest to it."""
    folder = package(owner).folder
    others = [
        str(each.relative_to(folder))
        for each in nearest_tests([folder / "src" / file], ROOT)
        if folder in each.parents
    ]
    return list(dict.fromkeys([*first, *others[:nearest]]))


def unsound(
    copies: Mapping[str, SourceCopy], tests: Mapping[tuple[str, str], Sequence[str]], seconds: float
) -> list[str]:
    """Return which packages' tests fail without any mutant."""
    found = []
    for name, copy in copies.items():
        wanted = sorted(
            {test for (owner, _), each in tests.items() if owner == name for test in each}
        )
        found.append(all_pass(copy, wanted, seconds * len(wanted), QUICK))
    return [each for each in found if each is not None]


def report(
    found: Mapping[Drawn, Outcome], why: Mapping[tuple[str, str, str], str], seed: int
) -> None:
    """Print survivors, what could not be told, and how many there were of each."""
    counts: Counter[str] = Counter()
    for each, outcome in found.items():
        kind = outcome.verdict.partition(":")[0]
        reason = why.get(each.place)
        if kind != KILLED:
            kind = f"{SURVIVED.lower()}, explained" if reason else kind
            print(f"{each}\n    {reason or f'{outcome.verdict} {outcome.by}'.strip()}")
        counts[kind] += 1
    told = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
    print(f"{len(found)} mutants, seed {seed}: {told}")


def explanations() -> dict[tuple[str, str, str], str]:
    """Return why mutants that were looked at survive, by their places."""
    listed = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
    return {
        (each["file"], each["change"], each["line"]): each["why"]
        for each in listed.get("explained", [])
    }


if __name__ == "__main__":
    raise SystemExit(main())
