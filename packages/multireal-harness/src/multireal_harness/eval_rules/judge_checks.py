"""A judge's verdicts as checks, beside those of queries and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.records import Check

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import JsonValue

    from bench_core.records.judge import CriterionVerdict, Verdict
    from multireal_harness.definitions import Eval
    from multireal_harness.eval_rules.decisions import Judgement

__all__ = ["criterion_id", "graded_check", "outcome_of", "reason_of", "with_judgement"]

_PASSED = {"pass": True, "fail": False}


def criterion_id(index: int) -> str:
    """Return the id of a criterion in a judge's case by its number, from 0."""
    return f"e{index}"


def outcome_of(verdict: Verdict | None) -> Judgement:
    """Return a judge's outcome in the terms of `hybrid`."""
    if verdict is None:
        return "not asked"
    return "abstain" if verdict.outcome == "void" else verdict.outcome


def reason_of(verdict: Verdict) -> str | None:
    """Return a judge's reason for its decision, or for giving none."""
    return verdict.error.message if verdict.error else verdict.reasoning or None


def graded_check(one: Eval, answer: JsonValue, verdict: Verdict) -> Check:
    """Return the check of an eval for which the judge grades the agent's answer."""
    return Check(
        criterion=one.criterion,
        expected=True,
        actual=answer,
        passed=verdict.passed,
        reason=reason_of(verdict),
        decided_by="judge",
    )


def with_judgement(checks: Sequence[Check], verdict: Verdict | None) -> tuple[Check, ...]:
    """Return the checks of the end states with the judge's verdicts on the same criteria.

    Where query and judge agree a check is decided by both; where they do not, the judge's own check of
    the criterion follows. A verdict whose criteria contradict its outcome is one check of its own.
    """
    if verdict is None:
        return tuple(checks)
    by_id = {each.criterion_id: each for each in verdict.criteria}
    judged = [by_id.get(criterion_id(index)) for index in range(len(checks))]
    together = _together(_PASSED.get(each.verdict) if each else None for each in judged)
    if not any(judged) or together is not verdict.passed:
        return (*checks, _whole(verdict))
    return tuple(
        found
        for check, one in zip(checks, judged, strict=True)
        for found in _side_by_side(check, one)
    )


def _side_by_side(check: Check, verdict: CriterionVerdict | None) -> tuple[Check, ...]:
    if verdict is None:
        return (check,)
    passed = _PASSED.get(verdict.verdict)
    if passed is check.passed:
        reason = check.reason or verdict.reason or None
        return (check.model_copy(update={"decided_by": "both", "reason": reason}),)
    judged = Check(
        criterion=check.criterion, passed=passed, reason=verdict.reason or None, decided_by="judge"
    )
    return (check, judged)


def _whole(verdict: Verdict) -> Check:
    return Check(
        criterion="the task", passed=verdict.passed, reason=reason_of(verdict), decided_by="judge"
    )


def _together(passed: Iterable[bool | None]) -> bool | None:
    """Return False if any is False, else None if any is unknown, else True."""
    known = list(passed)
    return False if False in known else None if None in known else True
