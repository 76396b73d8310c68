"""From the results of a run to its numbers: rates with intervals, slices, exclusions, costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from bench_core.errors import NotEstimableError
from bench_core.records import SUCCESS_SCORE, Status, Task, TrialKey, TrialResult, Usage
from bench_core.statistics.costs import describe
from bench_core.statistics.counts import count
from bench_core.statistics.intervals import require_level
from bench_core.statistics.pass_rates import mean_over_tasks, pass_at_k, pass_hat_k
from bench_core.statistics.scores import (
    EndedTrial,
    EndedTrials,
    Identity,
    ended_trials,
    identity_of,
)
from bench_core.statistics.slices import (
    Entry,
    bounds_of,
    entries_of,
    group_slices,
    macro_rate,
    slice_of,
    strict_entries,
    success_rate,
    template_slices,
)
from bench_core.statistics.summary_records import Exclusion, PassRate, Summary

_EXAMPLES = 5
_PASS_KS = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)
_UNCLASSIFIED = "unclassified"


def summarise(
    tasks: Iterable[Task],
    results: Iterable[TrialResult] | EndedTrials,
    *,
    level: float = 0.95,
    trials: int | None = None,
    count_errors_as_failures: bool = False,
    allow_mixed: Collection[Identity] = (),
) -> Summary:
    """Summarise the results of one configuration on its planned tasks.

    Args:
        tasks: The planned tasks (`tasks.jsonl`); they carry groups and templates.
        results: Trial results, or `ended_trials` of them; the last result of a trial wins, as
            in a run folder.
        level: Nominal confidence of all intervals.
        trials: Planned trials per task; by default the largest trial number seen.
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
    ended = ended_trials(results)
    identity = identity_of(ended, allow_mixed=allow_mixed)
    column = ended.column
    per_task = max(trials or 1, max(column("trial"), default=1))
    planned = list(tasks)
    entries = entries_of(planned, ended, per_task)
    bounds = bounds_of(entries)
    strict = strict_entries(entries)
    if count_errors_as_failures:
        entries = strict
    whole = slice_of("all", entries, level)
    clear = [place for place, found in enumerate(column("suspect")) if not found]
    unscored = [place for place, score in enumerate(column("score")) if score is None]
    return Summary(
        identity=identity,
        models_reported=tuple(sorted({*column("model_reported")} - {None})),
        level=level,
        errors_count_as_failures=count_errors_as_failures,
        coverage=whole.coverage,
        success=whole.success,
        score=whole.score,
        strict=success_rate(strict, level),
        bounds=bounds,
        macro_average=whole.macro_average,
        macro_score=macro_rate(entries, level, of_scores=True),
        without_suspects=success_rate(entries_of(planned, ended.taken(clear), per_task), level)
        if len(clear) < len(ended)
        else None,
        pass_rates=_pass_rates(entries, level),
        groups=group_slices(entries, level),
        templates=template_slices(entries, level),
        statuses=count(column("status")),
        exclusions=_exclusions(ended.taken(unscored)),
        failure_modes=count(
            mode or _UNCLASSIFIED
            for mode, success in zip(column("failure_mode"), column("success"), strict=True)
            if success is False
        ),
        methods=count(
            method
            for method, score in zip(column("method"), column("score"), strict=True)
            if method and score is not None
        ),
        flags=count(chain.from_iterable(column("flags"))),
        suspects=count(chain.from_iterable(column("suspect"))),
        usage=Usage(**{name: sum(column(name)) for name in Usage.model_fields}),
        tokens=describe(column("tokens")),
        cost_usd=describe(column("cost_usd")),
        time_s=describe(column("time_s")),
        steps=describe(column("steps")),
    )


def _pass_rates(entries: Sequence[Entry], level: float) -> tuple[PassRate, ...]:
    outcomes = {
        entry.key: (sum(score >= SUCCESS_SCORE for score in entry.scores), len(entry.scores))
        for entry in entries
    }
    clusters = {
        entry.key: entry.task.template for entry in entries if entry.task.template is not None
    }
    most = max((trials for _, trials in outcomes.values()), default=0)
    rates: list[PassRate] = []
    for k in (k for k in _PASS_KS if k <= most):
        try:
            at = mean_over_tasks(pass_at_k, outcomes, k, clusters, level)
            hat = mean_over_tasks(pass_hat_k, outcomes, k, clusters, level)
        except NotEstimableError:
            break
        rates.append(PassRate(k=k, pass_at_k=at, pass_hat_k=hat))
    return tuple(rates)


def _exclusions(results: Iterable[EndedTrial]) -> tuple[Exclusion, ...]:
    reasons: defaultdict[tuple[Status, str | None, str | None], list[EndedTrial]]
    reasons = defaultdict(list)
    for result in results:
        kind, fault = (result.error.kind, result.error.fault) if result.error else (None, None)
        reasons[result.status, kind, fault].append(result)
    found = [
        Exclusion(
            status=status,
            kind=kind,
            fault=fault,
            count=len(excluded),
            message=excluded[0].error.message if excluded[0].error else None,
            examples=tuple(
                TrialKey(task_id=each.task_id, trial=each.trial) for each in excluded[:_EXAMPLES]
            ),
        )
        for (status, kind, fault), excluded in reasons.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.count, each.status.value, each.kind or "")))
