"""What an evaluation found, where it failed, and every call it made, as records.

`score=None` says "not scored" and comes with an `evaluation_error`; `0.0` says that the benchmark's
own rule gave zero. The two are never mixed.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, NonNegativeFloat, NonNegativeInt, model_validator

from bench_core.records import SUCCESS_SCORE, Record

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Body",
    "EvaluationFault",
    "Exchange",
    "MetricDetail",
    "SetupReport",
    "SetupStep",
    "Stage",
    "Timings",
    "Verdict",
]

Stage = Literal["postconfig", "result", "expected", "metric"]
"""Where inside vanilla's `evaluate` something happened."""


class Body(Record):
    """What an answer carried; large ones are stored apart, named by their digest.

    One that is held here and is not what its digest and size say does not validate.

    Attributes:
        content_type: As the server said; decides how text is decoded.
        text: The body itself where it is short UTF-8 text.
        b64: The body itself where it is short and not UTF-8.
        file: Its name in the folder of bodies where it is stored apart; none of the three when it
            was not kept.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: NonNegativeInt
    content_type: str = ""
    text: str | None = None
    b64: str | None = None
    file: str | None = None

    @property
    def inline(self) -> bytes | None:
        """The body where it is held here."""
        if self.text is not None:
            return self.text.encode("utf-8")
        return None if self.b64 is None else base64.b64decode(self.b64, validate=True)

    @model_validator(mode="after")
    def _is_what_it_says(self) -> Self:
        if self.text is not None and self.b64 is not None:
            raise ValueError("a body is text or b64, not both")
        try:
            held = self.inline
        except ValueError as error:
            raise ValueError(f"the body cannot be decoded: {error}") from error
        if held is None:
            return self
        if len(held) != self.size or hashlib.sha256(held).hexdigest() != self.sha256:
            raise ValueError("the body is not the one of its sha256 and size")
        return self


class Exchange(Record):
    """One call over HTTP, as it went.

    Attributes:
        target: The VM, or another host (gold and set-up files, live pages).
        path: With the query for the VM, the whole URL for the web.
        request: `{"json": ...}`, `{"form": {...}}` or `{"sha256": ..., "size": ...}`; null without a
            body. Uploaded files are given by digest and size inside `form`.
        status: Three digits; null when no answer came.
        error: Why no answer came: a failed transport, a refused host, too large an answer.
    """

    target: Literal["vm", "web"] = "vm"
    method: str
    path: str
    request: JsonValue = None
    status: int | None = Field(default=None, ge=100, le=999)
    body: Body | None = None
    seconds: NonNegativeFloat = 0.0
    error: str | None = None


class EvaluationFault(Record):
    """An exception that kept vanilla's rule from giving a score, apart from the score.

    Attributes:
        phase: `set_task_info` before anything is asked of the VM, `evaluate` after.
        stage: Where inside `evaluate`; null before its first stage.
        func: The getter, metric or set-up step that raised.
        type: The name of the exception's class, as vanilla raises it.
    """

    phase: Literal["set_task_info", "evaluate"]
    stage: Stage | None = None
    func: str | None = None
    type: str
    message: str = ""


class MetricDetail(Record):
    """What one metric was given and what it said; values are abbreviated.

    Attributes:
        score: The partial score before conjunction and before vanilla's rule that what is no number
            counts as zero; null when it was not reached or raised.
        error: Of the result getter, where vanilla swallows it, or of what ended the evaluation.
    """

    metric: str
    getter: str | None = None
    expected_getter: str | None = None
    actual: str | None = None
    expected: str | None = None
    score: float | None = None
    error: str | None = None


class Timings(Record):
    """Seconds spent, by phase."""

    total: NonNegativeFloat = 0.0
    waited: NonNegativeFloat = 0.0
    postconfig: NonNegativeFloat = 0.0
    getters: NonNegativeFloat = 0.0
    metrics: NonNegativeFloat = 0.0


class Verdict(Record):
    """What `POST /evaluate` answers.

    Attributes:
        success: Whether the score reaches 1.0; null without a score.
        vanilla_score: What vanilla would have written where a failed transport made the score null.
        evaluator: `native` or `borrowed`.
        fidelity: Which rules scored: `v2`, `orig` or `fixed`.
        notes: What a reader of the score should know (a stubbed module, a rule known to be wrong).
    """

    schema_version: Literal[1] = 1
    score: float | None
    success: bool | None = None
    reason: str
    evaluation_error: EvaluationFault | None = None
    vanilla_score: float | None = None
    metrics: tuple[MetricDetail, ...] = ()
    evaluator: str
    fidelity: str
    notes: tuple[str, ...] = ()
    timings: Timings = Timings()
    transcript: tuple[Exchange, ...] = ()

    @model_validator(mode="after")
    def _score_or_error(self) -> Self:
        if (self.score is None) == (self.evaluation_error is None):
            raise ValueError("a verdict has either a score or an evaluation_error")
        if self.success != (None if self.score is None else self.score >= SUCCESS_SCORE):
            raise ValueError(f"success {self.success} does not fit the score {self.score}")
        return self


class SetupStep(Record):
    """How one set-up step of a task went."""

    type: str
    ok: bool
    error: str | None = None
    seconds: NonNegativeFloat = 0.0


class SetupReport(Record):
    """What `POST /setup` answers.

    A step that raises ends the set-up, as in vanilla, and is the last of `steps`; the set-up is then
    `abandoned`, and vanilla gives the task up. A step whose call
    the VM refused is not `ok` and the next ones run, as in vanilla.
    """

    schema_version: Literal[1] = 1
    ok: bool
    abandoned: bool = False
    steps: tuple[SetupStep, ...] = Field(default=())
    evaluator: str
    fidelity: str
    notes: tuple[str, ...] = ()
    transcript: tuple[Exchange, ...] = ()
