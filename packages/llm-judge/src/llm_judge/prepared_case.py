"""A case made ready for a model: state read, evidence chosen, prompt built, defects found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.records.judge import Criterion, Finding
from llm_judge.case_files import case_state
from llm_judge.case_lint import lint
from llm_judge.evidence.provenance import typed_texts
from llm_judge.policy import JudgePolicy
from llm_judge.prompts.evidence_pack import EvidencePack, pack
from llm_judge.prompts.pictures import choose_pictures
from llm_judge.prompts.prompt import Prompt, build_prompt
from llm_judge.states.paths import query_paths
from llm_judge.verdicts.verdict_rules import EvidenceContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.records.judge import JudgeCase


@dataclass(frozen=True)
class PreparedCase:
    """A case with everything a model is asked with.

    Attributes:
        prompt: What is sent first; `prompt_of` gives that of a further sample, with other controls.
    """

    case: JudgeCase
    state: Any
    evidence: EvidencePack
    prompt: Prompt
    findings: tuple[Finding, ...]
    prompt_of: Callable[[int], Prompt]

    @cached_property
    def context(self) -> EvidenceContext:
        """What answers are checked against."""
        declared = self.case.metadata.get("apps")
        return EvidenceContext(
            state=self.state,
            goal=self.case.goal,
            pictures={each.name: (each.width, each.height) for each in self.prompt.pictures},
            typed=typed_texts(self.case.actions),
            initial=self.case.initial_state,
            apps=tuple(map(str, declared)) if isinstance(declared, list) else (),
            zone=self.case.timezone,
        )


def prepare(case: JudgeCase, policy: JudgePolicy | None = None) -> PreparedCase:
    """Read the state, lint, pack and build the prompt; no model is needed.

    Raises:
        InputError: A file of the case cannot be read.
    """
    policy = policy or JudgePolicy()
    ids = [each.id for each in case.criteria]
    if len(set(ids)) < len(ids):
        raise InputError(f"{case.case_id}: two criteria have the same id: {sorted(ids)}")
    state = case_state(case)
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
            pictures=pictures,
            agent_text=policy.agent_text,
            controls=policy.controls,
            seed=policy.seed + trial - 1,
        )

    findings = (*lint(case, state, evidence.text), *_left_out(evidence), *about_pictures)
    return PreparedCase(case, state, evidence, prompt(1), findings, prompt)


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
