"""After which step of a trial the state passed, as `rescore --each-step` found it."""

from __future__ import annotations

from bench_report.model import PassedTrial, WhenPassed
from bench_report.run_data.sources import Source


def when_passed(run: Source) -> WhenPassed | None:
    """Return the trials that had a state that passes, and the steps after it; None if nothing is known."""
    known = [each for each in run.step_scores.values() if any(p is not None for p in each.passed)]
    if not known:
        return None
    results, found = {result.key: result for result in run.results}, []
    for scores in known:
        if scores.first is None:
            continue
        cost, share = results[scores.key].cost_usd, scores.share_after
        found.append(
            PassedTrial(
                trial=scores.key,
                success=results[scores.key].success,
                first=scores.steps[scores.first],
                steps_after=len(scores.steps) - 1 - scores.first,
                cost_after=None if cost is None or share is None else cost * share,
                undone=scores.undone,
            )
        )
    found.sort(key=lambda each: (not each.undone, -each.steps_after))
    rules = tuple(sorted({each.rules for each in known}))
    return WhenPassed(known=len(known), rules=rules, trials=tuple(found))
