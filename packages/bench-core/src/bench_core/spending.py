"""What a run has spent in the sessions before this one, from what it wrote down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.budgets import Spent

if TYPE_CHECKING:
    from datetime import datetime

    from bench_core.run_folder import RunView

__all__ = ["spent_before"]


def spent_before(run: RunView) -> Spent:
    """Return the model calls and the time of all sessions so far.

    Model calls come from the events, one each, because results that were replaced later have cost
    money, too. A session that was killed lasted until its last event.
    """
    spent = Spent(seconds=_seconds(run))
    for event in run.events:
        if event.kind == "spend":
            amount = {name: value for name, value in event.data.items() if name != "source"}
            spent += Spent.model_validate(amount)
    return spent


def _seconds(run: RunView) -> float:
    sessions = run.info.sessions
    ends = [session.started for session in sessions[1:]]
    total = 0.0
    for session, next_start in zip(sessions, [*ends, None], strict=True):
        end = session.finished or _last_event(run, session.started, next_start)
        total += max(0.0, (end - session.started).total_seconds())
    return total


def _last_event(run: RunView, start: datetime, before: datetime | None) -> datetime:
    times = [e.time for e in run.events if e.time >= start and (before is None or e.time < before)]
    return max(times, default=start)
