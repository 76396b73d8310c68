"""Brings the opinions of several models together: what all agree on, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.judging import CriterionVerdict, Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.judging import JudgeCase
    from bench_core.records import ErrorInfo
    from llm_judge.asking import Said

__all__ = [
    "Opinion",
    "common_outcome",
    "error_of",
    "joined_criteria",
    "raw_confidence",
    "reasoning",
    "unconfirmed",
]


@dataclass(frozen=True)
class Opinion:
    """What came of asking one model."""

    said: Said
    outcome: Outcome
    criteria: tuple[CriterionVerdict, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether it is a verdict on the agent."""
        return self.outcome in {"pass", "fail"}

    @property
    def deciding(self) -> tuple[CriterionVerdict, ...]:
        """The criteria that made the outcome: all for a pass, the failed ones for a fail."""
        return tuple(each for each in self.criteria if each.verdict == self.outcome)


def common_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what all agree on; without agreement there is no verdict."""
    if "void" in outcomes:
        return "void"
    if "error" in outcomes:
        return "error"
    return outcomes[0] if len(set(outcomes)) == 1 else "abstain"


def joined_criteria(case: JudgeCase, opinions: Sequence[Opinion]) -> list[CriterionVerdict]:
    """Return the criteria with the votes of all; where they differ, the verdict is unknown."""
    heard = [each.criteria for each in opinions if each.criteria]
    if not heard:
        return []
    joined = []
    for position in range(len(case.criteria)):
        said = [criteria[position] for criteria in heard]
        votes = tuple(vote for each in said for vote in each.votes)
        one = said[0].model_copy(update={"votes": votes})
        if len({each.verdict for each in said}) > 1:
            told = ", ".join(f"{each.votes[0].model}: {each.verdict}" for each in said)
            one = one.model_copy(update={"verdict": "unknown", "changed": f"no agreement ({told})"})
        joined.append(one)
    return joined


def raw_confidence(outcome: Outcome, opinions: Sequence[Opinion]) -> float | None:
    """Return what the models say of the verdict: the least of all they need for it."""
    said = [
        each.votes[0].confidence
        for opinion in opinions
        for each in opinion.deciding
        if opinion.outcome == outcome and each.votes[0].confidence is not None
    ]
    if outcome == "pass" and said:
        return min(said)
    return max(said) if outcome == "fail" and said else None


def reasoning(
    outcome: Outcome, criteria: Sequence[CriterionVerdict], opinions: Sequence[Opinion]
) -> str:
    """Return why it came out so: a line per criterion, or what went wrong."""
    if not opinions:
        return "there is nothing to judge by: no criterion, or neither state nor picture"
    if outcome in {"error", "void"} or not criteria:
        problems = [each.said.error.message for each in opinions if each.said.error]
        problems += [finding.message for each in opinions for finding in each.said.findings]
        return "; ".join(dict.fromkeys(problems))
    return "\n".join(
        f"{each.criterion_id}: {each.verdict}: {each.changed or each.reason}" for each in criteria
    )


def error_of(outcome: Outcome, opinions: Sequence[Opinion]) -> ErrorInfo | None:
    """Return why there is no answer, where there is none."""
    if outcome != "error":
        return None
    return next(each.said.error for each in opinions if each.said.error is not None)


def unconfirmed(
    outcome: Outcome, findings: Sequence[Finding], opinions: Sequence[Opinion]
) -> tuple[Finding, ...]:
    """Return why a pass does not stand: something speaks to the judge, and only one model read it."""
    planted = [each for each in findings if each.code.startswith("planted.")]
    models = {each.said.model for each in opinions}
    if outcome != "pass" or not planted or len(models) > 1:
        return ()
    message = (
        f"one model passes a state in which text speaks to the judge ({planted[0].message}); a "
        f"second model of another provider has to agree"
    )
    return (Finding(code="planted.unconfirmed", message=message),)
