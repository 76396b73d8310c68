"""From the results of a run to its numbers: rates with intervals, slices, exclusions, costs."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.records import SUCCESS_SCORE
from bench_core.statistics.costs import describe, duration_s, total_usage
from bench_core.statistics.counting import count
from bench_core.statistics.intervals import require_level
from bench_core.statistics.passes import pass_at_k_interval, pass_hat_k_interval
from bench_core.statistics.scores import identity_of, latest_results
from bench_core.statistics.slices import (
    entries_of,
    group_slices,
    macro_rate,
    slice_of,
    strict_entries,
    success_rate,
    template_slices,
)
from bench_core.statistics.summary_records import Exclusion, PassRate, Summary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from bench_core.records import Status, Task, TrialResult, Usage
    from bench_core.statistics.scores import Identity
    from bench_core.statistics.slices import Entry

__all__ = ["summarise"]

_EXAMPLES = 5
_PASS_KS = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)
_UNCLASSIFIED = "unclassified"


def summarise(  # noqa: PLR0913 - each keyword is one decision a report prints
    tasks: Iterable[Task],
    results: Iterable[TrialResult],
    *,
    level: float = 0.95,
    trials: int | None = None,
    count_errors_as_failures: bool = False,
    allow_mixed: Collection[Identity] = (),
) -> Summary:
    """Summarise the results of one configuration on its planned tasks.

    Args:
        tasks: The planned tasks (`tasks.jsonl`); they carry groups and templates.
        results: Trial results; the last one of a trial wins, as in a run folder.
        level: Nominal confidence of all intervals.
        trials: Planned trials per task; the largest trial number seen where absent.
        count_errors_as_failures: Let ended trials without a score enter as 0.
        allow_mixed: Which of benchmark, agent, model, world and profile may differ. Built-in and
            real worlds are never averaged otherwise.

    Raises:
        InputError: Results of different configurations are mixed.
        UnknownTaskError: A result is of a task that was not planned.

    >>> summarise([], []).success.refused["new_tasks"]
    'no trial was scored'
    """
    require_level(level)
    latest = latest_results(results)
    identity = identity_of(latest, allow_mixed=allow_mixed)
    per_task = max([trials or 1, *map(attrgetter("trial"), latest)])
    entries = entries_of(tasks, latest, per_task)
    strict = strict_entries(entries)
    if count_errors_as_failures:
        entries = strict
    whole = slice_of("all", entries, level)
    ended = _Columns.of(latest)
    return Summary(
        identity=identity,
        models_reported=tuple(sorted({each.model_reported for each in latest} - {None})),
        level=level,
        errors_count_as_failures=count_errors_as_failures,
        coverage=whole.coverage,
        success=whole.success,
        score=whole.score,
        strict=success_rate(strict, level),
        macro_average=whole.macro_average,
        macro_score=macro_rate(entries, level, of_scores=True),
        pass_rates=_pass_rates(entries, level),
        groups=group_slices(entries, level),
        templates=template_slices(entries, level),
        statuses=count(ended.status),
        exclusions=_exclusions([each for each in latest if each.score is None]),
        failure_modes=count(_failure_modes(ended)),
        methods=count(
            method
            for method, score in zip(ended.method, ended.score, strict=True)
            if method and score is not None
        ),
        flags=count(flag for flags in ended.flags for flag in flags),
        usage=total_usage(ended.usage),
        tokens=describe(usage.total_tokens or None for usage in ended.usage),
        cost_usd=describe(ended.cost_usd),
        time_s=describe(map(duration_s, ended.timings_s)),
        steps=describe(ended.steps),
    )


class _Columns(NamedTuple):
    """What is counted of results, field by field: each result is looked at once."""

    status: Sequence[Status] = ()
    score: Sequence[float | None] = ()
    success: Sequence[bool | None] = ()
    failure_mode: Sequence[str | None] = ()
    method: Sequence[str | None] = ()
    flags: Sequence[Sequence[str]] = ()
    usage: Sequence[Usage] = ()
    cost_usd: Sequence[float | None] = ()
    timings_s: Sequence[Mapping[str, float]] = ()
    steps: Sequence[int] = ()

    @classmethod
    def of(cls, results: Sequence[TrialResult]) -> _Columns:
        return cls(*zip(*map(attrgetter(*cls._fields), results), strict=True))


def _pass_rates(entries: Sequence[Entry], level: float) -> tuple[PassRate, ...]:
    outcomes = {entry.key: [score >= SUCCESS_SCORE for score in entry.scores] for entry in entries}
    clusters = {
        entry.key: entry.task.template for entry in entries if entry.task.template is not None
    }
    most = max(map(len, outcomes.values()), default=0)
    rates: list[PassRate] = []
    for k in (k for k in _PASS_KS if k <= most):
        try:
            at = pass_at_k_interval(outcomes, k, clusters=clusters, level=level)
            hat = pass_hat_k_interval(outcomes, k, clusters=clusters, level=level)
        except NotEstimableError:
            break
        rates.append(PassRate(k=k, pass_at_k=at, pass_hat_k=hat))
    return tuple(rates)


def _exclusions(results: Iterable[TrialResult]) -> tuple[Exclusion, ...]:
    reasons: defaultdict[tuple[Status, str | None], list[TrialResult]] = defaultdict(list)
    for result in results:
        reasons[result.status, result.error.kind if result.error else None].append(result)
    found = [
        Exclusion(
            status=status,
            kind=kind,
            count=len(excluded),
            message=excluded[0].error.message if excluded[0].error else None,
            examples=tuple(each.key for each in excluded[:_EXAMPLES]),
        )
        for (status, kind), excluded in reasons.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.count, each.status.value, each.kind or "")))


def _failure_modes(ended: _Columns) -> Iterator[str]:
    for mode, success in zip(ended.failure_mode, ended.success, strict=True):
        if success is False:
            yield mode or _UNCLASSIFIED
