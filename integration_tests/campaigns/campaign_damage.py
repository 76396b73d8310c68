"""Whether any of ten thousand pieces of damage to a finished run goes unseen by `bench-core check`.

Bytes of every file of a run become others, and lines of its results are deleted, doubled and moved,
by seed; then each byte of a small run, one after the other. In CI a test draws 300 of the former.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from bench_core.errors import RunFolderError
from bench_core.run_folder import check_run
from bench_core.testing import make_run

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from test_support.damage import damage  # needs the path above


def main() -> int:
    """Run the campaign and return the exit code: 1 where something went unseen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)  # not cryptography
    with tempfile.TemporaryDirectory() as place:
        run = make_run(Path(place) / "run", tasks=4, trials=2)
        whole = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
        unseen = 0
        for _ in range(asked.times):
            done = damage(run, chance)
            name = done.partition(":")[0]
            if not any(name in problem for problem in problems_of(run)):
                unseen += 1
                print(f"unseen: {done}")
            (run / name).write_bytes(whole[run / name])
        left = problems_of(run)
    print(
        f"{asked.times} pieces of damage, seed {asked.seed}: {unseen} unseen; whole again: {not left}"
    )
    tried, unseen_bytes = every_byte(chance)
    print(f"{tried} bytes of a small run, each another one: {unseen_bytes} unseen")
    return 1 if unseen or left or unseen_bytes else 0


def every_byte(chance: random.Random) -> tuple[int, int]:
    """Change each byte of a run of one trial; return how many those are, and how many went unseen."""
    tried = unseen = 0
    with tempfile.TemporaryDirectory() as place:
        run = make_run(Path(place) / "run", tasks=1, trials=1)
        stored = [run / each for each in ("run.json", "tasks.jsonl", "results.jsonl")]
        stored += [file for file in sorted((run / "trials").rglob("*")) if file.is_file()]
        for file in stored:
            whole = file.read_bytes()
            for position, before in enumerate(whole):
                other = before ^ chance.randrange(1, 256)
                file.write_bytes(whole[:position] + bytes([other]) + whole[position + 1 :])
                tried += 1
                if not any(file.name in problem for problem in problems_of(run)):
                    unseen += 1
                    print(f"unseen: byte {position} of {file.name}: {before:#x} is {other:#x}")
            file.write_bytes(whole)
    return tried, unseen


def problems_of(run: Path) -> tuple[str, ...]:
    """Return what is wrong with a run, also where it cannot be read at all."""
    try:
        return check_run(run).problems
    except RunFolderError as error:
        return (str(error),)


if __name__ == "__main__":
    raise SystemExit(main())
