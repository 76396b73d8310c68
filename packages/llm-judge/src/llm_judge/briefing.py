"""What is known about a case before a model is asked: state, evidence, prompt and doubts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.judging import Criterion, Finding
from llm_judge.documents import case_state
from llm_judge.linting import lint
from llm_judge.naming import query_paths
from llm_judge.packing import EvidencePack, pack
from llm_judge.pictures import choose_pictures
from llm_judge.policy import Policy
from llm_judge.prompting import Prompt, build_prompt
from llm_judge.settling import Court
from llm_judge.taint import typed_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.judging import JudgeCase

__all__ = ["Brief", "prepare"]


@dataclass(frozen=True)
class Brief:
    """All that is known about a case before a model is asked.

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
    def court(self) -> Court:
        """What answers are held against."""
        declared, zone = self.case.metadata.get("apps"), self.case.metadata.get("timezone")
        return Court(
            state=self.state,
            goal=self.case.goal,
            pictures={each.name: (each.width, each.height) for each in self.prompt.pictures},
            typed=typed_texts(self.case.actions),
            initial=self.case.initial_state,
            apps=tuple(map(str, declared)) if isinstance(declared, list) else (),
            zone=zone if isinstance(zone, str) else None,
        )


def prepare(case: JudgeCase, policy: Policy | None = None) -> Brief:
    """Read the state, lint, pack and build the prompt; no model is needed.

    Raises:
        InputError: A file of the case cannot be read.
    """
    policy = policy or Policy()
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
    return Brief(case, state, evidence, prompt(1), findings, prompt)


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
