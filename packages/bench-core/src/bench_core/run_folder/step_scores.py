"""The steps of trials that left a passing state (`step_scores.jsonl`): found later, offline, never in a score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import PositiveInt

from bench_core.files.atomic import write_atomic
from bench_core.files.inside import refuse_linked
from bench_core.records import Record, TrialKey
from bench_core.records.codec import encode
from bench_core.redaction import Redactor
from bench_core.run_folder.jsonl import read_lines

STEP_SCORES = "step_scores.jsonl"


class StepScores(Record):
    """The score of the state after each step of a trial.

    Attributes:
        result: The checksum of the result it belongs to; a trial that ran again has another.
        rules: The name and version of the rules that scored it.
        steps: The numbers of the steps, in order.
        passed: Whether the state after that step passes; None if unknown.
        tokens: The tokens each step used; None if the agent did not say.
        why_unknown: Why the steps of this trial have no known scores.
    """

    schema_version: Literal[1] = 1
    task_id: str
    trial: PositiveInt
    result: str | None = None
    rules: str
    steps: tuple[PositiveInt, ...] = ()
    passed: tuple[bool | None, ...] = ()
    tokens: tuple[int | None, ...] = ()
    why_unknown: str | None = None

    @property
    def key(self) -> TrialKey:
        """The trial."""
        return TrialKey(task_id=self.task_id, trial=self.trial)

    @property
    def first(self) -> int | None:
        """The place in `steps` of the first one whose state passes."""
        return next((place for place, passed in enumerate(self.passed) if passed), None)

    @property
    def undone(self) -> bool:
        """Whether a state passed, but not the last one."""
        return self.first is not None and self.passed[-1] is False

    @property
    def share_after(self) -> float | None:
        """The share of the trial's tokens that was used after the first passing step, if all are known."""
        used = [each for each in self.tokens if each is not None]
        if self.first is None or len(used) < len(self.steps) or not sum(used):
            return None
        return sum(used[self.first + 1 :]) / sum(used)


def read_step_scores(run: Path) -> dict[TrialKey, StepScores]:
    """Return the known scores of a run's steps; lines that are not records are left out."""
    return {each.key: each for each in read_lines(run / STEP_SCORES, StepScores).records}


def write_step_scores(run: Path, scores: Iterable[StepScores], redactor: Redactor) -> Path:
    """Rewrite the whole file and return it; a crash leaves the old one or the new one."""
    refuse_linked(run, STEP_SCORES)
    text = b"".join(encode(each, redactor) + b"\n" for each in scores)
    write_atomic(run / STEP_SCORES, text)
    return run / STEP_SCORES
