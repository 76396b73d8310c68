"""Whether every trial that a person or a model has played, and that was kept, scores again as it did.

Each goes through its runner on the built-in world; those of models that act by pixels through their dialect alone.
A test does the same with a dozen. `--only` takes parts of file names.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from integration_tests.played.replay import (  # needs the path above
    Kept,
    acts_of,
    expected_acts,
    played_again,
)

FOLDER = Path(__file__).resolve().parents[1] / "played"


def main() -> int:
    """Run the campaign and return the exit code: 1 where a trial scores otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--seed", type=int, default=0, help="Nothing is drawn.")
    asked = parser.parse_args()
    wrong = 0
    for path in sorted(FOLDER.glob("*/*.jsonl")):
        name = path.relative_to(FOLDER).as_posix()
        if any(each in name for each in asked.only):
            with tempfile.TemporaryDirectory() as folder:
                problem = _problem(Kept.of(path), Path(folder))
            wrong += problem not in {None, NOT_ENDED}
            print(f"{name}: {problem or 'as before'}", flush=True)
    return 1 if wrong else 0


NOT_ENDED = "left out: its agent did not end it, or it has no score"


def _problem(kept: Kept, folder: Path) -> str | None:
    if kept.by_pixels:
        made, wanted = acts_of(kept, folder), expected_acts(kept)
        differing = [pair for pair in zip(made, wanted, strict=True) if pair[0] != pair[1]]
        return f"other acts: {differing[0]}" if differing else None
    if not kept.ended:
        return NOT_ENDED
    result, problem = played_again(kept, folder / "run")
    if (problem, result.score) == (None, kept.trial["score"]):
        return None
    return f"{result.score} instead of {kept.trial['score']}: {problem or result.checks}"[:600]


if __name__ == "__main__":
    sys.exit(main())
