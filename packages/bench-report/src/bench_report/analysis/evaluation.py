"""How trials were evaluated: by which method, how surely, and the decisions of query and judge apart.

Each check of a result states what decided it (`decided_by`). `details` contain `ground_truth` if a
person or a known answer decides the truth; people's notes in the run folder override it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, get_args

from pydantic import JsonValue

from bench_core.errors import NotEstimableError
from bench_core.records import OUTCOME_LABELS, Check, Note, TrialKey, TrialResult
from bench_core.records.vocabulary import VerdictKind
from bench_core.statistics import (
    CorrectedRate,
    accuracy,
    calibration,
    corrected_rate,
    fisher_exact,
    success_rate_interval,
)
from bench_report.model import JudgeAudit, JudgedKind, MethodRow, ReadRate
from bench_report.run_data.sources import Source

HIGH_CONFIDENCE = 0.85
"""From this confidence on an evaluation counts as of high confidence."""
LOW_CONFIDENCE = 0.6
"""Below this one it counts as of low confidence."""

_LEVELS = ("high", "medium", "low", "unstated")
_OUTCOMES = {"pass": True, "fail": False}
_BY_JUDGE = frozenset({"judge", "both"})
_BY_NO_RULE = frozenset({"judge", None})
_EXAMPLES = 20
_UNLIKELY = 0.05
_EXACT_UP_TO = 2_000
"""Trials up to which the choice of labelled ones is tested exactly; the effort grows with their square."""


class _Decisions(NamedTuple):
    """The decisions about a trial that its record contains."""

    result: TrialResult
    query: bool | None
    judge: bool | None
    outcome: str | None
    kind: VerdictKind | None
    truth: bool | None


def _stated_level(details: Mapping[str, JsonValue]) -> str | None:
    """Return the level of confidence that details state as a word, if they do."""
    stated = details.get("confidence_level", details.get("confidence"))
    return stated.lower() if isinstance(stated, str) and stated.lower() in _LEVELS else None


def _level(stated: str | None, confidence: float | None) -> str:
    if stated is not None:
        return stated
    if confidence is None:
        return "unstated"
    if confidence >= HIGH_CONFIDENCE:
        return "high"
    return "low" if confidence < LOW_CONFIDENCE else "medium"


def methods_of(results: Iterable[TrialResult]) -> tuple[MethodRow, ...]:
    """Return, for each method of evaluation, how often it decided and how surely."""
    # Counted first: even of 100,000 trials few are evaluated differently.
    alike = Counter(
        (each.method, each.success, each.confidence, _stated_level(each.details))
        for each in results
        if each.score is not None
    )
    seen = Counter[tuple[str, bool, str, float | None]]()
    for (method, success, confidence, stated), number in alike.items():
        key = (method or "not stated", bool(success), _level(stated, confidence), confidence)
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
    """Compare query and judge with each other and with the known truth; `None` without a judge."""
    # Most runs: then nothing is sorted or read.
    if not any(c.decided_by in _BY_JUDGE for result in run.results for c in result.checks):
        return None
    noted, _ = noted_outcomes(run)
    read = [_decisions_of(result, noted) for result in run.results]
    if not any(each.outcome for each in read):
        return None
    both = [each for each in read if each.query is not None and each.judge is not None]
    agreement = Counter((each.query, each.judge) for each in both)
    truth = {each.result.key: each.truth for each in read if each.truth is not None}
    lifted = [e for e in read if e.query is False and e.judge and e.result.success]
    return JudgeAudit(
        outcomes=dict(Counter(e.outcome for e in read if e.outcome).most_common()),
        kinds=_by_kind(read),
        query_only=read_rate(run, ((e.result.task_id, e.query) for e in read), level),
        judge_only=read_rate(run, ((e.result.task_id, e.judge) for e in read), level),
        combined=read_rate(run, ((e.result.task_id, e.result.success) for e in read), level),
        both_pass=agreement[True, True],
        only_query=agreement[True, False],
        only_judge=agreement[False, True],
        both_fail=agreement[False, False],
        lifted=len(lifted),
        lifted_trials=tuple(each.result.key for each in lifted[:_EXAMPLES]),
        known=len(truth),
        **_against_truth(read, level, correct if noted else corrected_rate),
    )


def read_rate(run: Source, outcomes: Iterable[tuple[str, bool | None]], level: float) -> ReadRate:
    """Put an interval on outcomes by task id; those that are unknown are left out."""
    scores: dict[str, list[float]] = {}
    for task_id, success in outcomes:
        if success is not None:
            scores.setdefault(task_id, []).append(float(success))
    trials = sum(map(len, scores.values()))
    clusters = {task.task_id: task.template for task in run.tasks if task.template}
    try:
        found = success_rate_interval(scores, clusters=clusters, level=level)
    except NotEstimableError as error:
        return ReadRate(tasks=len(scores), trials=trials, refused=str(error))
    return ReadRate(tasks=len(scores), trials=trials, interval=found)


def noted_outcomes(run: Source) -> tuple[dict[TrialKey, bool], int]:
    """Return people's labels of outcomes, and the number of trials left out as people disagree on them."""
    current = {each.key: each for each in run.results} if run.notes else {}
    found: dict[TrialKey, set[bool]] = {}
    for note in run.notes:
        of_trial = note.step is None and note.check is None and note.key in current
        if of_trial and note.label in OUTCOME_LABELS and not of_earlier(note, current[note.key]):
            found.setdefault(note.key, set()).add(OUTCOME_LABELS[note.label])
    agreed = {key: next(iter(said)) for key, said in found.items() if len(said) == 1}
    return agreed, len(found) - len(agreed)


