"""Damage to run folders, one piece at a time, to see that nothing of it goes unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path

__all__ = ["damage"]


def damage(run: Path, chance: random.Random) -> str:
    """Damage one file of the run folder `run` and return what was done to which.

    A byte becomes another one, or a line of `results.jsonl` is deleted, doubled or changes its place.
    """
    results = run / "results.jsonl"
    if chance.random() < _OF_LINES:
        lines = results.read_bytes().splitlines(keepends=True)
        done = _disorder(lines, chance)
        results.write_bytes(b"".join(lines))
        return f"results.jsonl: {done}"
    files = [run / "run.json", run / "tasks.jsonl", results]
    files += [file for file in sorted((run / "trials").rglob("*")) if file.is_file()]
    file = chance.choice([each for each in files if each.stat().st_size])
    data = bytearray(file.read_bytes())
    place = chance.randrange(len(data))
    before = data[place]
    data[place] = before ^ chance.randrange(1, 256)
    file.write_bytes(data)
    return f"{file.relative_to(run).as_posix()}: byte {place} of {before:#x} is {data[place]:#x}"


_OF_LINES = 0.2


def _disorder(lines: list[bytes], chance: random.Random) -> str:
    place = chance.randrange(len(lines))
    what = chance.choice(["deleted", "doubled", "moved"]) if len(lines) > 1 else "deleted"
    line = lines[place] if what == "doubled" else lines.pop(place)
    if what == "deleted":
        return f"line {place + 1} is deleted"
    new = chance.choice(
        [each for each in range(len(lines) + 1) if what == "doubled" or each != place]
    )
    lines.insert(new, line)
    return f"line {place + 1} is {what} to {new + 1}"
