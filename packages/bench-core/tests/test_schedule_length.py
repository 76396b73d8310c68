"""How close the schedule of a whole WebArena run comes to what its sites allow."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Literal

import pytest
from virtual_time import VirtualClock, run_in_virtual_time
from webarena_sites import WEBARENA

from bench_core.budgets import RunBudget
from bench_core.progress import NoProgress
from bench_core.protocols import TrialContext
from bench_core.records import Resource, Status, Task, TrialKey, TrialResult
from bench_core.run_spec import RunSpec, plan_trials
from bench_core.runs import makespan_s
from bench_core.scheduling import Policy, Scheduler

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Event
    from bench_core.run_spec import PlannedTrial

WRITERS_OF_GITLAB = 135
MINUTE = 60.0


@pytest.fixture
def webarena_tasks() -> list[Task]:
    tasks = [
        Task(
            benchmark="webarena",
            task_id=f"{'+'.join(sites)}-{mode}-{number}",
            goal="",
            resources=tuple(Resource(name=site, mode=mode) for site in sites),
        )
        for sites, writers, readers in WEBARENA
        for mode, count in (("exclusive", writers), ("shared", readers))
        for number in range(count)
    ]
    random.Random(1).shuffle(tasks)  # noqa: S311  # an order, not a secret
    return tasks


def planned(tasks: list[Task], site_locks: Literal["rw", "exclusive"] = "rw") -> list[PlannedTrial]:
    keys = [TrialKey(task_id=task.task_id) for task in tasks]
    return plan_trials(tasks, keys, RunSpec(agent="a", site_locks=site_locks))


class Nowhere:
    """Keeps nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results: list[TrialResult] = []

    def append(self, result: TrialResult) -> None:
        self.results.append(result)

    def event(self, event: Event) -> None:
        """Do nothing."""

    def new_attempt(self, key: TrialKey) -> Path:
        return self.folder


async def one_minute(task: Task, context: TrialContext) -> TrialResult:
    await asyncio.sleep(MINUTE)
    return TrialResult(
        benchmark=task.benchmark, task_id=task.task_id, agent="a", status=Status.COMPLETED, score=1
    )


def run_webarena(trials: list[PlannedTrial], workers: int, folder: Path) -> float:
    clock = VirtualClock()
    sink = Nowhere(folder)

    async def main() -> str:
        scheduler = Scheduler(
            one_minute,
            sink,
            TrialContext(run_id="r", folder=folder, agent="a"),
            budget=RunBudget(),
            progress=NoProgress(),
            policy=Policy(workers=workers),
            clock=clock,
        )
        return await scheduler.run(trials)

    assert run_in_virtual_time(main(), clock) == "finished"
    assert len(sink.results) == len(trials)
    assert {each.score for each in sink.results} == {1.0}
    return clock.elapsed_s


def test_webarena_with_shared_sites_is_within_five_percent_of_six_times_as_fast(
    webarena_tasks: list[Task], tmp_path: Path
) -> None:
    trials = planned(webarena_tasks)
    assert len(trials) == 812
    bound = 812 / (WRITERS_OF_GITLAB + 1)  # its writers one by one, its readers together
    speed_up = 812 * MINUTE / run_webarena(trials, 64, tmp_path)
    assert speed_up >= 0.95 * bound
    assert bound >= 5.97


def test_webarena_with_exclusive_sites_is_within_five_percent_of_four_times_as_fast(
    webarena_tasks: list[Task], tmp_path: Path
) -> None:
    trials = planned(webarena_tasks, site_locks="exclusive")
    speed_up = 812 * MINUTE / run_webarena(trials, 64, tmp_path)
    assert 0.95 * 3.98 <= speed_up <= 3.98 + 0.01


@pytest.mark.parametrize("workers", [1, 4, 8, 16])
def test_few_workers_are_kept_busy_while_sites_allow(
    webarena_tasks: list[Task], workers: int
) -> None:
    trials = planned(webarena_tasks)
    lower_bound = max(812 / workers, WRITERS_OF_GITLAB + 69 / workers)
    assert makespan_s(trials, workers, lambda _: 1.0) <= 1.05 * lower_bound


def test_the_estimate_of_a_plan_is_what_the_scheduler_then_takes(
    webarena_tasks: list[Task], tmp_path: Path
) -> None:
    trials = planned(webarena_tasks[:200])
    estimate = makespan_s(trials, 6, lambda _: MINUTE)
    assert run_webarena(trials, 6, tmp_path) == pytest.approx(estimate)
