"""Studies of toy trials that are only simulated, in the order in which a study would run them."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Literal

from bench_core.records import Status, Task, TrialKey, TrialResult
from bench_core.statistics.comparison import task_differences
from bench_core.statistics.looks import plan_looks
from bench_core.statistics.paired_tests import paired_t
from bench_core.statistics.planning import plan
from bench_core.studies.declaration import DeclaredLooks
from bench_core.studies.looking import StudyLooks
from bench_core.studies.order import RunName, parts_of_blocks, study_order

ARMS = ("a", "b")
Order = Literal["sequential", "study", "parts"]


def turns(tasks: int, trials: int, seed: int, order: Order) -> list[tuple[str, TrialKey]]:
    """Return which arm runs which trial, one after the other."""
    ids = [f"t{n}" for n in range(tasks)]
    blocks = study_order({"toy": [ids]}, {"toy": ARMS}, trials=trials, seed=seed)
    if order == "parts":
        parts = parts_of_blocks(blocks, seed)
        return [(name.arm, key) for name, keys in parts for key in keys]
    if order == "sequential":
        return [(arm, block.key) for arm in ARMS for block in blocks]
    return [(arm, block.key) for block in blocks for arm in block.arms]


def alarms(order: Order, seed: int, *, tasks: int = 200, drift: float = 0.15) -> bool:
    """Return whether equal arms seem to differ, where success falls by `drift` from the first trial to the last."""
    draw = random.Random(f"{seed} drift")  # noqa: S311  # seeded on purpose
    rates = {f"t{n}": draw.uniform(0.3, 0.9) for n in range(tasks)}
    ran = turns(tasks, 2, seed, order)
    scores: dict[str, defaultdict[str, list[float]]] = {arm: defaultdict(list) for arm in ARMS}
    for place, (arm, key) in enumerate(ran):
        won = draw.random() < rates[key.task_id] - drift * place / len(ran)
        scores[arm][key.task_id].append(float(won))
    return paired_t(task_differences(scores["b"], scores["a"])).p_value <= 0.05


def finds(
    difference: float, seed: int, *, tasks: int = 40, trials: int = 2, looks: int = 3
) -> bool:
    """Return whether a declared comparison with looks finds arms that differ by so much."""
    draw = random.Random(f"{seed} difference")  # noqa: S311  # seeded on purpose
    known = [Task(benchmark="toy", task_id=f"t{n}", goal="") for n in range(tasks)]
    same = {each.task_id: (0.0,) for each in known}
    declared = plan_looks(
        known, same, looks=looks, trials=trials, seed=seed, sides="difference", futility=None
    )
    pair = DeclaredLooks(
        benchmark="toy", baseline="a", arm="b", outcome="success_rate", plan=declared
    )
    taken = StudyLooks([pair], trials)
    blocks = study_order({"toy": declared.batches}, {"toy": ARMS}, trials=trials, seed=seed)
    rates = {
        each.task_id: draw.uniform(0.5 * abs(difference), 1.0 - 0.5 * abs(difference))
        for each in known
    }
    for block in blocks:
        for arm in block.arms:
            rate = rates[block.key.task_id] + (0.5 if arm == "b" else -0.5) * difference
            score = float(draw.random() < rate)
            result = TrialResult(
                benchmark="toy",
                task_id=block.key.task_id,
                trial=block.key.trial,
                agent=arm,
                status=Status.COMPLETED,
                score=score,
                success=bool(score),
            )
            for _, look in taken.add(RunName("toy", arm), result):
                if look.reason == "difference":
                    return True
    return False


def promised(difference: float, *, tasks: int = 40, trials: int = 2) -> float:
    """Return with which probability `plan` says that a difference is found."""
    low, high = 0.5, 0.9999
    for _ in range(30):
        middle = (low + high) / 2.0
        enough = plan(tasks, trials, power=middle).detectable <= difference
        low, high = (middle, high) if enough else (low, middle)
    return low
