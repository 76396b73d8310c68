"""People's notes on trials: a label, a sentence, or both."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, PositiveInt, StringConstraints

from bench_core.records.base import Record
from bench_core.records.task import TrialKey

OUTCOME_LABELS = {"really passed": True, "really failed": False}
"""Labels by which a person states the true outcome of a trial, whatever its score is."""

_Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\r\n]*$"),
]


class Note(Record):
    """One line of `notes.jsonl`: a person's note on a trial, or on a step or check of it.

    The last line of one person at one place with one label holds. A note changes no score.

    Attributes:
        run_id: The run whose trial it is of.
        at: When it was made.
        by: The author.
        task_id: The task.
        trial: Number of the trial.
        result: The `sequence` of the result that was looked at: a trial may run again. None if not known.
        step: Number of the step it is about; None for the whole trial or a check.
        check: The criterion it is about; None for the whole trial or a step.
        label: A short name that trials are counted by; `really passed` and `really failed` state the
            right outcome. None for a sentence alone.
        text: A sentence that goes with it.
        seed: Of the queue that chose the trial at random; None if the person chose it.
        removed: Whether it takes the note back.
        checksum: Digest of the line; see `bench_core.files.checksums`.
    """

    schema_version: Literal[1] = 1
    run_id: str = Field(min_length=1)
    at: AwareDatetime
    by: _Line
    task_id: str = Field(min_length=1)
    trial: PositiveInt
    result: int | None = None
    step: int | None = None
    check: Annotated[str, Field(max_length=100_000)] | None = None
    label: _Line | None = None
    text: Annotated[str, Field(max_length=10_000)] = ""
    seed: int | None = None
    removed: bool = False
    checksum: str | None = None

    @property
    def key(self) -> TrialKey:
        """The trial."""
        return TrialKey(task_id=self.task_id, trial=self.trial)

    @property
    def place(self) -> tuple[object, ...]:
        """The author and the subject: a later note with the same place replaces this one."""
        return (self.by, self.task_id, self.trial, self.result, self.step, self.check, self.label)


def current_notes(notes: Iterable[Note]) -> list[Note]:
    """Return the notes that hold: the last of each place by time, those taken back left out."""
    last: dict[tuple[object, ...], Note] = {}
    for note in sorted(notes, key=_moment):  # stable: equal times keep the order of the lines
        last[note.place] = note
    return [note for note in last.values() if not note.removed]


def _moment(note: Note) -> datetime:
    return note.at
