"""Tasks with their trials' outcomes, and the rates of any part of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from bench_core.errors import UnknownTaskError
from bench_core.records import SUCCESS_SCORE, Status, Task
from bench_core.statistics.clustering import (
    TaskMean,
    WeightedMean,
    macro_mean,
    reduce_tasks,
    task_mean,
)
from bench_core.statistics.counts import ordered
from bench_core.statistics.intervals import Estimand, Interval, or_reason
from bench_core.statistics.rates import interval_of
from bench_core.statistics.scores import EndedTrials
from bench_core.statistics.summary_records import Bounds, Coverage, Rate, Slice


class Entry(NamedTuple):
    """A planned task with its trials' outcomes."""

    task: Task
    trials: int
    scores: list[float]
    results: int
    success: TaskMean | None
    score: TaskMean | None
    excluded: Counter[Status]

    @property
    def key(self) -> tuple[str, str]:
        """Names the task among tasks of any benchmark."""
        return self.task.benchmark, self.task.task_id


def entries_of(
    tasks: Iterable[Task],
    results: EndedTrials,
    trials: int,
) -> list[Entry]:
    """Join planned tasks, of `trials` trials each, with their results.

    Raises:
        UnknownTaskError: A result is of a task that was not planned.
    """
    planned = {(task.benchmark, task.task_id): task for task in tasks}
    by_task: dict[tuple[str, str], list[tuple[float | None, Status]]]
    by_task = {key: [] for key in planned}
    keys = zip(results.column("benchmark"), results.column("task_id"), strict=True)
    outcomes = zip(results.column("score"), results.column("status"), strict=True)
    for key, outcome in zip(keys, outcomes, strict=True):
        found = by_task.get(key)
        if found is None:
            raise UnknownTaskError(*key)
        found.append(outcome)
    return [_entry(task, by_task[key], trials) for key, task in planned.items()]


def strict_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Count every ended trial without a score as a failure."""
    return [_with_failures(entry) if entry.excluded else entry for entry in entries]


def bounds_of(entries: Iterable[Entry]) -> Bounds | None:
    """Return the bounds that trials without a score leave; `None` if nothing was planned."""
    planned = [entry for entry in entries if entry.trials]
    if not planned:
        return None
    won = [
        sum(score >= SUCCESS_SCORE for score in entry.scores) / entry.trials for entry in planned
    ]
    unknown = fmean(1.0 - len(entry.scores) / entry.trials for entry in planned)
    proven = fmean(won)
    return Bounds(proven=proven, not_disproven=min(1.0, proven + unknown), unknown=unknown)


def slice_of(name: str, entries: Sequence[Entry], level: float) -> Slice:
    """Return the numbers of some tasks."""
    excluded: Counter[Status] = Counter()
    for entry in entries:
        excluded.update(entry.excluded)
    planned = sum(entry.trials for entry in entries)
    ended = sum(entry.results for entry in entries)
    return Slice(
        name=name,
        coverage=Coverage(
            tasks=len(entries),
            tasks_scored=sum(entry.success is not None for entry in entries),
            trials=planned,
            results=ended,
            scored=ended - excluded.total(),
            missing=max(0, planned - ended),
        ),
        success=success_rate(entries, level),
        score=None
        if all(entry.score is entry.success for entry in entries)
        else _rate([entry.score for entry in entries if entry.score], level),
        macro_average=macro_rate(entries, level),
        excluded=ordered(excluded),
    )


def success_rate(entries: Iterable[Entry], level: float) -> Rate:
    """Return the share of successes, tasks weighing alike."""
    return _rate([entry.success for entry in entries if entry.success], level)


def macro_rate(entries: Sequence[Entry], level: float, *, of_scores: bool = False) -> Rate | None:
    """Return the macro average over templates; `None` if there are none or it adds nothing."""
    if all(entry.task.template is None for entry in entries):
        return None
    if of_scores and all(entry.score is entry.success for entry in entries):
        return None
    means = [entry.score if of_scores else entry.success for entry in entries]
    return _rate([mean for mean in means if mean], level, macro_mean)


def group_slices(entries: Iterable[Entry], level: float) -> dict[str, tuple[Slice, ...]]:
    """Return the slices of every group, one of those that part the tasks alike; a task of two sites is in both."""
    members: defaultdict[str, defaultdict[str, list[Entry]]]
    members = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        for group, values in entry.task.groups.items():
            for value in dict.fromkeys(values):
                members[group][value].append(entry)
    kept: dict[frozenset[frozenset[tuple[str, str]]], str] = {}
    for group, named in sorted(members.items()):
        parts = frozenset(frozenset(entry.key for entry in each) for each in named.values())
        kept.setdefault(parts, group)
    return {
        group: tuple(slice_of(name, each, level) for name, each in sorted(members[group].items()))
        for group in kept.values()
    }


def template_slices(entries: Iterable[Entry], level: float) -> tuple[Slice, ...]:
    """Return a slice per template, in which every task is its own cluster."""
    members: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.task.template is not None:
            members[entry.task.template].append(_on_its_own(entry))
    return tuple(
        slice_of(name, members[name], level).model_copy(update={"macro_average": None})
        for name in sorted(members)
    )


def _entry(task: Task, results: Sequence[tuple[float | None, Status]], trials: int) -> Entry:
    scores = [score for score, _ in results if score is not None]
    excluded = Counter(status for score, status in results if score is None)
    success, score = _means(task, scores)
    return Entry(task, trials, scores, len(results), success, score, excluded)


def _with_failures(entry: Entry) -> Entry:
    scores = [*entry.scores, *[0.0] * sum(entry.excluded.values())]
    success, score = _means(entry.task, scores)
    return entry._replace(scores=scores, success=success, score=score)


def _means(task: Task, scores: list[float]) -> tuple[TaskMean | None, TaskMean | None]:
    """Reduce outcomes and scores; the same object twice if they do not differ."""
    cluster = {task.task_id: task.template} if task.template is not None else None
    successes = [float(score >= SUCCESS_SCORE) for score in scores]
    success = next(iter(reduce_tasks({task.task_id: successes}, cluster)), None)
    if successes == scores:
        return success, success
    return success, next(iter(reduce_tasks({task.task_id: scores}, cluster)), None)


def _rate(
    tasks: Sequence[TaskMean],
    level: float,
    average: Callable[[Sequence[TaskMean]], WeightedMean] = task_mean,
) -> Rate:
    if not tasks:
        reason = "no trial was scored"
        refused: dict[Estimand, str] = {"new_tasks": reason, "same_tasks": reason}
        return Rate(estimate=None, tasks=0, trials=0, clusters=0, refused=refused)
    mean, refused = average(tasks), {}

    def interval(estimand: Estimand) -> Interval | None:
        make = partial(interval_of, mean, estimand=estimand, level=level)
        return or_reason(make, estimand, refused)

    return Rate(
        estimate=mean.estimate,
        tasks=len(mean.tasks),
        trials=mean.trials,
        clusters=mean.clusters,
        new_tasks=interval("new_tasks"),
        same_tasks=interval("same_tasks"),
        refused=refused,
    )


def _on_its_own(entry: Entry) -> Entry:
    """Let the task be its own cluster: within one template, tasks are the units that vary."""
    success = entry.success and entry.success._replace(cluster=entry.task.task_id)
    if entry.score is entry.success:
        return entry._replace(success=success, score=success)
    score = entry.score and entry.score._replace(cluster=entry.task.task_id)
    return entry._replace(success=success, score=score)
