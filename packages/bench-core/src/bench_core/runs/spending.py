"""What a run may spend, and has spent in the sessions before this one, as it writes it down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.budgets import Budget, Spent
from bench_core.records import TrialKey

if TYPE_CHECKING:
    from bench_core.run_folder.folder import RunFolder, RunView


def note_budget(folder: RunFolder, budget: Budget) -> None:
    """Write down what the run may spend from now on, for those who watch it; nothing without limits."""
    if budget != Budget():
        folder.note("budget", budget.model_dump(mode="json", exclude_none=True))


def spent_before(run: RunView) -> Spent:
    """Return the model calls and the time of all sessions so far.

    Of each trial the larger counts: the calls in its events, one each, or what the attempts in
    its result cost. Events know of calls whose trial never got a result, results of calls whose event
    a failing disk did not take. A session that was killed lasted until its last event.
    """
    trials: dict[TrialKey | None, Spent] = {}
    for event in run.events:
        if event.kind == "spend":
            amount = {name: value for name, value in event.data.items() if name != "source"}
            key = event.task_id and TrialKey(task_id=event.task_id, trial=event.trial or 1)
            trials[key or None] = trials.get(key or None, Spent()) + Spent.model_validate(amount)
    for key, result in run.results.items():
        calls = [one for attempt in result.attempts for one in attempt.spent if not one.reported]
        metered = sum((Spent.call(one.usage, one.cost_usd) for one in calls), Spent())
        if _size(metered) > _size(trials.get(key, Spent())):
            trials[key] = metered
    return sum(trials.values(), Spent(seconds=_seconds(run)))


def _size(spent: Spent) -> tuple[int, float]:
    """Return what two sums of the same calls are compared by; prices may be unknown to one."""
    return spent.usage.total_tokens, round(spent.cost_usd, 9)


def _seconds(run: RunView) -> float:
    sessions = run.info.sessions
    ends = [session.started for session in sessions[1:]]
    total = 0.0
    for session, next_start in zip(sessions, [*ends, None], strict=True):
        began = session.started
        dates = [
            e.time
            for e in run.events
            if began <= e.time and not (next_start and e.time >= next_start)
        ]
        # A killed session never wrote its end.
        end = session.finished or max(dates, default=began)
        total += max(0.0, (end - session.started).total_seconds())
    return total
