"""Runs in progress as the served page shows them: progress, time left, failures, spending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.terminal import duration
from bench_report.html_page.table_data import trial_address
from bench_report.live.terminal_view import budget_words, damage_words, look_words
from bench_report.text.untrusted import inline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_report.live.progress import Snapshot

NO_INTERVAL = "No interval before the last trial: one that is looked at all the time does not hold."
_NAME = 200
_REASON = 300
_RUNNING = 8


def shown_progress(found: Snapshot, names: Sequence[str], run: int) -> dict[str, Any]:
    """Return the page's view of a run, all of it as text.

    Args:
        found: How far the run is.
        names: The ids of all runs of the page, as its links have them.
        run: Its place among them.
    """
    left = "unknown before the first trial has ended"
    if found.eta_s is not None:
        left = f"about {duration(found.eta_s)}"
    facts = [
        ["Trials", f"{found.ended:,} of {found.planned:,}"],
        ["Succeeded", f"{found.succeeded:,} of {found.scored:,} scored"],
        ["Time left", left],
        ["Running for", duration(found.elapsed_s)],
    ]
    if found.budget:
        facts.append(["Budget", "; ".join(budget_words(found.budget))])
    facts += [["Damage", inline(each, _REASON)] for each in damage_words(found)]
    failures = []
    for result in found.failures:
        why = (result.failure_mode or result.status.value).replace("_", " ")
        message = f": {result.error.message}" if result.error else ""
        failures.append(
            {
                "text": inline(f"{result.task_id} trial {result.trial}", _NAME),
                "why": inline(f"{why}{message}", _REASON),
                "scored": "no" if result.success is None else "yes",
                "href": trial_address(names, run, result.key),
            }
        )
    running = []
    for trial in found.in_flight[:_RUNNING]:
        again = f", attempt {trial.attempt}" if trial.attempt > 1 else ""
        running.append(inline(f"{trial.task_id} trial {trial.trial}{again}", _NAME))
    return {
        "title": inline(" · ".join(filter(None, (found.agent, found.model, found.run_id))), _NAME),
        "share": min(1.0, found.ended / found.planned) if found.planned else 1.0,
        "facts": facts,
        "interval": _interval(found),
        "failures": failures,
        "running": running,
        "more": max(0, len(found.in_flight) - _RUNNING),
    }


def _interval(found: Snapshot) -> str:
    """Return the only interval that may be read while the run goes on, or that there is none."""
    words = []
    if found.look:
        words.append(f"Latest: {look_words(found.look)}, valid at whatever look the run stops.")
    if found.to_look is not None:
        number = found.look.number + 1 if found.look else 1
        words.append(f"Look {number} comes after {found.to_look:,} more trials.")
    return " ".join(words) or NO_INTERVAL
