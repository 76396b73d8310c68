"""The results and failures of an evaluation, as records.

`score=None` says "not scored" and comes with an `evaluation_error`; `0.0` says that the benchmark's
own rule gave zero. The two are never mixed.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, model_validator
from typing_extensions import Self

from bench_core.records import SUCCESS_SCORE, Record
from waa_server_ext.vm.exchanges import VmExchange

Stage = Literal["postconfig", "result", "expected", "metric"]
"""The stage of vanilla's `evaluate` in which something happened."""


class EvaluationFault(Record):
    """An exception that kept vanilla's rule from giving a score, apart from the score.

    Attributes:
        phase: `set_task_info` before anything is asked of the VM, `evaluate` after.
        stage: The stage of `evaluate`; `None` before its first stage.
        func: The getter, metric or setup step that raised.
        type: The name of the exception's class, as vanilla raises it.
    """

    phase: Literal["set_task_info", "evaluate"]
    stage: Stage | None = None
    func: str | None = None
    type: str
    message: str = ""


class MetricDetail(Record):
    """The input and output of one metric; values are abbreviated, files are represented by their contents.

    Attributes:
        getter_arguments: The task's arguments for the getter, as JSON.
        score: The partial score before the conjunction and before vanilla's rule that anything but a
            number counts as zero; `None` if the metric was not reached or raised.
        error: The exception of the result getter, if vanilla swallows it, or the one that ended the evaluation.
    """

    metric: str
    getter: str | None = None
    getter_arguments: str | None = None
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
    """The answer of `POST /evaluate`.

    Attributes:
        success: Whether the score reaches 1.0; `None` without a score.
        vanilla_score: Vanilla's score, if a failed transport made `score` `None`.
        evaluator: `native`, or `borrowed` for those of a checkout.
        fidelity: The rules that scored: `v2`, `orig` or `fixed`.
        notes: Caveats for readers of the score (a stubbed module, a rule known to be wrong).
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
    transcript: tuple[VmExchange, ...] = ()

    @model_validator(mode="after")
    def _score_or_error(self) -> Self:
        if (self.score is None) == (self.evaluation_error is None):
            raise ValueError("a verdict has either a score or an evaluation_error")
        if self.success != (None if self.score is None else self.score >= SUCCESS_SCORE):
            raise ValueError(f"success {self.success} does not fit the score {self.score}")
        return self


class SetupStep(Record):
    """The outcome of one setup step of a task."""

    type: str
    ok: bool
    error: str | None = None
    seconds: NonNegativeFloat = 0.0


class SetupReport(Record):
    """The answer of `POST /setup`.

    A step that raises ends the setup, as in vanilla, and is the last of `steps`; the setup is then
    `abandoned`, and vanilla gives up on the task. A step whose call the VM refused is not `ok`, but the
    next ones run, as in vanilla.
    """

    schema_version: Literal[1] = 1
    ok: bool
    abandoned: bool = False
    steps: tuple[SetupStep, ...] = Field(default=())
    evaluator: str
    fidelity: str
    notes: tuple[str, ...] = ()
    transcript: tuple[VmExchange, ...] = ()
