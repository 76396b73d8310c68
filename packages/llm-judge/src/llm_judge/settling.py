"""Turns a model's answers into verdicts: what is not proven is unknown, and code decides the whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bench_core.judging import Criterion, CriterionVerdict, Finding, Outcome, Vote
from llm_judge.bearing import Prover
from llm_judge.checking import check_evidence
from llm_judge.grounds import Grounds
from llm_judge.scanning import looks_planted
from llm_judge.taint import asks_about_text, provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench_core.judging import Evidence
    from llm_judge.controls import Control, Question
    from llm_judge.replies import Answer

__all__ = ["Court", "failed_controls", "outcome_of", "remarks", "settle"]

_SAYS_OTHERWISE = re.compile(
    r"\b(?:verdict|answer|overall|result)\b\W{0,3}\s*(?:is|=|:)?\W{0,3}\s*(pass|fail|unknown)\b",
    re.IGNORECASE,
)
_EVEN_ODDS = 0.5


@dataclass(frozen=True)
class Court:
    """What answers are held against."""

    state: Any
    goal: str
    pictures: Mapping[str, tuple[int, int]]
    typed: Sequence[str] = ()
    initial: Any = None
    apps: Sequence[str] = ()
    zone: str | None = None

    @cached_property
    def prover(self) -> Prover:
        """What tells whether evidence bears on a criterion."""
        return Prover(Grounds(self.state, self.goal, self.initial, self.apps, self.zone))

    @property
    def pictures_prove(self) -> bool:
        """Whether pictures alone can prove something: only where there is nothing else."""
        return self.state is None and bool(self.pictures)


def settle(court: Court, question: Question, answer: Answer, model: str) -> CriterionVerdict:
    """Return what is proven about one criterion by one model's answer.

    A pass or fail stays what it is only if every quotation holds and at least one proves it.
    """
    criterion = question.criterion
    if criterion is None:
        raise ValueError(f"{question.name} is a control, not a criterion")
    checked = tuple(_checked(court, criterion, each.evidence()) for each in answer.evidence)
    reason = _doubt(court, criterion, answer, checked)
    return CriterionVerdict(
        criterion_id=criterion.id,
        reason=answer.reason,
        evidence=checked,
        verdict=answer.verdict if reason is None else "unknown",
        votes=(
            Vote(
                model=model,
                verdict=answer.verdict,
                confidence=answer.confidence,
                reason=answer.reason,
            ),
        ),
        changed=reason,
    )


def failed_controls(
    court: Court, questions: Iterable[Question], answers: Mapping[str, Answer]
) -> tuple[Finding, ...]:
    """Return what a model got wrong of the questions whose answers are known."""
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
        elif control.holds and not _is_proven(court, control, answer):
            message = f"the model did not prove something it was told the place of: {control.text}"
            found.append(Finding(code="control.unproven", message=message))
    return tuple(found)


def remarks(
    court: Court, criteria: Sequence[Criterion], verdicts: Sequence[CriterionVerdict]
) -> tuple[Finding, ...]:
    """Return what a reader of passes must know: what was left to the model, and shared quotations."""
    found = []
    passed = [each for each in verdicts if each.verdict == "pass"]
    texts = {each.id: each.text for each in criteria}
    for each in passed:
        left = court.prover.bearing(texts[each.criterion_id], each.evidence).unchecked
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


def outcome_of(criteria: Sequence[CriterionVerdict], controls: Iterable[Finding] = ()) -> Outcome:
    """Return the overall outcome of one model's answers.

    A control answered wrongly makes it void, one not proven an abstention. Else any proven fail
    fails, and only when all criteria are proven it is a pass.

    >>> outcome_of([])
    'abstain'
    """
    codes = {each.code for each in controls}
    if "control.wrong" in codes:
        return "void"
    if codes:
        return "abstain"
    verdicts = {each.verdict for each in criteria}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "abstain"


def _checked(court: Court, criterion: Criterion, evidence: Evidence) -> Evidence:
    asked = f"{court.goal}\n{criterion.text}"
    found = check_evidence(court.state, evidence, pictures=dict(court.pictures), asked=asked)
    whose = provenance(court.state, found, court.typed)
    return found.model_copy(update={"provenance": whose})


def _doubt(
    court: Court, criterion: Criterion, answer: Answer, evidence: Sequence[Evidence]
) -> str | None:
    """Return why a pass or fail does not stand, null when it does."""
    if answer.verdict == "unknown":
        return None
    flaw = _flaw(answer, evidence)
    if flaw is not None:
        return flaw
    proving = [each for each in evidence if _may_prove(court, criterion, each)]
    if not proving:
        return _why_unproven(evidence)
    if answer.verdict == "fail" or all(each.screenshot is not None for each in proving):
        return None
    return court.prover.bearing(criterion.text, proving).doubt


def _flaw(answer: Answer, evidence: Sequence[Evidence]) -> str | None:
    """Return what is wrong with an answer, whatever was asked."""
    if not answer.reason.strip():
        return "no reason was given"
    said = {each.lower() for each in _SAYS_OTHERWISE.findall(answer.reason)}
    if said - {answer.verdict}:
        return f"the reason says {sorted(said)}, the verdict {answer.verdict!r}"
    if answer.confidence < _EVEN_ODDS:
        return f"said with a confidence of {answer.confidence:g}"
    false = next((each for each in evidence if each.verified is False), None)
    if false is not None:
        return f"evidence that does not hold: {false.pointer or false.screenshot}: {false.status}"
    return None


def _may_prove(court: Court, criterion: Criterion, evidence: Evidence) -> bool:
    if evidence.screenshot is not None:
        return court.pictures_prove and evidence.verified is None
    if not evidence.verified:
        return False
    if evidence.kind == "absent":
        return True
    if looks_planted(evidence.quote or "") is not None:
        return False
    if evidence.provenance == "agent_text" and not asks_about_text(criterion.text):
        return court.prover.grounds.is_main_text(evidence.pointer or "")
    return True


def _why_unproven(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return "no evidence was given"
    if any(looks_planted(each.quote or "") for each in evidence):
        return "the only evidence is text that somebody planted"
    if any(each.provenance == "agent_text" for each in evidence):
        return "the only evidence is text that the agent may have written"
    if all(each.screenshot for each in evidence):
        return "the only evidence is a picture, which cannot be checked"
    return "the evidence does not bear on what was asked"


def _is_proven(court: Court, control: Control, answer: Answer) -> bool:
    """Whether a true control is passed with the value it speaks of, whoever's words it is."""
    asked = Criterion(id="control", text=control.text)
    checked = [_checked(court, asked, each.evidence()) for each in answer.evidence]
    sound = answer.verdict == "pass" and _flaw(answer, checked) is None
    return sound and any(
        each.verified and (control.quote or "") in (each.quote or "") for each in checked
    )
