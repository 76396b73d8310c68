"""Whether killing who writes notes loses one that was acknowledged, with two writers at once.

At each point, drawn by seed, one of two writers is killed (SIGKILL) in the middle of its work and begins anew. Then
every note that was acknowledged must be there once, in its order, and no line may be damaged.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_core.run_folder import check_run, read_notes
from bench_core.testing import make_run

WRITER = Path(__file__).parents[2] / "packages/bench-core/tests/run_folder/note_writer.py"
PEOPLE = ("ana", "ben")


def main() -> int:
    """Run the campaign and return 1 where a note was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--seed", type=int, default=60)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder) / "run", tasks=4, artifacts=False)
        said: list[tuple[str, list[int]]] = []
        writers = {by: _start(run, by) for by in PEOPLE}
        for point in range(asked.points):
            time.sleep(rng.uniform(0.0, 0.1))
            by = PEOPLE[point % 2]
            said.append((by, _killed(writers[by])))
            writers[by] = _start(run, by)
        said += [(by, _killed(each)) for by, each in writers.items()]
        found = read_notes(run)
        wrong = [problem for problem in check_run(run).problems if "torn" not in problem]
        for by, numbers in said:
            wrong += [f"{by} said {numbers[-1]} out of order"] if numbers != sorted(numbers) else []
        for by in PEOPLE:
            kept = [each.step for each in found.records if each.by == by]
            told = [number for who, numbers in said for number in numbers if who == by]
            # a note may be there whose word was never said, none may be said that is not there
            rest = iter(kept)
            wrong += [f"lost: {by} {number}" for number in told if number not in rest]
    told_in_all = sum(len(numbers) for _, numbers in said)
    sys.stdout.write(
        f"{asked.points} points, seed {asked.seed}: {told_in_all} notes acknowledged, "
        f"{len(found.records)} there, {len(wrong)} problems\n"
    )
    sys.stdout.writelines(f"  {each}\n" for each in wrong[:20])
    return 1 if wrong else 0


def _start(run: Path, by: str) -> subprocess.Popen[str]:
    writer = subprocess.Popen(
        [sys.executable, WRITER, run, by, "1000000"], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout  # a pipe was asked for
    writer.stdout.readline()  # 0: it is at work
    return writer


def _killed(writer: subprocess.Popen[str]) -> list[int]:
    writer.kill()
    return [0, *(int(line) for line in writer.communicate()[0].splitlines() if line)]


if __name__ == "__main__":
    sys.exit(main())
