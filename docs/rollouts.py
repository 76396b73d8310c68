"""A sketch of reinforcement learning: it trains nothing, but it runs.

64 episodes of a policy that acts at random, eight at a time, in groups of eight for each task.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from bench_core import sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ("tab", "enter", "down", "escape")


def act(draw: random.Random) -> dict[str, Any]:
    """Return the next action: where a model would be asked."""
    return {"kind": "keys", "keys": [draw.choice(KEYS)]}


def rewards_of(group: sessions.SessionGroup, task: str, draw: random.Random) -> list[float | None]:
    """Try one task in all sessions at once; None stands for an episode without a score."""
    rewards: list[float | None] = [None] * len(group)
    seen: list[Any] = list(group.reset([task] * len(group), seeds=range(len(group))))
    while any(map(goes_on, seen)):
        seen = list(group.step([act(draw) if goes_on(each) else None for each in seen]))
        for place, each in enumerate(seen):
            if isinstance(each, sessions.SessionStep) and each.done:
                rewards[place] = each.reward
    return rewards


def goes_on(seen: object) -> bool:
    """Return whether an episode is open: it is over, or failed, otherwise."""
    return isinstance(seen, sessions.SessionStep) and not seen.done


def advantages(rewards: list[float | None]) -> list[float | None]:
    """Return each reward less the mean of its group; what has no score is in neither."""
    scored = [each for each in rewards if each is not None]
    mean = sum(scored) / len(scored) if scored else 0.0
    return [None if each is None else each - mean for each in rewards]


def rollouts(
    benchmark: str = "waa", *, size: int = 8, groups: int = 8, seed: int = 0, **settings: Any
) -> Iterator[tuple[str, list[float | None]]]:
    """Yield the advantages of each group with its task; `settings` are those of `SessionSettings`."""
    draw = random.Random(seed)
    with sessions.open_many(benchmark, size, **{"max_steps": 4, **settings}) as group:
        tasks = [note.task_id for note in group.tasks()]
        for task in draw.sample(tasks, groups):
            yield task, advantages(rewards_of(group, task, draw))


if __name__ == "__main__":
    for name, found in rollouts():
        print(name, found)
