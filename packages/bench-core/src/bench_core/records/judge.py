"""The records between a benchmark and a judge of end states.

A judge plugin (`bench_core.judges`) is a callable that makes a judge: `factory(model, **options)`,
with `model` as `provider:model`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveFloat,
    field_validator,
    model_validator,
)

from bench_core.records import Dollars, ErrorInfo, Record, Usage
from bench_core.records.claims import TaskClaims
from bench_core.records.vocabulary import VerdictKind

__all__ = [
    "Counterexample",
    "Criterion",
    "CriterionVerdict",
    "Decision",
    "Evidence",
    "Finding",
    "JudgeCase",
    "Outcome",
    "Screenshot",
    "Verdict",
    "VerdictKind",
    "Vote",
]

Outcome = Literal["pass", "fail", "abstain", "void", "error"]
"""How a judgement ended; only the first two are verdicts on the agent."""

Decision = Literal["pass", "fail", "unknown"]
"""The possible verdicts on one criterion."""

_Probability = Annotated[float, Field(ge=0, le=1)]


class Criterion(Record):
    """One thing the end state must show.

    `paths` say where to look: JSON pointers or dotted paths. A judge shows the values there, or
    that there are none. `facts` make it a criterion about the agent's answer: the facts it must state, each
    fact a sentence of its own. Each is asked apart, and all of them must be there.
    """

    id: str = Field(min_length=1)
    text: str
    source: Literal["given", "derived"] = "given"
    paths: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class Screenshot(Record):
    """A picture of the environment, by file path, with its caption and the step after which it was taken."""

    path: str
    label: str = ""
    step: NonNegativeInt | None = None


class JudgeCase(Record):
    """One end state to judge: the goal, the criteria and the files of the run.

    A criterion may be given as its text alone; its id is then `c1`, `c2`, ... by its place. A
    screenshot may be given as its path alone.
    `state` and `initial_state` hold the JSON itself; `state_path` names a (gzipped) JSON file
    instead, for states of many megabytes. `deadline_s` and `max_cost_usd` bound the judgement.

    Attributes:
        timezone: The time zone (IANA) in which the applications show times.
        locale: Their language and country (`de-DE`), for dates and numbers.
        currency: The currency (ISO 4217) of amounts that name none.
        today: The day or moment that the world takes for now (ISO 8601).
        claims: The criteria as assertions, if they were compiled or written.
    """

    schema_version: Literal[1] = 1
    case_id: str = Field(default="case", min_length=1)
    goal: str
    criteria: tuple[Criterion, ...] = ()
    state: JsonValue = None
    state_path: str | None = None
    initial_state: JsonValue = None
    screenshots: tuple[Screenshot, ...] = ()
    actions: tuple[dict[str, JsonValue], ...] = ()
    agent_answer: JsonValue = None
    timezone: str | None = None
    locale: str | None = None
    currency: str | None = None
    today: str | None = None
    claims: TaskClaims | None = None
    deadline_s: PositiveFloat | None = None
    max_cost_usd: PositiveFloat | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("screenshots", mode="before")
    @classmethod
    def _pictured(cls, given: Any) -> Any:
        if not isinstance(given, list | tuple):
            return given
        return tuple({"path": each} if isinstance(each, str) else each for each in given)

    @field_validator("criteria", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if not isinstance(given, list | tuple):
            return given
        return tuple(
            {"id": f"c{number}", "text": each} if isinstance(each, str) else each
            for number, each in enumerate(given, 1)
        )


class Evidence(Record):
    """A quotation that can be checked: a JSON pointer (RFC 6901) and the text it should hold.

    Attributes:
        kind: `present`: the quote is the value there; `passage`: it is a part of a long text
            there; `absent`: the value is missing, or the quote is not in it.
        verified: Whether it was checked without a model and holds; None if that cannot be done.
        status: The finding of the check, in a word or two.
        provenance: Whose words these are: the application's or text the agent typed.
    """

    kind: Literal["present", "passage", "absent"] = "present"
    pointer: str | None = None
    quote: str | None = None
    screenshot: str | None = None
    region: str | None = None
    verified: bool | None = None
    status: str | None = None
    provenance: Literal["application", "agent_text"] | None = None


class Vote(Record):
    """One model's verdict on one criterion before its evidence was checked."""

    model: str
    verdict: Decision
    confidence: _Probability | None = None
    reason: str = ""


class Finding(Record):
    """A fact about the case itself that a reader of the verdict must know."""

    code: str
    message: str
    severity: Literal["info", "warning", "error"] = "warning"


class Counterexample(Record):
    """An end state on which a criterion's claim and another rule for it, such as a query, differ.

    Attributes:
        change: The change to the state at hand that gives it, in words.
        claim: Whether the claim is true of it.
        rule: Whether the other rule is met by it.
        claim_by: The person that approved the claim; None: its checks found it adequate.
    """

    criterion_id: str
    change: str
    claim: bool
    rule: bool
    claim_by: str | None = None
    state: JsonValue = None


class CriterionVerdict(Record):
    """The decision on one criterion: reason and evidence first, verdict last.

    Attributes:
        kind: The basis of the verdict; if it is not given, a pass or fail is an `opinion`.
        doubt: Why the kind is not stronger, e.g. that a quotation is missing, or the models differ.
        flags: Remarks of programs on the verdict; they change nothing.
    """

    criterion_id: str
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    verdict: Decision
    kind: VerdictKind = "opinion"
    votes: tuple[Vote, ...] = ()
    doubt: str | None = None
    flags: tuple[Finding, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _unknown_is_a_kind(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("verdict") == "unknown":
            return {"kind": "unknown", **given}
        return given

    @model_validator(mode="after")
    def _one_unknown(self) -> CriterionVerdict:
        if (self.verdict == "unknown") is not (self.kind == "unknown"):
            raise ValueError(f"a verdict {self.verdict!r} cannot be of the kind {self.kind!r}")
        return self


class Verdict(Record):
    """A judge's answer.

    `confidence` is calibrated or None; the model's own statement is in `raw_confidence`. `kind` is the
    weakest kind among the criteria that made a pass, the strongest among those that made a fail.
    """

    schema_version: Literal[1] = 1
    case_id: str
    judge: str
    outcome: Outcome
    kind: VerdictKind = "unknown"
    criteria: tuple[CriterionVerdict, ...] = ()
    reasoning: str = ""
    confidence: _Probability | None = None
    raw_confidence: _Probability | None = None
    findings: tuple[Finding, ...] = ()
    model: str | None = None
    model_reported: str | None = None
    usage: Usage = Usage()
    cost_usd: Dollars | None = None
    fingerprint: dict[str, str] = Field(default_factory=dict)
    error: ErrorInfo | None = None

    @property
    def passed(self) -> bool | None:
        """True or False for a verdict on the agent, None otherwise."""
        return {"pass": True, "fail": False}.get(self.outcome)
