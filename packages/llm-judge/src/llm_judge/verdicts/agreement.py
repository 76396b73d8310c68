"""The common verdict of several models, and their confidence in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench_core.records import ErrorInfo
from bench_core.records.judge import CriterionVerdict, Finding, Outcome
from llm_judge.model_calls.calls import ModelReply
from llm_judge.verdicts.verdict_rules import weakest


@dataclass(frozen=True)
class ModelVerdict:
    """One model's reply and the verdict that follows from it."""

    reply: ModelReply
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
    """Return the outcome that all agree on; without agreement the judge abstains.

    Unanimity, since for judges of agents it beat majority votes (CUARewardBench, arXiv 2510.18596).
    """
    if "void" in outcomes:
        return "void"
    if "error" in outcomes:
        return "error"
    return outcomes[0] if len(set(outcomes)) == 1 else "abstain"


def joined_criteria(model_verdicts: Sequence[ModelVerdict]) -> list[CriterionVerdict]:
    """Return the criteria with the votes of all; if they differ, the verdict is unknown."""
    given = [each.criteria for each in model_verdicts if each.criteria]
    if not given:
        return []
    joined = []
    for position in range(len(given[0])):
        of_models = [criteria[position] for criteria in given]
        votes = tuple(vote for each in of_models for vote in each.votes)
        least = weakest(each.kind for each in of_models)
        base = next(each for each in of_models if each.kind == least)
        if len({each.verdict for each in of_models}) > 1:
            differing = ", ".join(f"{each.votes[0].model}: {each.verdict}" for each in of_models)
            doubt = f"no agreement ({differing})"
            base = of_models[0].model_copy(
                update={"verdict": "unknown", "kind": "unknown", "doubt": doubt}
            )
        one = base.model_copy(update={"votes": votes})
        joined.append(one)
    return joined


def raw_confidence(outcome: Outcome, model_verdicts: Sequence[ModelVerdict]) -> float | None:
    """Return the confidence the models state: for a pass the least of its criteria, for a fail the most."""
    stated = [
        each.votes[0].confidence
        for model_verdict in model_verdicts
        for each in model_verdict.deciding
        if model_verdict.outcome == outcome and each.votes[0].confidence is not None
    ]
    if outcome == "pass" and stated:
        return min(stated)
    return max(stated) if outcome == "fail" and stated else None


def reasoning(
    outcome: Outcome, criteria: Sequence[CriterionVerdict], model_verdicts: Sequence[ModelVerdict]
) -> str:
    """Return the reasons for an outcome: a line per criterion, or the faults that prevented one."""
    if not model_verdicts:
        return "there is nothing to judge by: no criterion, or neither state nor picture"
    if outcome in {"error", "void"} or not criteria:
        problems = [each.reply.error.message for each in model_verdicts if each.reply.error]
        problems += [finding.message for each in model_verdicts for finding in each.reply.findings]
        return "; ".join(dict.fromkeys(problems))
    return "\n".join(
        f"{each.criterion_id}: {each.verdict} ({each.kind}): {each.doubt or each.reason}"
        for each in criteria
    )


def error_of(outcome: Outcome, model_verdicts: Sequence[ModelVerdict]) -> ErrorInfo | None:
    """Return the reason for a missing answer, if it is missing."""
    if outcome != "error":
        return None
    return next(each.reply.error for each in model_verdicts if each.reply.error is not None)


def unconfirmed(
    outcome: Outcome, findings: Sequence[Finding], model_verdicts: Sequence[ModelVerdict]
) -> tuple[Finding, ...]:
    """Return why a pass does not stand: text addresses the judge, and only one model read it."""
    planted = [each for each in findings if each.code.startswith("planted.")]
    models = {each.reply.model for each in model_verdicts}
    if outcome != "pass" or not planted or len(models) > 1:
        return ()
    message = (
        f"one model passes a state in which text addresses the judge ({planted[0].message}); a "
        f"second model of another provider has to agree"
    )
    return (Finding(code="planted.unconfirmed", message=message),)
