"""The order in which the trials of a study run, and the run whose turn it is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bench_core.records import TrialKey
from bench_core.seeded import seeded

__all__ = ["Block", "RunName", "parts_of_blocks", "study_order", "task_order"]

_PARTS = 8
"""Number of parts, each a session, into which trials are cut if arms cannot run side by side."""


class RunName(NamedTuple):
    """One arm on one benchmark."""

    benchmark: str
    arm: str

    def __str__(self) -> str:
        return f"{self.benchmark}/{self.arm}"


@dataclass(frozen=True)
class Block:
    """One trial of one task by each arm.

    Attributes:
        arms: In the order of their turns.
    """

    benchmark: str
    key: TrialKey
    arms: tuple[str, ...]


def task_order(
    batches: Sequence[Sequence[str]], trials: int, draw: random.Random
) -> Iterator[TrialKey]:
    """Yield the trials of a benchmark: batch by batch, every task once before any is repeated, at random."""
    for batch in batches:
        for trial in range(1, trials + 1):
            tasks = sorted(batch)
            draw.shuffle(tasks)
            yield from (TrialKey(task_id=each, trial=trial) for each in tasks)


def study_order(
    batches: Mapping[str, Sequence[Sequence[str]]],
    arms: Mapping[str, Sequence[str]],
    *,
    trials: int,
    seed: int,
) -> list[Block]:
    """Return the blocks of a study: task by task all arms take their turn, in an order drawn for each.

    Benchmarks are spread evenly over the study, so that none of them has the better hours either.

    Args:
        batches: Benchmark to the ids of its tasks, in the batches that looks are taken after.
        arms: Benchmark to the arms that run on it.
        trials: Of each task by each arm.
        seed: The study's.
    """
    placed: list[tuple[float, Block]] = []
    for benchmark in sorted(batches):
        draw = seeded(f"{seed} {benchmark}")
        keys = list(task_order(batches[benchmark], trials, draw))
        for number, key in enumerate(keys):
            turns = sorted(arms[benchmark])
            draw.shuffle(turns)
            at = (number + draw.random()) / len(keys)
            placed.append((at, Block(benchmark, key, tuple(turns))))
    placed.sort(key=lambda each: each[0])
    return [block for _, block in placed]


def parts_of_blocks(blocks: Sequence[Block], seed: int) -> list[tuple[RunName, list[TrialKey]]]:
    """Return the arm whose turn it is and its trials, on a benchmark on which arms cannot run at once.

    The blocks are cut into parts. An arm runs its trials of a part in one go; the order of the arms is drawn for one
    part and turned around for the next, so that a steady drift meets all arms alike.
    """
    if not blocks:
        return []
    parts = min(len(blocks), _PARTS)
    cuts = [round(len(blocks) * n / parts) for n in range(parts + 1)]
    draw = seeded(f"{seed} {blocks[0].benchmark} parts")
    found: list[tuple[RunName, list[TrialKey]]] = []
    benchmark = blocks[0].benchmark
    arms = sorted(blocks[0].arms)
    for number, (start, end) in enumerate(pairwise(cuts)):
        if number % 2 == 0:
            draw.shuffle(arms)
        turns = arms if number % 2 == 0 else arms[::-1]
        keys = [each.key for each in blocks[start:end]]
        found += [(RunName(benchmark, arm), keys) for arm in turns]
    return found
