"""How trials were evaluated: by which method, how surely, and what query and judge said apart.

A result that has both states them in its `details`: `query_passed` (true, false or null), `judge` (a
`Verdict`, or just its outcome) and, where a person or a known answer says what is so, `ground_truth`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from bench_core.errors import NotEstimableError
from bench_core.statistics import accuracy, calibration, corrected_rate, success_rate_interval
from bench_report.model import JudgeAudit, MethodRow, ReadRate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic import JsonValue

    from bench_core.records import TrialResult
    from bench_report.sources import Source

__all__ = ["SURE", "UNSURE", "audit_of", "level_of", "methods_of"]

SURE = 0.85
"""From this confidence on an evaluation counts as of high confidence."""
UNSURE = 0.6
"""Below this one it counts as of low confidence."""

_LEVELS = ("high", "medium", "low", "unstated")
_OUTCOMES = {"pass": True, "fail": False, "passed": True, "failed": False}
_QUERY = ("query_passed", "jmespath_passed", "query")
_JUDGE = ("judge", "verdict", "judge_verdict")
_JUDGED = frozenset(_JUDGE)
_TRUTH = ("ground_truth", "truth")
_EXAMPLES = 20


class _Read(NamedTuple):
    """What a trial's record says of its evaluation."""

    result: TrialResult
    query: bool | None
    judge: bool | None
    outcome: str | None
    truth: bool | None


def level_of(result: TrialResult) -> str:
    """Return `high`, `medium`, `low` or `unstated`: as the record says, else by its confidence."""
    return _level(_said(result.details), result.confidence)


def _said(details: Mapping[str, JsonValue]) -> str | None:
    """Return the level of confidence that details state as a word, if they do."""
    said = details.get("confidence_level", details.get("confidence"))
    return said.lower() if isinstance(said, str) and said.lower() in _LEVELS else None


def _level(said: str | None, confidence: float | None) -> str:
    if said is not None:
        return said
    if confidence is None:
        return "unstated"
    if confidence >= SURE:
        return "high"
    return "low" if confidence < UNSURE else "medium"


def methods_of(results: Iterable[TrialResult]) -> tuple[MethodRow, ...]:
    """Return, for each method of evaluation, how often it decided and how surely."""
    alike = Counter(
        (each.method, each.success, each.confidence, _said(each.details))
        for each in results
        if each.score is not None
    )
    seen = Counter[tuple[str, bool, str, float | None]]()
    for (method, success, confidence, said), number in alike.items():
        key = (method or "not stated", bool(success), _level(said, confidence), confidence)
        seen[key] += number
    rows = [_method(name, seen) for name in {name for name, *_ in seen}]
    return tuple(sorted(rows, key=lambda row: (-row.scored, row.method)))


def _method(method: str, seen: Mapping[tuple[str, bool, str, float | None], int]) -> MethodRow:
    own = {key: number for key, number in seen.items() if key[0] == method}
    levels, wins = Counter[str](), Counter[str]()
    passed, sure, stated = 0, 0.0, 0
    for (_, success, level, confidence), number in own.items():
        levels[level] += number
        wins[level] += number * success
        passed += number * success
        sure += number * (confidence or 0.0)
        stated += number * (confidence is not None)
    return MethodRow(
        method=method,
        scored=sum(own.values()),
        passed=passed,
        confidence={level: levels[level] for level in _LEVELS if levels[level]},
        confidence_of_passed={level: wins[level] for level in _LEVELS if wins[level]},
        mean_confidence=sure / stated if stated else None,
    )


def audit_of(run: Source, *, level: float = 0.95) -> JudgeAudit | None:
    """Hold query and judge against each other and against what is known; `None` without a judge."""
    if all(_JUDGED.isdisjoint(result.details) for result in run.view.latest):
        return None
    read = [_read(result) for result in run.results]
    if not any(each.outcome for each in read):
        return None
    both = [each for each in read if each.query is not None and each.judge is not None]
    agreement = Counter((each.query, each.judge) for each in both)
    truth = {each.result.key: each.truth for each in read if each.truth is not None}
    lifted = [e for e in read if e.query is False and e.judge and e.result.success]
    clusters = {task.task_id: task.template for task in run.tasks if task.template}
    rate = _rates(read, clusters, level)
    return JudgeAudit(
        outcomes=dict(Counter(e.outcome for e in read if e.outcome).most_common()),
        query_only=rate(lambda each: each.query),
        judge_only=rate(lambda each: each.judge),
        combined=rate(lambda each: each.result.success),
        both_pass=agreement[True, True],
        only_query=agreement[True, False],
        only_judge=agreement[False, True],
        both_fail=agreement[False, False],
        lifted=len(lifted),
        lifted_trials=tuple(each.result.key for each in lifted[:_EXAMPLES]),
        known=len(truth),
        **_against_truth(read, level),
    )


