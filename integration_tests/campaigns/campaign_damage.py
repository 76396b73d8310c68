"""Whether any of two thousand pieces of damage to a run goes unseen by `bench-core check` or by a reader.

Bytes and digits of every file of a run become others, files are cut, grown and removed, lines are deleted, doubled,
moved, cut off and changed with their checksum computed again, by seed; half of the runs were killed. What is not told
must change no number that is read. Prints a table of kinds and files. In CI a test draws 60.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_support.damage import (  # needs the path above
    READERS,
    damage,
    make_whole_run,
    numbers_of,
    told_by,
)


class Logged(logging.Handler):
    """Keeps what is logged."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.text += f"{record.getMessage()}\n"


def printed(*arguments: object) -> str:
    """Return what a command of bench-report prints and logs."""
    (script,) = entry_points(group="console_scripts", name="bench-report")
    log = Logged()
    logging.getLogger("bench_core").addHandler(log)
    try:
        return CliRunner().invoke(script.load(), list(map(str, arguments))).output + log.text
    finally:
        logging.getLogger("bench_core").removeHandler(log)


def reported(run: Path) -> str:
    """Build a report."""
    return printed("build", run, "--out", run.with_name("report"), "--format", "json")


def compared(run: Path) -> str:
    """Compare the run with one that is whole."""
    return printed("compare", run, "--against", run.with_name("ended"))


def gated(run: Path) -> str:
    """Let the gate decide about it."""
    return printed("gate", run, "--against", run.with_name("ended"))


def exported(run: Path) -> str:
    """Export it as an entry of one line, which says the damage in its notes."""
    out = ("--out", run.with_name("results.yaml"), "--dataset", "someone/something")
    return printed("export", "eval-results", run, *out)


def watched(run: Path) -> str:
    """Look how far it is."""
    return printed("watch", "--once", "--json", run)


def main() -> int:
    """Run the campaign and return the exit code: 1 where something went unseen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)  # not cryptography
    logging.getLogger("bench_core").propagate = False  # thousands of warnings
    readers = {
        "report": reported,
        "compare": compared,
        "gate": gated,
        "export": exported,
        "watch": watched,
        **READERS,
    }
    table: dict[tuple[str, str], Counter[str]] = {}
    unseen = 0
    with tempfile.TemporaryDirectory() as place:
        whole = [make_whole_run(Path(place) / n, killed=n == "killed") for n in ("ended", "killed")]
        numbers = [numbers_of(each) for each in whole]
        for time in range(asked.times):
            run = Path(place) / "damaged"
            shutil.copytree(whole[time % 2], run)
            done = damage(run, chance)
            cell = table.setdefault((done.kind, done.group), Counter())
            cell["pieces"] += 1
            for reader, told in told_by(run, readers, numbers[time % 2]).items():
                if told.names(done):
                    cell[reader] += 1
                elif not told.same_numbers:
                    unseen += 1
                    print(f"unseen by {reader}: {whole[time % 2].name} run, {done}")
            shutil.rmtree(run)
    print("Told by how many; all others change no number that is read.")
    print("| damage | file | pieces |", " | ".join(readers), "|")
    print("|---" * (3 + len(readers)) + "|")
    for (kind, file), cell in sorted(table.items()):
        print(
            f"| {kind} | {file} | {cell['pieces']} |",
            " | ".join(str(cell[each]) for each in readers),
            "|",
        )
    print(f"{asked.times} pieces of damage, seed {asked.seed}: {unseen} unseen")
    return 1 if unseen else 0


if __name__ == "__main__":
    raise SystemExit(main())
