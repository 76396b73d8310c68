"""Whether any of ten thousand pieces of damage to a finished run goes unseen by `bench-core check`.

Bytes of every file of a run become others, and lines of its results are deleted, doubled and moved,
by seed. In CI a test draws 300 of them.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from bench_core.errors import RunFolderError
from bench_core.run_folder import check_run
from bench_core.testing import make_run
from bench_core.testing.damage import damage


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
    return 1 if unseen or left else 0


def problems_of(run: Path) -> tuple[str, ...]:
    """Return what is wrong with a run, also where it cannot be read at all."""
    try:
        return check_run(run).problems
    except RunFolderError as error:
        return (str(error),)


if __name__ == "__main__":
    raise SystemExit(main())
