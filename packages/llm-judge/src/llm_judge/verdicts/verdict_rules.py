"""The rules that turn a model's answers into verdicts, and state the basis of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bench_core.records.judge import CriterionVerdict, Decision, Evidence, Finding, Outcome, Vote
from bench_core.records.vocabulary import VerdictKind
from llm_judge.evidence.flags import flags_of
from llm_judge.evidence.planted_text import looks_planted
from llm_judge.evidence.provenance import provenance
from llm_judge.evidence.quotations import check_evidence, is_of_agent, region_of
from llm_judge.prompts.answers import Answer
from llm_judge.prompts.controls import Question
from llm_judge.prompts.pictures import ShownPicture
from llm_judge.records import ACCEPTED
from llm_judge.states.snapshots import App, find_apps

_KINDS: tuple[VerdictKind, ...] = ("proven", "supported", "opinion", "unknown")
_SAYS_OTHERWISE = re.compile(
    r"\b(?:verdict|answer|overall|result)\b\W{0,3}\s*(?:is|=|:)?\W{0,3}\s*(pass|fail|unknown)\b",
    re.IGNORECASE,
)
_EVEN_ODDS = 0.5


@dataclass(frozen=True)
class EvidenceContext:
    """The evidence that answers are checked against: the state, the pictures, the agent's texts and acts."""

    state: Any
    pictures: Mapping[str, ShownPicture]
    typed: Sequence[str] = ()
    initial: Any = None
    beside: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def apps(self) -> tuple[App, ...]:
        """The apps of the state."""
        return find_apps(self.state, self.initial)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Pointers to apps and their snapshots, for pointers that start inside one."""
        parts = [part.pointer for app in self.apps for part in (*app.after, *app.changes)]
        return tuple(dict.fromkeys([*parts, *(app.pointer for app in self.apps)]))

    def checked(self, evidence: Evidence) -> Evidence:
        """Return a quotation with whether it holds, and whether the agent wrote it."""
        found = check_evidence(
            self.state,
            evidence,
            pictures={name: (each.width, each.height) for name, each in self.pictures.items()},
            initial=self.initial,
            roots=self.roots,
            beside=self.beside,
        )
        box = region_of(found)
        if box and found.verified is None and self.pictures[found.screenshot or ""].is_blank(box):
            found = found.model_copy(
                update={"verified": False, "status": "the region shows nothing"}
            )
        whose = provenance(self.state, found, self.typed)
        return found.model_copy(update={"provenance": whose})


def decide_criterion(
    context: EvidenceContext, question: Question, answer: Answer, model: str
) -> CriterionVerdict:
    """Return a model's verdict on one criterion, with its basis.

    It is `supported` if at least one quotation is there and none is not.
    """
    criterion = question.criterion
    if criterion is None:
        raise ValueError(f"{question.name} is a control, not a criterion")
    checked = tuple(context.checked(each.evidence()) for each in answer.evidence)
    verdict, kind, doubt = _kind(context, answer, checked, of_answer=bool(criterion.facts))
    return CriterionVerdict(
        criterion_id=criterion.id,
        reason=answer.reason,
        evidence=checked,
        verdict=verdict,
        kind=kind,
        votes=(
            Vote(
                model=model,
                verdict=answer.verdict,
                confidence=answer.confidence,
                reason=answer.reason,
            ),
        ),
        doubt=doubt,
        flags=flags_of(context.apps, checked, verdict),
    )


def all_facts(facts: Sequence[CriterionVerdict]) -> CriterionVerdict:
    """Return the verdict on a criterion whose facts were asked apart: all must be there."""
    outcome = {"abstain": "unknown"}.get(
        overall := overall_outcome(facts, accepted=_KINDS), overall
    )
    deciding = [each for each in facts if each.verdict == outcome] or list(facts)
    doubts = dict.fromkeys(each.doubt for each in deciding if each.doubt)
    votes = [vote for each in deciding for vote in each.votes]
    return facts[0].model_copy(
        update={
            "reason": " ".join(dict.fromkeys(each.reason for each in deciding)),
            "evidence": tuple(one for each in deciding for one in each.evidence),
            "verdict": outcome,
            "kind": overall_kind(overall, facts, _KINDS),
            "votes": (min(votes, key=lambda vote: vote.confidence or 0.0),),
            "doubt": "; ".join(doubts) or None,
            "flags": tuple(flag for each in deciding for flag in each.flags),
        }
    )


def unfounded(context: EvidenceContext, answers: Iterable[Answer]) -> dict[str, str]:
    """Return the faults in the quotations of answers, by question, to ask again about them.

    A sentence names the model's own pointer and never the state's content.
    """
    found = {}
    for answer in answers:
        if answer.verdict == "unknown":
            continue
        checked = [context.checked(each.evidence()) for each in answer.evidence]
        wrong = [each for each in checked if each.verified is False]
        if wrong:
            found[answer.question] = "; ".join(map(_told, wrong))
        elif not checked:
            found[answer.question] = "nothing is quoted"
    return found


def failed_controls(
    questions: Iterable[Question], answers: Mapping[str, Answer]
) -> tuple[Finding, ...]:
    """Return the questions with a known answer that a model passed although they are false."""
    return tuple(
        Finding(
            code="control.wrong",
            message=f"the model passed what is known to be false: {each.text}",
            severity="error",
        )
        for each in questions
        if each.criterion is None and answers[each.name].verdict == "pass"
    )


def overall_outcome(
    criteria: Sequence[CriterionVerdict],
    controls: Collection[Finding] = (),
    accepted: Collection[VerdictKind] = ACCEPTED,
) -> Outcome:
    """Return the outcome that verdicts of accepted kinds make together.

    A control passed makes it void. Else any fail fails, and only when all criteria pass it is a pass.

    >>> overall_outcome([])
    'abstain'
    """
    # computed, never asked for: other validators kept `overall_pass` although a criterion had failed
    if controls:
        return "void"
    verdicts = {each.verdict if each.kind in accepted else "unknown" for each in criteria}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "abstain"


def overall_kind(
    outcome: Outcome,
    criteria: Iterable[CriterionVerdict],
    accepted: Collection[VerdictKind] = ACCEPTED,
) -> VerdictKind:
    """Return the basis of an outcome: a pass rests on its weakest criterion, a fail on its strongest."""
    kinds = [each.kind for each in criteria if each.verdict == outcome and each.kind in accepted]
    if not kinds:
        return "unknown"
    return weakest(kinds) if outcome == "pass" else min(kinds, key=_KINDS.index)


def weakest(kinds: Iterable[VerdictKind]) -> VerdictKind:
    """Return the kind that says least."""
    return max(kinds, key=_KINDS.index)


def _kind(
    context: EvidenceContext, answer: Answer, evidence: Sequence[Evidence], *, of_answer: bool
) -> tuple[Decision, VerdictKind, str | None]:
    if answer.verdict == "unknown":
        return "unknown", "unknown", None
    stated = {each.lower() for each in _SAYS_OTHERWISE.findall(answer.reason)}
    if stated - {answer.verdict}:
        doubt = f"the reason says {sorted(stated)}, the verdict {answer.verdict!r}"
        return "unknown", "unknown", doubt
    if answer.confidence < _EVEN_ODDS:
        return "unknown", "unknown", f"stated with a confidence of {answer.confidence:g}"
    why = _unsupported(context, answer, evidence, of_answer=of_answer)
    return answer.verdict, "supported" if why is None else "opinion", why


def _unsupported(
    context: EvidenceContext, answer: Answer, evidence: Sequence[Evidence], *, of_answer: bool
) -> str | None:
    """Return why quotations do not support a pass or fail, if they do not."""
    # all must hold: else an invented quotation could hide among genuine ones
    false = next((each for each in evidence if each.verified is False), None)
    of_agent = [is_of_agent(context.state, each.pointer or "") for each in evidence]
    doubts = (
        (not answer.reason.strip(), "no reason was given"),
        (not evidence, "nothing was quoted"),
        (false is not None, f"what is quoted is not there: {_told(false)}"),
        # no check reads the text in pixels, so a picture never outweighs a state
        (
            context.state is not None and all(each.screenshot for each in evidence),
            "only a picture is quoted, and there is a state",
        ),
        (of_answer and not any(of_agent), "the answer, which is asked about, is not quoted"),
        (
            not of_answer and all(of_agent),
            "only what the agent said or did is quoted, which does not show that it worked",
        ),
        (
            all(looks_planted(each.quote or "") for each in evidence),
            "the only quotation is text that addresses a judge",
        ),
    )
    return next((doubt for holds, doubt in doubts if holds), None)


def _told(evidence: Evidence | None) -> str:
    if evidence is None:
        return ""
    return f"{evidence.screenshot or evidence.pointer or 'a quotation'}: {evidence.status}"
