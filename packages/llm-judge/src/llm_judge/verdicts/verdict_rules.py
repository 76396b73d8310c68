"""The rules that turn a model's answers into verdicts: what is not proven is unknown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bench_core.records.judge import Criterion, CriterionVerdict, Finding, Outcome, Vote
from llm_judge.evidence.judged_state import JudgedState
from llm_judge.evidence.planted_text import looks_planted
from llm_judge.evidence.proof import ProofChecker
from llm_judge.evidence.provenance import asks_about_text, provenance
from llm_judge.evidence.quotations import check_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench_core.records.judge import Evidence
    from llm_judge.prompts.answers import Answer
    from llm_judge.prompts.controls import ControlQuestion, Question

_SAYS_OTHERWISE = re.compile(
    r"\b(?:verdict|answer|overall|result)\b\W{0,3}\s*(?:is|=|:)?\W{0,3}\s*(pass|fail|unknown)\b",
    re.IGNORECASE,
)
_EVEN_ODDS = 0.5


@dataclass(frozen=True)
class EvidenceContext:
    """What answers are checked against: the state, the pictures, and what the agent typed."""

    state: Any
    goal: str
    pictures: Mapping[str, tuple[int, int]]
    typed: Sequence[str] = ()
    initial: Any = None
    apps: Sequence[str] = ()
    zone: str | None = None

    @cached_property
    def proof_checker(self) -> ProofChecker:
        """What checks whether evidence proves a criterion."""
        return ProofChecker(JudgedState(self.state, self.goal, self.initial, self.apps, self.zone))

    @property
    def pictures_prove(self) -> bool:
        """Whether pictures alone can prove something: only where there is nothing else."""
        return self.state is None and bool(self.pictures)


def decide_criterion(
    context: EvidenceContext, question: Question, answer: Answer, model: str
) -> CriterionVerdict:
    """Return what is proven about one criterion by one model's answer.

    A pass or fail stays what it is only if every quotation holds and at least one proves it.
    """
    criterion = question.criterion
    if criterion is None:
        raise ValueError(f"{question.name} is a control, not a criterion")
    checked = tuple(_checked(context, criterion, each.evidence()) for each in answer.evidence)
    reason = _doubt(context, criterion, answer, checked)
    return CriterionVerdict(
        criterion_id=criterion.id,
        reason=answer.reason,
        evidence=checked,
        verdict=answer.verdict if reason is None else "unknown",
        kind="unknown" if reason is not None or answer.verdict == "unknown" else "supported",
        votes=(
            Vote(
                model=model,
                verdict=answer.verdict,
                confidence=answer.confidence,
                reason=answer.reason,
            ),
        ),
        doubt=reason,
    )


def failed_controls(
    context: EvidenceContext, questions: Iterable[Question], answers: Mapping[str, Answer]
) -> tuple[Finding, ...]:
    """Return which questions with known answers a model answered wrongly or did not prove."""
    found = []
    for question in questions:
        control = question.control
        if control is None:
            continue
        answer = answers[question.name]
        wrong = answer.verdict == "fail" if control.holds else answer.verdict == "pass"
        if wrong:
            message = (
                f"the model answered {answer.verdict!r} to a question whose answer is known: "
                f"{control.text}"
            )
            found.append(Finding(code="control.wrong", message=message, severity="error"))
        elif control.holds and not _is_proven(context, control, answer):
            message = f"the model did not prove what the evidence shows: {control.text}"
            found.append(Finding(code="control.unproven", message=message))
    return tuple(found)


def pass_findings(
    context: EvidenceContext, criteria: Sequence[Criterion], verdicts: Sequence[CriterionVerdict]
) -> tuple[Finding, ...]:
    """Return findings on passes: what was left to the model, and quotations that all of them share."""
    found = []
    passed = [each for each in verdicts if each.verdict == "pass"]
    texts = {each.id: each.text for each in criteria}
    for each in passed:
        left = context.proof_checker.check(texts[each.criterion_id], each.evidence).unchecked
        if left:
            message = (
                f"{each.criterion_id}: left to the model, no rule can check it: {', '.join(left)}"
            )
            found.append(Finding(code="evidence.unchecked", message=message, severity="info"))
    quoted = {
        frozenset((one.pointer, one.quote, one.screenshot) for one in each.evidence)
        for each in passed
    }
    if len(passed) > 1 and len(quoted) == 1 and all(len(each.evidence) == 1 for each in passed):
        shared = passed[0].evidence[0]
        message = f"all {len(passed)} passes rest on the same quotation: {shared.pointer or shared.screenshot}"
        found.append(Finding(code="evidence.reused", message=message))
    return tuple(found)


def overall_outcome(
    criteria: Sequence[CriterionVerdict], controls: Iterable[Finding] = ()
) -> Outcome:
    """Return the overall outcome of one model's answers.

    A control answered wrongly makes it void, one not proven an abstention. Else any proven fail
    fails, and only when all criteria are proven it is a pass.

    >>> overall_outcome([])
    'abstain'
    """
    codes = {each.code for each in controls}
    # computed, never asked for: other validators kept `overall_pass` where a criterion had failed
    if "control.wrong" in codes:
        return "void"
    if codes:
        return "abstain"
    verdicts = {each.verdict for each in criteria}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "abstain"


def _checked(context: EvidenceContext, criterion: Criterion, evidence: Evidence) -> Evidence:
    asked = f"{context.goal}\n{criterion.text}"
    found = check_evidence(context.state, evidence, pictures=dict(context.pictures), asked=asked)
    whose = provenance(context.state, found, context.typed)
    return found.model_copy(update={"provenance": whose})


def _doubt(
    context: EvidenceContext, criterion: Criterion, answer: Answer, evidence: Sequence[Evidence]
) -> str | None:
    """Return why a pass or fail does not stand, `None` when it does."""
    if answer.verdict == "unknown":
        return None
    flaw = _flaw(answer, evidence)
    if flaw is not None:
        return flaw
    proving = [each for each in evidence if _may_prove(context, criterion, each)]
    if not proving:
        return _why_unproven(evidence)
    if answer.verdict == "fail" or all(each.screenshot is not None for each in proving):
        return None
    return context.proof_checker.check(criterion.text, proving).doubt


def _flaw(answer: Answer, evidence: Sequence[Evidence]) -> str | None:
    """Return what is wrong with an answer, whatever was asked."""
    if not answer.reason.strip():
        return "no reason was given"
    stated = {each.lower() for each in _SAYS_OTHERWISE.findall(answer.reason)}
    if stated - {answer.verdict}:
        return f"the reason says {sorted(stated)}, the verdict {answer.verdict!r}"
    if answer.confidence < _EVEN_ODDS:
        return f"stated with a confidence of {answer.confidence:g}"
    # all must hold: else an invented quotation could hide among genuine ones
    false = next((each for each in evidence if each.verified is False), None)
    if false is not None:
        return f"evidence that does not hold: {false.pointer or false.screenshot}: {false.status}"
    return None


def _may_prove(context: EvidenceContext, criterion: Criterion, evidence: Evidence) -> bool:
    if evidence.screenshot is not None:
        # no check here reads pixels, so a picture never outweighs a state
        return context.pictures_prove and evidence.verified is None
    if not evidence.verified:
        return False
    if evidence.kind == "absent":
        return True
    if looks_planted(evidence.quote or "") is not None:
        return False  # an obedient model quotes the very text that gives it orders
    if evidence.provenance == "agent_text" and not asks_about_text(criterion.text):
        return context.proof_checker.judged.is_main_text(evidence.pointer or "")
    return True


def _why_unproven(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return "no evidence was given"
    if any(looks_planted(each.quote or "") for each in evidence):
        return "the only evidence is planted text"
    if any(each.provenance == "agent_text" for each in evidence):
        return "the only evidence is text that the agent may have written"
    if all(each.screenshot for each in evidence):
        return "the only evidence is a picture, which cannot be checked"
    return "the evidence does not prove what was asked"


def _is_proven(context: EvidenceContext, control: ControlQuestion, answer: Answer) -> bool:
    """Whether a true control is passed with the value it asks about, whoever wrote that value."""
    asked = Criterion(id="control", text=control.text)
    checked = [_checked(context, asked, each.evidence()) for each in answer.evidence]
    sound = answer.verdict == "pass" and _flaw(answer, checked) is None
    return sound and any(
        each.verified and (control.quote or "") in (each.quote or "") for each in checked
    )
