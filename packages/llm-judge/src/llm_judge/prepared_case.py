"""A case made ready for a model: state read, evidence chosen, prompt built, defects found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from bench_core.errors import InputError
from bench_core.records.judge import Criterion, CriterionVerdict, Finding, JudgeCase
from llm_judge.case_files import case_state
from llm_judge.case_lint import lint
from llm_judge.evidence.provenance import typed_texts
from llm_judge.evidence.quotations import agent_texts
from llm_judge.policy import JudgePolicy
from llm_judge.prompts.evidence_pack import EvidencePack, pack
from llm_judge.prompts.pictures import choose_pictures
from llm_judge.prompts.prompt import Prompt, build_prompt
from llm_judge.states.paths import query_paths
from llm_judge.verdicts.verdict_rules import EvidenceContext

ClaimRule: TypeAlias = "Callable[[JudgeCase, Any], Mapping[str, CriterionVerdict]]"
"""Decides criteria of a case on its end state by code; those that it leaves out are asked of a model."""


@dataclass(frozen=True)
class PreparedCase:
    """A case with all parts of a model's request.

    Attributes:
        prompt: The first request; `prompt_of` gives that of a further sample, with another control.
        decided: The criteria that claims have decided, by id; a model is asked about the others.
    """

    case: JudgeCase
    state: Any
    evidence: EvidencePack
    prompt: Prompt
    findings: tuple[Finding, ...]
    prompt_of: Callable[[int], Prompt]
    decided: Mapping[str, CriterionVerdict] = field(default_factory=dict)

    @property
    def asked(self) -> tuple[Criterion, ...]:
        """The criteria that are left to ask a model about."""
        return tuple(each for each in self.case.criteria if each.id not in self.decided)

    @property
    def shows_something(self) -> bool:
        """Whether there is anything to judge by: a state, a picture, actions, or an answer that is asked about."""
        case = self.case
        asked = case.agent_answer is not None and any(each.facts for each in self.asked)
        return self.state is not None or bool(self.prompt.pictures or case.actions) or asked

    @cached_property
    def context(self) -> EvidenceContext:
        """The state, pictures and texts that answers are checked against."""
        return EvidenceContext(
            state=self.state,
            pictures={each.name: each for each in self.prompt.pictures},
            typed=typed_texts(self.case.actions),
            initial=self.case.initial_state,
            beside=agent_texts(self.case),
        )


def prepare(
    case: JudgeCase, policy: JudgePolicy | None = None, claims: ClaimRule | None = None
) -> PreparedCase:
    """Read the state, lint, decide claims, pack and build the prompt; no model is needed.

    Raises:
        InputError: A file of the case cannot be read.
    """
    policy = policy or JudgePolicy()
    ids = [each.id for each in case.criteria]
    if len(set(ids)) < len(ids):
        raise InputError(f"{case.case_id}: two criteria have the same id: {sorted(ids)}")
    state = case_state(case)
    decided = {} if claims is None or state is None else dict(claims(case, state))
    asked = [each for each in case.criteria if each.id not in decided]
    evidence = pack(
        state,
        case.goal,
        (*case.criteria, *_queries(case)),
        initial=case.initial_state,
        actions=case.actions,
        chars=policy.chars,
    )
    pictures, about_pictures = choose_pictures(case.screenshots, policy.pictures)

    def prompt(trial: int) -> Prompt:
        return build_prompt(
            case,
            evidence,
            asked=asked,
            state=state,
            pictures=pictures,
            agent_text=policy.agent_text,
            controls=policy.controls,
            seed=policy.seed + trial - 1,
        )

    findings = (*lint(case, state, evidence.text), *_left_out(evidence), *about_pictures)
    return PreparedCase(case, state, evidence, prompt(1), findings, prompt, decided)


def _queries(case: JudgeCase) -> tuple[Criterion, ...]:
    """Return the benchmark's own queries, so that the places they name are shown, too."""
    queries = case.metadata.get("queries")
    texts = map(str, queries) if isinstance(queries, list) else ()
    named = " ".join(path for text in texts for path in query_paths(text))
    return (Criterion(id="queries", text=named),) if named else ()


def _left_out(evidence: EvidencePack) -> tuple[Finding, ...]:
    total = sum(evidence.omitted.values())
    if not total:
        return ()
    message = f"{total} of {evidence.records} changed records did not fit into {evidence.chars} characters"
    return (Finding(code="evidence.left_out", message=message, severity="info"),)
