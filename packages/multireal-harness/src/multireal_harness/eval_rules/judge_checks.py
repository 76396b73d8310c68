"""A judge's verdicts as checks, in addition to those of queries and scripts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from bench_core.records import Check
from bench_core.records.judge import Verdict
from multireal_harness.definitions import Eval
from multireal_harness.eval_rules.decisions import Judgement

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
        kind=verdict.kind,
    )


def with_judgement(checks: Sequence[Check], verdict: Verdict | None) -> tuple[Check, ...]:
    """Return the checks of the end states with the judge's verdicts on the same criteria.

    If query and judge agree, a check is decided by both; if not, the judge's own check of
    the criterion follows. A verdict whose criteria contradict its outcome is one check of its own.
    """
    if verdict is None:
        return tuple(checks)
    by_id = {each.criterion_id: each for each in verdict.criteria}
    judged = [by_id.get(criterion_id(index)) for index in range(len(checks))]
    passed = [_PASSED.get(each.verdict) if each else None for each in judged]
    together = False if False in passed else None if None in passed else True
    if not any(judged) or together is not verdict.passed:
        why = reason_of(verdict)
        whole = {"criterion": "the task", "passed": verdict.passed, "reason": why}
        return (*checks, Check(**whole, decided_by="judge", kind=verdict.kind))
    found: list[Check] = []
    for check, one, result in zip(checks, judged, passed, strict=True):
        if one is not None and result is check.passed:
            reason = check.reason or one.reason or None
            found.append(
                check.model_copy(update={"decided_by": "both", "reason": reason, "kind": one.kind})
            )
            continue
        found.append(check)
        if one is not None:
            known = {"criterion": check.criterion, "passed": result, "reason": one.reason or None}
            found.append(Check(**known, decided_by="judge", kind=one.kind))
    return tuple(found)
