"""Score, method and confidence of a trial from queries, judge and state.

The documentation (`docs/multireal-confidence.md`) has the same table in words; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import NonNegativeFloat

from bench_core.records import Record, Status

Queries = Literal["pass", "fail"]
"""Whether every query of the task is satisfied."""

Judgement = Literal["not asked", "pass", "fail", "abstain", "error"]
"""The judge's outcome, if it was asked; `error` is a judge that could not answer."""

StateHealth = Literal["healthy", "suspect", "incomplete"]
"""Whether all apps gave a state, and whether the states look like those of this trial."""

Confidence = Literal["high", "medium", "low"]

CONFIDENCE: dict[Confidence, float] = {"high": 0.9, "medium": 0.6, "low": 0.3}
"""The number in a record for each level: an order, not a probability."""


class EvalDecision(Record):
    """The decision on a trial.

    Attributes:
        score: 1.0 or 0.0; None when it cannot be decided.
        error: The status of a trial without a score.
        method: The deciding evidence: `jmespath`, `llm_judge`, `hybrid` (both), `none`.
    """

    score: NonNegativeFloat | None
    error: Status | None = None
    method: Literal["jmespath", "llm_judge", "hybrid", "none"]
    confidence: Confidence
    flags: tuple[str, ...] = ()


def decide(
    queries: Queries, judgement: Judgement, state: StateHealth, *, defective: bool = False
) -> EvalDecision:
    """Return the decision from queries, judge and state.

    Args:
        queries: Whether every query is satisfied.
        judgement: The judge's outcome.
        state: Whether the end states are complete and this trial's.
        defective: Whether a query that matters here is known to be defective: one that failed, or any
            when all passed.

    >>> decide("fail", "pass", "healthy", defective=True).method
    'llm_judge'
    """
    if state == "incomplete":
        return EvalDecision(
            score=None,
            error=Status.ENVIRONMENT_ERROR,
            method="none",
            confidence="low",
            flags=("incomplete_state",),
        )
    # an incomplete state above is not a failure, although REAL's fork gives it reward 0
    found = _PASSED if queries == "pass" else _FAILED
    decision = found[judgement, defective]
    flags = (*decision.flags, *(("defective_queries",) if defective else ()))
    if state == "suspect":
        return decision.model_copy(update={"confidence": "low", "flags": (*flags, "suspect_state")})
    return decision.model_copy(update={"flags": flags})


def with_grades(
    decision: EvalDecision, grades: Sequence[Judgement], *, alone: bool
) -> EvalDecision:
    """Return the decision where the task also has the agent's answer graded.

    Args:
        decision: The decision from the end states.
        grades: The judge's grades of the answer; every one must be a pass.
        alone: Whether the task has no query or script.

    >>> with_grades(decide("pass", "not asked", "healthy"), ["fail"], alone=False).score
    0.0
    """
    if not grades or decision.error is Status.ENVIRONMENT_ERROR:
        return decision
    graded = decision.model_copy(
        update={
            "method": "llm_judge" if alone else "hybrid",
            "confidence": "low" if decision.confidence == "low" else "medium",
        }
    )
    if "fail" in grades:
        return graded.model_copy(update={"score": 0.0, "error": None})
    unknown = [_UNKNOWN[each] for each in grades if each in _UNKNOWN]
    # a failed query fails the task, whichever grade is missing
    if not unknown or graded.score == 0.0:
        return graded
    flags = tuple(dict.fromkeys([*graded.flags, *unknown]))
    return graded.model_copy(
        update={
            "score": None,
            "error": Status.EVALUATION_ERROR,
            "confidence": "low",
            "flags": flags,
        }
    )


def _decision(
    score: float | None,
    method: Literal["jmespath", "llm_judge", "hybrid"],
    confidence: Confidence,
    *flags: str,
) -> EvalDecision:
    error = Status.EVALUATION_ERROR if score is None else None
    return EvalDecision(score=score, error=error, method=method, confidence=confidence, flags=flags)


_UNKNOWN = {"abstain": "judge_abstained", "error": "judge_error"}

_PASSED: dict[tuple[Judgement, bool], EvalDecision] = {
    ("not asked", False): _decision(1.0, "jmespath", "high"),
    ("not asked", True): _decision(1.0, "jmespath", "medium"),
    ("pass", False): _decision(1.0, "hybrid", "high"),
    ("pass", True): _decision(1.0, "hybrid", "medium"),
    ("fail", False): _decision(1.0, "hybrid", "low", "disagree"),
    ("fail", True): _decision(1.0, "hybrid", "low", "disagree"),
    ("abstain", False): _decision(1.0, "jmespath", "high", "judge_abstained"),
    ("abstain", True): _decision(1.0, "jmespath", "medium", "judge_abstained"),
    ("error", False): _decision(1.0, "jmespath", "high", "judge_error"),
    ("error", True): _decision(1.0, "jmespath", "medium", "judge_error"),
}
"""Decisions where the queries pass: a judge that disagrees lowers the confidence alone."""

_FAILED: dict[tuple[Judgement, bool], EvalDecision] = {
    ("not asked", False): _decision(0.0, "jmespath", "medium"),
    ("not asked", True): _decision(0.0, "jmespath", "low"),
    ("pass", False): _decision(1.0, "llm_judge", "low", "disagree"),
    # a query that no correct run can satisfy says nothing against the judge
    ("pass", True): _decision(1.0, "llm_judge", "medium", "disagree"),
    ("fail", False): _decision(0.0, "hybrid", "high"),
    ("fail", True): _decision(0.0, "hybrid", "medium"),
    ("abstain", False): _decision(None, "hybrid", "low", "judge_abstained"),
    ("abstain", True): _decision(None, "hybrid", "low", "judge_abstained"),
    ("error", False): _decision(None, "hybrid", "low", "judge_error"),
    ("error", True): _decision(None, "hybrid", "low", "judge_error"),
}
"""Decisions where a query fails: the judge decides, and a judge that cannot leaves no score.

A judge that fails must not look like a failed task: the models that REAL's fork names are all retired.
"""
