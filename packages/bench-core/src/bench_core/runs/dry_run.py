"""The plan of a run, without running it: `--dry-run`."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from bench_core.records import Record
from bench_core.run_folder.folder import read_run
from bench_core.run_folder.standings import TrialStandings
from bench_core.run_spec import plan_trials
from bench_core.runs.capacity import Capacity, Machines, capacities, enough_machines
from bench_core.runs.placing import Placing
from bench_core.runs.resume import tasks_of_run, trials_to_rerun
from bench_core.scheduling.resources import ResourceQueue, claim_of
from bench_core.workers.placement import Bindings, FreePlaces, Placement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench_core.run_folder.folder import RunView
    from bench_core.run_spec import PlannedTrial, RunSpec
    from bench_core.trial import Benchmark


class PlannedResource(Record):
    """How many of the trials to run share a resource and how many hold it alone.

    Attributes:
        bound_to: The labels of the nodes on which they run.
    """

    name: str
    shared: NonNegativeInt = 0
    exclusive: NonNegativeInt = 0
    bound_to: tuple[str, ...] = ()


class RunPlan(Record):
    """The plan of a run.

    Attributes:
        continues: Whether the folder holds a run that would be continued.
        speed_up: How many times faster the workers are than one if all trials take equally long:
            what the resources allow.
        expected_s: From the durations of the trials done so far, None without any.
        at_most_s: From the trials' time limits, None when one has none.
        capacities: The same run with other numbers of workers, each on a machine of its own.
        enough_workers: Beyond this number, more help by less than 2 percent; None if nothing is to run.
    """

    benchmark: str
    folder: str
    continues: bool
    tasks: PositiveInt
    trials: PositiveInt
    planned: NonNegativeInt
    done: NonNegativeInt
    to_run: NonNegativeInt
    workers: PositiveInt
    speed_up: NonNegativeFloat
    resources: tuple[PlannedResource, ...] = ()
    expected_s: NonNegativeFloat | None = None
    at_most_s: NonNegativeFloat | None = None
    capacities: tuple[Capacity, ...] = ()
    enough_workers: PositiveInt | None = None


def plan_run(
    benchmark: Benchmark,
    spec: RunSpec,
    out: Path,
    *,
    machines: Machines | None = None,
    trial_s: float | None = None,
    placing: Placing | None = None,
) -> RunPlan:
    """Return the plan of `run_benchmark`; nothing is written or started.

    Args:
        benchmark: Has the tasks.
        spec: The run to plan.
        out: The run folder.
        machines: The cost of each worker's machine, and its start time before the first trial.
        trial_s: The expected seconds of a trial; by default those of the trials done so far.
        placing: Says which nodes may run which trials; by default all may run all.

    Raises:
        InputError: The filter fits no task, the folder cannot be read, or the cluster has not the nodes that
            trials are bound to.
    """
    run = read_run(out) if (out / "run.json").exists() else None
    tasks, skipped = tasks_of_run(benchmark.tasks(), spec, run)
    keys = TrialStandings([task.task_id for task in tasks], spec.trials).remaining()
    done = {key for key in keys if run is not None and run.standings.is_done(key)}
    done -= {*trials_to_rerun(run, spec.rerun, None)}
    left = [key for key in keys if key not in done and key.task_id not in skipped]
    trials = tuple(plan_trials(tasks, left, spec))  # looked at for each number of machines
    expected_s = trial_s if trial_s is not None else _mean_s(run)
    asked = machines or Machines()
    found = placing or Placing(Bindings())
    if trials:
        found.place(tasks, trials, spec.workers)  # refused as the run would refuse it
    most = found.most(tasks, trials, spec.workers)
    places = cache(lambda workers: found.fits(tasks, trials, workers))

    @cache
    def spans(workers: int) -> float:
        """Return the duration if each trial takes one second; infinite if some could never run."""
        if trials and places(workers) is None:
            return math.inf
        return makespan_s(trials, workers, lambda _: 1.0, places(workers))

    @cache
    def longest(workers: int) -> float | None:
        if any(trial.limits.time_limit_s is None for trial in trials):
            return None
        return makespan_s(
            trials, workers, lambda t: spec.timeouts.deadline_s(t.limits) or 0.0, places(workers)
        )

    span = spans(spec.workers)
    return RunPlan(
        benchmark=benchmark.name,
        folder=str(out),
        continues=run is not None,
        tasks=len(tasks),
        trials=spec.trials,
        planned=len(keys),
        done=len(done),
        to_run=len(trials),
        workers=spec.workers,
        speed_up=len(trials) / span if span else 1.0,
        resources=_resources(trials, found.bindings),
        expected_s=None if expected_s is None else asked.start_s + span * expected_s,
        at_most_s=longest(spec.workers),
        capacities=capacities(
            trials,
            spec.workers,
            spans,
            trial_s=expected_s,
            at_most_s=longest,
            machines=asked,
            most=most,
        ),
        enough_workers=enough_machines(most, spans) if trials else None,
    )


def makespan_s(
    trials: Sequence[PlannedTrial],
    workers: int,
    duration_s: Callable[[PlannedTrial], float],
    placement: Placement | None = None,
) -> float:
    """Return how long a schedule takes in which each trial lasts `duration_s`.

    The order is the scheduler's own; retries and waiting for other processes are left out.

    Args:
        trials: The trials to run.
        workers: How many there are.
        duration_s: How long each trial takes.
        placement: The workers' places; by default all may run all trials.
    """
    places = FreePlaces(placement or Placement.anywhere(workers))
    queue: ResourceQueue[PlannedTrial] = ResourceQueue()
    for trial in trials:
        queue.add(trial, claim_of(trial.resources))
    running: list[tuple[float, int, PlannedTrial, int]] = []
    now, started = 0.0, 0
    # The real queue with simulated durations: an estimate from a model of it would drift from it.
    while queue or running:
        while (next_ := queue.start_next(lambda claim: places.has_room(claim.names))) is not None:
            place = places.take([each.name for each in next_.resources])
            heapq.heappush(running, (now + duration_s(next_), started, next_, place))
            started += 1
        now, _, ended, place = heapq.heappop(running)
        queue.release(claim_of(ended.resources))
        places.give_back(place)
    return now


def _resources(trials: Sequence[PlannedTrial], bindings: Bindings) -> tuple[PlannedResource, ...]:
    counts = Counter((each.name, each.mode) for trial in trials for each in trial.resources)
    return tuple(
        PlannedResource(
            name=name,
            shared=counts[name, "shared"],
            exclusive=counts[name, "exclusive"],
            bound_to=tuple(sorted(bindings.labels_of([name]))),
        )
        for name in sorted({name for name, _ in counts})
    )


def _mean_s(run: RunView | None) -> float | None:
    took = (
        [r.timings_s["total"] for r in run.results.values() if "total" in r.timings_s]
        if run
        else []
    )
    return sum(took) / len(took) if took else None
