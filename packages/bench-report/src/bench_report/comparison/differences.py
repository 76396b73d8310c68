"""Runs side by side: paired differences on the tasks they share, as a whole, by slice and by task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from bench_core.errors import NotEstimableError
from bench_core.statistics import Comparison as Compared
from bench_core.statistics import compare as compare_scores
from bench_core.statistics import compare_tasks, difference_limits
from bench_report.comparison.baselines import ComparedRun, damage_of
from bench_report.model import Difference, RunComparison, SliceDifference, TaskChange

_Outcomes = dict[str, list[float]]
_Clusters = dict[str, str]


def compare(sides: Sequence[ComparedRun], *, strict: bool = False) -> RunComparison | None:
    """Pair every later side with the first one; `None` for a single one."""
    first, *others = sides
    if not others:
        return None
    found = (difference(each, first, strict=strict, together=len(others)) for each in others)
    return RunComparison(baseline=first.label, differences=tuple(found), damage=damage_of(sides))


def difference(
    new: ComparedRun,
    baseline: ComparedRun,
    *,
    strict: bool = False,
    together: int = 1,
    level: float = 0.95,
    of_scores: bool = False,
) -> Difference:
    """Return how `new` differs from `baseline` on the tasks both have scores for.

    Args:
        new: The run that the difference is about.
        baseline: The run compared with.
        strict: Let trials without a score enter as failures.
        together: How many runs are compared with it, this one among them.
        level: Nominal confidence.
        of_scores: Compare mean scores instead of success rates; facts about outcomes alone are omitted.
    """
    empty = Difference(
        run=new.label,
        baseline=baseline.label,
        shared_tasks=0,
        level=level,
        timing=_apart(new, baseline),
    )
    if new.info.benchmark != baseline.info.benchmark:
        # Their task ids can be equal all the same: many benchmarks number their tasks.
        note = "runs of different benchmarks have no tasks in common"
        return empty.model_copy(update={"note": note})
    mine, theirs = (
        {
            key: [score for score in scores if score is not None]
            for key, scores in side.scores.items()
        }
        if of_scores
        else side.successes(strict=strict)
        for side in (new, baseline)
    )
    clusters = baseline.templates | new.templates
    shared = [key for key in mine if mine[key] and theirs.get(key)]
    try:
        found = compare_scores(mine, theirs, clusters=clusters, together=together, level=level)
    except NotEstimableError as error:
        gains = [_mean(mine[key]) - _mean(theirs[key]) for key in shared]
        value = sum(gains) / len(gains) if gains else None
        note = str(error) if gains else "the runs share no task with scores in both"
        return empty.model_copy(update={"value": value, "shared_tasks": len(gains), "note": note})
    if of_scores:
        return empty.model_copy(update=_fields(found) | {"shared_tasks": len(shared)})
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
        "level": interval.level,
        **_errors(found),
        "method": f"{found.test}{over}",
        "p_sign_flip": found.p_sign_flip,
        "p_same_tasks": found.p_same_tasks,
        "detectable": found.detectable,
        "better": found.better,
        "worse": found.worse,
        "equal": found.equal,
        "left_out": found.only_new + found.only_baseline,
    }


def _apart(new: ComparedRun, baseline: ComparedRun) -> str | None:
    """Warn if one provider answered both runs, one after the other."""
    first, second = sorted((new, baseline), key=lambda side: side.info.started)
    providers = {side.info.model.partition(":")[0] for side in (new, baseline) if side.info.model}
    ended = first.info.finished
    if len(providers) != 1 or not (new.info.model and baseline.info.model):
        return None
    if ended is None or ended >= second.info.started:
        return None
    return (
        f"{first.label} had ended ({ended:%Y-%m-%d %H:%M}) when {second.label} began "
        f"({second.info.started:%Y-%m-%d %H:%M}), with models of one provider: a bad hour of one of them, or a model "
        "changed behind its name, looks like a difference between the agents, in 22 to 42% of comparisons if runs "
        "differ by chance by as much as a third of a logit. Run both at the same time, in turns"
    )


def _errors(found: Compared) -> dict[str, float | None]:
    """Return intervals and p-values, of a comparison alone and of all together."""
    return {
        "low": found.difference.low,
        "high": found.difference.high,
        "p_value": found.p_value,
        "joint_low": found.joint.low if found.joint else None,
        "joint_high": found.joint.high if found.joint else None,
        "adjusted_p_value": found.p_adjusted,
    }


def _slices(
    new: ComparedRun, mine: _Outcomes, theirs: _Outcomes, clusters: _Clusters
) -> Iterable[SliceDifference]:
    """Compare every value of every group, each set of tasks once, with errors for all of them together."""
    shared = {key for key in mine if mine[key] and theirs.get(key)}
    parts = distinct_slices(new.slices, shared)
    for names, keys in parts.items():
        (group, value), *also = names
        part = SliceDifference(
            group=group,
            value=value,
            also=tuple(f"{other} {its}" for other, its in also),
            shared_tasks=len(keys),
        )
        yield _compared(part, keys, (mine, theirs), clusters, len(parts))


def distinct_slices(
    slices: Mapping[tuple[str, str], Iterable[str]], shared: Collection[str]
) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Return the shared tasks of each slice, once for slices of the very same ones, by all their names.

    >>> distinct_slices({("app", "vlc"): ["a"], ("domain", "media"): ["a", "b"]}, {"a"})
    {(('app', 'vlc'), ('domain', 'media')): ['a']}
    """
    names: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for name, keys in slices.items():
        if both := tuple(key for key in keys if key in shared):
            names.setdefault(both, []).append(name)
    return {tuple(each): list(keys) for keys, each in names.items()}


def _compared(
    part: SliceDifference,
    keys: Sequence[str],
    outcomes: tuple[_Outcomes, _Outcomes],
    clusters: _Clusters,
    together: int,
) -> SliceDifference:
    mine, theirs = ({key: each[key] for key in keys} for each in outcomes)
    rates = {
        "new": _mean([_mean(mine[key]) for key in keys]),
        "baseline": _mean([_mean(theirs[key]) for key in keys]),
    }
    try:
        found = compare_scores(mine, theirs, clusters=clusters, together=together)
    except NotEstimableError as error:
        return part.model_copy(update={**rates, "note": str(error)})
    return part.model_copy(update=rates | _errors(found))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
