"""Runs side by side: paired differences on the tasks they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import NotEstimableError
from bench_core.statistics import task_successes
from bench_core.statistics.clustering import reduce_tasks, task_mean
from bench_core.statistics.distributions import t_cdf
from bench_core.statistics.proportions import t_or_normal_quantile
from bench_report.model import Comparison, Difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench_report.sources import Source

__all__ = ["compare"]

LEVEL = 0.95
_Rates = dict[str, float]


def compare(runs: Sequence[Source], *, strict: bool = False) -> Comparison | None:
    """Pair every later run with the first one; `None` for a single run."""
    first, *others = runs
    if not others:
        return None
    baseline, rates = first.label, _rates(first, strict=strict)
    templates = {task.task_id: task.template for task in first.tasks if task.template}
    found = [
        _difference(run.label, baseline, _rates(run, strict=strict), rates, templates)
        if run.info.benchmark == first.info.benchmark
        else _unpaired(run.label, baseline)
        for run in others
    ]
    return Comparison(baseline=baseline, differences=tuple(_holm(found)))


def _rates(run: Source, *, strict: bool) -> _Rates:
    outcomes = task_successes(run.results, errors_as_failures=strict)
    return {key: sum(values) / len(values) for key, values in outcomes.items() if values}


def _unpaired(run: str, baseline: str) -> Difference:
    note = "runs of different benchmarks have no tasks in common"
    return Difference(run=run, baseline=baseline, shared_tasks=0, note=note)


def _difference(
    run: str,
    baseline: str,
    rates: _Rates,
    others: _Rates,
    templates: Mapping[str, str],
) -> Difference:
    """Put a cluster-robust t interval on the mean paired difference."""
    gains = {key: [rates[key] - others[key]] for key in rates if key in others}
    empty = Difference(run=run, baseline=baseline, shared_tasks=len(gains))
    try:
        mean = task_mean(reduce_tasks(gains, templates))
    except NotEstimableError:
        return empty.model_copy(update={"note": "the runs share no task with scores in both"})
    value = {"value": mean.estimate}
    if mean.clusters == 1:
        note = "one shared cluster says nothing about how others differ"
        return empty.model_copy(update=value | {"note": note})
    error = mean.variance_over_new_tasks() ** 0.5
    degrees = mean.clusters - 1
    if error == 0:
        note = "the difference is the same on every shared task, so there is no interval"
        return empty.model_copy(update=value | {"note": note})
    half = t_or_normal_quantile(LEVEL, degrees) * error
    tail = t_cdf(-abs(mean.estimate / error), degrees)
    return empty.model_copy(
        update=value
        | {
            "low": max(mean.estimate - half, -1.0),
            "high": min(mean.estimate + half, 1.0),
            "level": LEVEL,
            "p_value": min(2 * tail, 1.0),
            "method": f"paired t over {mean.clusters} clusters",
        }
    )


def _holm(differences: Sequence[Difference]) -> list[Difference]:
    """Adjust p-values for the number of runs compared (Holm 1979)."""
    tested = sorted(
        (each.p_value, place) for place, each in enumerate(differences) if each.p_value is not None
    )
    adjusted, floor = list(differences), 0.0
    for rank, (p_value, place) in enumerate(tested):
        floor = max(floor, min(p_value * (len(tested) - rank), 1.0))
        adjusted[place] = adjusted[place].model_copy(update={"adjusted_p_value": floor})
    return adjusted
