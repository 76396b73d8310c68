"""Check the evidence of an old verdict again, against a state and without a model."""

from __future__ import annotations

from typing import Any, Literal

from bench_core.records import Record
from bench_core.records.judge import Evidence, JudgeCase, Verdict
from llm_judge.evidence.quotations import agent_texts, check_evidence


class Recheck(Record):
    """One quotation, checked again."""

    criterion_id: str
    evidence: Evidence
    holds: bool | None


class Verification(Record):
    """Whether a verdict's quotations still hold.

    Attributes:
        outcome: `holds`: all evidence of its passes and fails is there; `broken`: some is not;
            `undecided`: the verdict was neither, or rests on pictures.
        checks: Every quotation.
    """

    schema_version: Literal[1] = 1
    case_id: str
    outcome: Literal["holds", "broken", "undecided"]
    checks: tuple[Recheck, ...] = ()


def verify(verdict: Verdict, state: Any, case: JudgeCase | None = None) -> Verification:
    """Check the evidence of `verdict` against `state`.

    Args:
        verdict: From `Judge`, perhaps long ago.
        state: The end state it is about.
        case: The case, if the state from before is stored apart.
    """
    initial = None if case is None else case.initial_state
    beside = None if case is None else agent_texts(case)
    checks = []
    for criterion in verdict.criteria:
        if criterion.verdict == "unknown":
            continue
        for each in criterion.evidence:
            found = check_evidence(state, each, pictures={}, initial=initial, beside=beside)
            holds = None if each.screenshot is not None else found.verified
            checks.append(Recheck(criterion_id=criterion.criterion_id, evidence=found, holds=holds))
    return Verification(
        case_id=verdict.case_id, outcome=_outcome(verdict, checks), checks=tuple(checks)
    )


def _outcome(verdict: Verdict, checks: list[Recheck]) -> Literal["holds", "broken", "undecided"]:
    if any(each.holds is False for each in checks):
        return "broken"
    if verdict.passed is None:
        return "undecided"
    deciding = [each.criterion_id for each in verdict.criteria if each.verdict == verdict.outcome]
    proven = {each.criterion_id for each in checks if each.holds}
    needed = set(deciding) if verdict.passed else set()
    some = bool(proven & set(deciding))
    return "holds" if some and needed <= proven else "undecided"