def _read(result: TrialResult) -> _Read:
    details = result.details
    judge = _first(details, _JUDGE)
    outcome = _outcome(judge)
    query = _verdict(_first(details, _QUERY))
    if query is None and not _says(details, _QUERY):
        # Where no judge took part, the score is the query's; where one did, the checks are.
        query = result.success if outcome is None else _of_checks(result)
    passed = _verdict(judge) if outcome is None else _OUTCOMES.get(outcome)
    return _Read(result, query, passed, outcome, _verdict(_first(details, _TRUTH)))


def _first(details: Mapping[str, JsonValue], names: Iterable[str]) -> JsonValue:
    return next((details[name] for name in names if details.get(name) is not None), None)


def _says(details: Mapping[str, JsonValue], names: Iterable[str]) -> bool:
    return any(name in details for name in names)


def _outcome(judge: JsonValue) -> str | None:
    """Return a judge's outcome in its own word."""
    if isinstance(judge, dict):
        judge = judge.get("outcome", judge.get("passed", judge.get("success")))
    if isinstance(judge, bool):
        return "pass" if judge else "fail"
    return judge[:40] if isinstance(judge, str) and judge else None


def _verdict(value: JsonValue) -> bool | None:
    """Read a yes or no from a boolean, a word or a record with one."""
    if isinstance(value, dict):
        value = value.get("passed", value.get("success", value.get("outcome")))
    if isinstance(value, str):
        return _OUTCOMES.get(value.lower())
    return value if isinstance(value, bool) else None


def _of_checks(result: TrialResult) -> bool | None:
    """Return whether all checks passed; `None` without any, or where one could not be decided."""
    passed = [check.passed for check in result.checks]
    return all(passed) if passed and None not in passed else None


def _rates(
    read: Sequence[_Read], clusters: Mapping[str, str], level: float
) -> Callable[[Callable[[_Read], bool | None]], ReadRate]:
    """Return a function that puts an interval on one reading of all trials."""

    def rate(reading: Callable[[_Read], bool | None]) -> ReadRate:
        scores: dict[str, list[float]] = {}
        for each in read:
            value = reading(each)
            if value is not None:
                scores.setdefault(each.result.task_id, []).append(float(value))
        trials = sum(map(len, scores.values()))
        try:
            found = success_rate_interval(scores, clusters=clusters, level=level)
        except NotEstimableError as error:
            return ReadRate(tasks=len(scores), trials=trials, refused=str(error))
        return ReadRate(tasks=len(scores), trials=trials, interval=found)

    return rate


def _against_truth(read: Sequence[_Read], level: float) -> dict[str, object]:
    """Measure query, judge and what was reported on the trials whose truth is known."""
    known = [each for each in read if each.truth is not None]
    if not known:
        reason = "no trial's truth is known, so the evaluation's own errors cannot be measured"
        return {"refused": reason}
    truth = {each.result.key: bool(each.truth) for each in known}
    reported = {e.result.key: e.result.success for e in read if e.result.success is not None}
    found: dict[str, object] = {}
    for name, verdicts in (
        ("query_accuracy", {e.result.key: e.query for e in known if e.query is not None}),
        ("judge_accuracy", {e.result.key: e.judge for e in known if e.judge is not None}),
    ):
        if verdicts:
            found[name] = accuracy(verdicts, truth, level=level)
    sure = [
        (each.result.confidence, each.result.success is each.truth)
        for each in known
        if each.result.confidence is not None and each.result.success is not None
    ]
    if len(sure) > 1:
        confidences, right = [each for each, _ in sure], [each for _, each in sure]
        found["calibration"] = calibration(confidences, right, level=level)
    try:
        found["corrected"] = corrected_rate(reported, truth, level=level)
    except NotEstimableError as error:
        found["refused"] = str(error)
    return found
