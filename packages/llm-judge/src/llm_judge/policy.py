"""The rules of a judge: how much it is shown, when a second model is asked, how much a case may cost."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from bench_core.records import Record
from bench_core.records.vocabulary import VerdictKind
from llm_judge.prompts.evidence_pack import DEFAULT_CHARS, LEAST_CHARS
from llm_judge.records import ACCEPTED


class JudgePolicy(Record):
    """The rules of a judgement.

    Attributes:
        chars: Characters of evidence.
        pictures: Maximum number of screenshots shown.
        samples: Independent answers of the first model; all must agree.
        max_output_tokens: For one reply; asked again with twice as many if it does not suffice.
        low_margin: A confidence below this asks the second model.
        second_on_pass: Whether it is asked about every pass.
        second_on_findings: Whether it is asked about doubtful cases.
        controls: Whether a question that is known to be false stands among the criteria.
        seed: Chooses this question; each sample gets another.
        accept_kinds: The kinds of verdicts that make an outcome; others count as undecided.
        reply_form: The form that the server must enforce. `auto` asks for a JSON schema; if the
            server refuses it, for JSON; then for nothing: the prompt names the form in words anyway.
        agent_text: Whether the agent's own final answer is shown.
        any_model: Accept a reply in which the API names another model than was asked for.
        deadline_s: Seconds for one case, all calls together.
        max_cost_usd: Dollars for one case; a call that may exceed it is not made.
    """

    chars: Annotated[int, Field(ge=LEAST_CHARS)] = DEFAULT_CHARS
    pictures: Annotated[int, Field(ge=0)] = 8
    samples: PositiveInt = 1
    max_output_tokens: PositiveInt = 8_000
    low_margin: Annotated[float, Field(ge=0, le=1)] = 0.7
    second_on_pass: bool = True
    second_on_findings: bool = True
    controls: bool = True
    seed: int = 0
    accept_kinds: tuple[VerdictKind, ...] = ACCEPTED
    reply_form: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    agent_text: bool = False
    any_model: bool = False
    deadline_s: PositiveFloat = 300.0
    max_cost_usd: PositiveFloat | None = None