def of_earlier(note: Note, result: TrialResult) -> bool:
    """Return whether a note is of a result that this one has replaced."""
    return note.result not in {None, result.sequence}


def correct(
    reported: Mapping[TrialKey, bool], truth: Mapping[TrialKey, bool], *, level: float
) -> CorrectedRate:
    """Correct a rate by the trials whose truth is known.

    Raises:
        NotEstimableError: Nothing is known of passed or of failed trials, or they were chosen by the outcome.
    """
    known = Counter(reported[key] for key in truth if key in reported)
    every = Counter(reported.values())
    if not all(known[outcome] for outcome in every) or _chance(known, every) < _UNLIKELY:
        raise NotEstimableError(
            f"the truth is known of {known[True]} of {every[True]} passed and {known[False]} of {every[False]} "
            f"failed trials, which is no random choice of trials: label some of both, chosen at random"
        )
    return corrected_rate(reported, truth, level=level)


def _chance(known: Mapping[bool, int], every: Mapping[bool, int]) -> float:
    """Return how likely a random choice of the known trials differs as much between passed and failed ones."""
    passed, failed = every.get(True, 0), every.get(False, 0)
    if not passed or not failed:
        return 1.0
    if passed + failed <= _EXACT_UP_TO:
        return fisher_exact(known[True], passed, known[False], failed)
    share = (known[True] + known[False]) / (passed + failed)
    spread = math.sqrt(share * (1 - share) * (1 / passed + 1 / failed)) or 1.0
    return math.erfc(abs(known[True] / passed - known[False] / failed) / spread / math.sqrt(2))


def _decisions_of(result: TrialResult, noted: Mapping[TrialKey, bool]) -> _Decisions:
    # without a judge's check the score is the rules' own
    judged = [each for each in result.checks if each.decided_by in _BY_JUDGE]
    ruled = [each.passed for each in result.checks if each.decided_by not in _BY_NO_RULE]
    outcome = None
    if judged:
        undecided = "error" if "judge_error" in result.flags else "abstain"
        passed = _all_passed([each.passed for each in judged])
        outcome = undecided if passed is None else "pass" if passed else "fail"
    truth = noted.get(result.key, result.details.get("ground_truth"))
    return _Decisions(
        result,
        _all_passed(ruled) if judged else result.success,
        _OUTCOMES.get(outcome) if outcome else None,
        outcome,
        _kind_of(judged, outcome),
        truth if isinstance(truth, bool) else None,  # only a yes or no is a truth
    )


def _kind_of(judged: Sequence[Check], outcome: str | None) -> VerdictKind | None:
    """Return the basis of a judge's outcome: a pass's weakest check, or a fail's strongest failed one."""
    if outcome not in _OUTCOMES:
        return None if outcome is None or all(each.kind is None for each in judged) else "unknown"
    passed = _OUTCOMES[outcome]
    kinds = [each.kind for each in judged if each.passed is passed and each.kind]
    return (max if passed else min)(kinds, key=get_args(VerdictKind).index, default=None)


def _by_kind(read: Sequence[_Decisions]) -> tuple[JudgedKind, ...]:
    """Count a judge's decisions by their basis, and its errors on trials whose truth is known."""
    seen = Counter((e.kind, e.judge, e.truth) for e in read if e.kind and e.outcome != "error")

    def count(
        kind: VerdictKind, judged: Sequence[bool | None], truth: Sequence[bool | None]
    ) -> int:
        return sum(seen[kind, one, true] for one in judged for true in truth)

    every = (True, False, None)
    return tuple(
        JudgedKind(
            kind=kind,
            passed=count(kind, [True], every),
            failed=count(kind, [False], every),
            undecided=count(kind, [None], every),
            wrong_passed=count(kind, [True], [False]),
            right_refused=count(kind, [False, None], [True]),
            known=count(kind, every, [True, False]),
        )
        for kind in get_args(VerdictKind)
        if any(each == kind for each, *_ in seen)
    )


def _all_passed(passed: Sequence[bool | None]) -> bool | None:
    """Return whether all passed; `None` without any, or if an unknown one decides."""
    if False in passed:
        return False
    return None if not passed or None in passed else True


def _against_truth(
    read: Sequence[_Decisions], level: float, correction: Callable[..., CorrectedRate]
) -> dict[str, object]:
    """Measure query, judge and reported outcome on the trials whose truth is known."""
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
        found["corrected"] = correction(reported, truth, level=level)
    except NotEstimableError as error:
        found["refused"] = str(error)
    return found
