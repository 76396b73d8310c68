"""Solved trials that their tasks' own checkers may have passed wrongly, told apart from the score."""

from __future__ import annotations

from collections import Counter

from bench_core.records import TrialResult
from bench_report.analysis.evaluation import read_rate
from bench_report.model import CheckerDoubts, DoubtedTrial
from bench_report.run_data.sources import Source
from bench_report.text.numbers import count, counted, percent
from bench_report.text.untrusted import clip

_MOST_LISTED = 1_000
_NAMED = 10


def checkers_of(run: Source, *, level: float = 0.95) -> CheckerDoubts | None:
    """Return the doubts about the solved trials; None if neither an audit nor a trial has any."""
    accepts = {task.task_id: task.accepts for task in run.tasks}
    solved = [each for each in run.results if each.success]
    found = [(each, _doubted(each, accepts.get(each.task_id))) for each in solved]
    if all(known is None for known in accepts.values()) and not any(d.acts for _, d in found):
        return None
    shown = [each for each in found if each[1].acts]
    possible = [each for each in found if each[1].accepts and not each[1].acts]

    def without(doubted: list[tuple[TrialResult, DoubtedTrial]]) -> list[tuple[str, bool | None]]:
        failed = {each.key for each, _ in doubted}
        return [(e.task_id, e.success and e.key not in failed) for e in run.results]

    return CheckerDoubts(
        solved=len(solved),
        shown=len(shown),
        possible=len(possible),
        unknown=sum(accepts.get(each.task_id) is None for each in solved),
        operators=dict(Counter(each for _, d in possible for each in d.accepts).most_common()),
        shown_as_failures=read_rate(run, without(shown), level) if shown else None,
        all_as_failures=read_rate(run, without([*shown, *possible]), level) if possible else None,
        listed=tuple(doubt for _, doubt in [*shown, *possible])[:_MOST_LISTED],
    )


def _doubted(result: TrialResult, accepts: tuple[str, ...] | None) -> DoubtedTrial:
    acts, watched = (_words(result, name) for name in ("unneeded_acts", "watched_for"))
    left = tuple(each for each in accepts or () if each not in watched)
    return DoubtedTrial(task_id=result.task_id, trial=result.trial, acts=acts, accepts=left)


def _words(result: TrialResult, name: str) -> tuple[str, ...]:
    found = result.details.get(name)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def doubt_words(doubt: DoubtedTrial) -> str:
    """Return why a trial is listed: `deleted: POST http://…`, or `its checker accepts nothing-done`."""
    return "; ".join(doubt.acts) or f"its checker accepts {', '.join(doubt.accepts)}"


def doubts_sentence(found: CheckerDoubts, rate: float | None) -> str | None:
    """Return how many solved trials a checker may have passed wrongly, and the rate if they had failed."""
    parts = []
    if found.shown:
        tasks = dict.fromkeys(clip(each.task_id, 40) for each in found.listed if each.acts)
        named = f"{', '.join(list(tasks)[:_NAMED])}{' and others' if len(tasks) > _NAMED else ''}"
        parts.append(
            f"{count(found.shown)} {'has' if found.shown == 1 else 'have'} an act that no right solution needs and "
            f"the checker does not see ({named})"
        )
    if found.possible:
        listed = ", ".join(f"{clip(name, 40)} ({count(n)})" for name, n in found.operators.items())
        parts.append(
            f"{count(found.possible)}{' more' if found.shown else ''} {'is' if found.possible == 1 else 'are'} of tasks "
            f"whose checker accepts a wrong end state that the trial's files do not rule out ({listed})"
        )
    if not parts:
        return None
    rates = [each.interval for each in (found.shown_as_failures, found.all_as_failures) if each]
    failed = " and ".join(percent(each.estimate) for each in rates if each)
    as_failures = (
        f" Counted as failures, the rate is {failed}, not {percent(rate)}." if failed else ""
    )
    unseen = (
        f" No one has looked at the checkers of {count(found.unknown)}." if found.unknown else ""
    )
    return (
        f"Of {counted(found.solved, 'solved trial')}, {', and '.join(parts)}.{as_failures}{unseen} "
        "Scores are the benchmark's own all the same."
    )
