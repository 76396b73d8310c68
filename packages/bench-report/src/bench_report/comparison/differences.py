"""Runs side by side: paired differences on the tasks they share, as a whole, by slice and by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import NotEstimableError
from bench_core.statistics import compare as compare_scores
from bench_core.statistics import compare_tasks, difference_limits, holm
from bench_report.model import Difference, RunComparison, SliceDifference, TaskChange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from bench_core.statistics import Comparison as Compared
    from bench_report.comparison.baselines import ComparedRun

_Outcomes = dict[str, list[float]]
_Clusters = dict[str, str]


def compare(sides: Sequence[ComparedRun], *, strict: bool = False) -> RunComparison | None:
    """Pair every later side with the first one; `None` for a single one."""
    first, *others = sides
    if not others:
        return None
    found = [difference(each, first, strict=strict) for each in others]
    adjusted = _holm([each.p_value for each in found])
    return RunComparison(
        baseline=first.label,
        differences=tuple(
            each.model_copy(update={"adjusted_p_value": p})
            for each, p in zip(found, adjusted, strict=True)
        ),
    )


def difference(new: ComparedRun, baseline: ComparedRun, *, strict: bool = False) -> Difference:
    """Return how `new` differs from `baseline` on the tasks both have scores for."""
    empty = Difference(run=new.label, baseline=baseline.label, shared_tasks=0)
    if new.info.benchmark != baseline.info.benchmark:
        # Their task ids can be equal all the same: many benchmarks number their tasks.
        note = "runs of different benchmarks have no tasks in common"
        return empty.model_copy(update={"note": note})
    mine, theirs = new.successes(strict=strict), baseline.successes(strict=strict)
    clusters = baseline.templates | new.templates
    shared = [key for key in mine if mine[key] and theirs.get(key)]
    try:
        found = compare_scores(mine, theirs, clusters=clusters)
    except NotEstimableError as error:
        gains = [_mean(mine[key]) - _mean(theirs[key]) for key in shared]
        value = sum(gains) / len(gains) if gains else None
        note = str(error) if gains else "the runs share no task with scores in both"
        return empty.model_copy(update={"value": value, "shared_tasks": len(gains), "note": note})
    changed = [each for each in compare_tasks(mine, theirs) if each.new != each.baseline]
    changed.sort(key=lambda row: (row.q_value, -abs(row.new - row.baseline)))
    return empty.model_copy(
        update=_fields(found)
        | {
            "shared_tasks": len(shared),
            "same_tasks": difference_limits(mine, theirs),
            "slices": tuple(_slices(new, mine, theirs, clusters)),
            "tasks": tuple(
                TaskChange(
                    task_id=each.task,
                    new=each.new,
                    baseline=each.baseline,
                    p_value=each.p_value,
                    q_value=each.q_value,
                )
                for each in changed
            ),
        }
    )


def _fields(found: Compared) -> dict[str, object]:
    interval = found.difference
    over = (
        f" over {interval.clusters} clusters"
        if "paired t" in found.test
        else f", {interval.method}"
    )
    return {
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "p_value": found.p_value,
        "method": f"{found.test}{over}",
        "p_sign_flip": found.p_sign_flip,
        "p_same_tasks": found.p_same_tasks,
        "detectable": found.detectable,
        "better": found.better,
        "worse": found.worse,
        "equal": found.equal,
    }


def _slices(
    new: ComparedRun, mine: _Outcomes, theirs: _Outcomes, clusters: _Clusters
) -> Iterable[SliceDifference]:
    """Compare every value of every group, p-values adjusted by Holm over all of them."""
    found = [
        _slice(group, value, keys, (mine, theirs), clusters)
        for (group, value), keys in new.slices.items()
    ]
    found = [each for each in found if each.shared_tasks]
    adjusted = _holm([each.p_value for each in found])
    for each, p_value in zip(found, adjusted, strict=True):
        yield each.model_copy(update={"adjusted_p_value": p_value})


def _slice(
    group: str,
    value: str,
    keys: Collection[str],
    outcomes: tuple[_Outcomes, _Outcomes],
    clusters: _Clusters,
) -> SliceDifference:
    mine, theirs = ({key: each.get(key, []) for key in keys} for each in outcomes)
    shared = [key for key in keys if mine[key] and theirs[key]]
    part = SliceDifference(group=group, value=value, shared_tasks=len(shared))
    if not shared:
        return part
    rates = {
        "new": _mean([_mean(mine[key]) for key in shared]),
        "baseline": _mean([_mean(theirs[key]) for key in shared]),
    }
    try:
        found = compare_scores(mine, theirs, clusters=clusters)
    except NotEstimableError as error:
        return part.model_copy(update={**rates, "note": str(error)})
    ends = {"low": found.difference.low, "high": found.difference.high, "p_value": found.p_value}
    return part.model_copy(update=rates | ends)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values there are."""
    adjusted = iter(holm([each for each in p_values if each is not None]))
    return [None if each is None else next(adjusted) for each in p_values]
