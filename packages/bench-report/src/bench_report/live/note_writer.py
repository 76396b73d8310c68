"""Notes that come in from a served page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.records import Note, Record, TrialKey, current_notes
from bench_core.run_folder import add_notes, read_notes
from bench_report.html_page.table_data import run_names, shown_note, task_name
from bench_report.model import NoteEntry, Report
from bench_report.run_data.sources import Source

DEFAULT_LABELS: Mapping[str, str] = {
    "1": "harness fault", "2": "ambiguous goal", "3": "wrong element", "4": "stopped too early",
    "5": "wrong answer", "8": "really passed", "9": "really failed",
}  # fmt: skip
"""The labels that a page offers, by their keys."""

PAGE_KEYS = frozenset("jkbfmcdnuty+-0/?")
"""Keys that the page uses itself."""
_STATES = 4


class _Shown(NamedTuple):
    """A trial that a page shows."""

    folder: Path
    run_id: str
    key: TrialKey
    sequence: int | None


class _Asked(Record):
    """A note as the page sends it: the trial by the names that the page has for it."""

    state: str
    run: str
    task: str
    trial: int
    by: str
    label: str | None = None
    text: str = ""
    step: int | None = None
    check: str | None = None
    seed: int | None = None
    removed: bool = False


class NoteWriter:
    """Writes the notes of a served page to the run folders."""

    def __init__(self, folders: Sequence[Path], by: str, labels: Mapping[str, str]) -> None:
        self._folders = folders
        self.shown: dict[str, Any] = {"by": by, "labels": list(labels.items())}
        self._states: dict[str, dict[tuple[str, str, int], _Shown | None]] = {}

    def remember(self, state: str, report: Report, runs: Sequence[Source]) -> None:
        """Remember which results a page of this state shows: a trial may run again while it is looked at."""
        trials: dict[tuple[str, str, int], _Shown | None] = {}
        for folder, name, run in zip(self._folders, run_names(report), runs, strict=True):
            for each in run.results:
                place = (name, task_name(each.task_id), each.trial)
                shown = _Shown(folder, run.info.run_id, each.key, each.sequence)
                # two ids may look alike: which of them is meant is then not known
                trials[place] = None if place in trials else shown
        self._states[state] = trials
        for old in list(self._states)[:-_STATES]:
            del self._states[old]

    def write(self, body: bytes) -> list[dict[str, Any]]:
        """Write a note, and return all of its trial as the page shows them.

        Raises:
            InputError: It is none, or of no trial that a page shows.
            RunFolderError: It cannot be written.
        """
        try:
            asked = _Asked.model_validate_json(body)
            if asked.state not in self._states:
                raise InputError("the run has moved on: load the page again")
            trial = self._states[asked.state].get((asked.run, asked.task, asked.trial))
            if trial is None:
                raise InputError(
                    f"there is no trial {asked.trial} of this task, or several look alike"
                )
            note = Note(
                run_id=trial.run_id,
                at=datetime.now(timezone.utc),
                result=trial.sequence,
                **trial.key.model_dump(),
                **asked.model_dump(exclude={"state", "run", "task", "trial"}),
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(
                f"no note: {'.'.join(map(str, first['loc']))}: {first['msg']}"
            ) from None
        if note.label is None and not note.text and not note.removed:
            raise InputError("a note has a label or a sentence")
        add_notes(trial.folder, [note])
        return [
            shown_note(
                NoteEntry(
                    **each.model_dump(include=set(NoteEntry.model_fields) - {"earlier"}),
                    earlier=each.result not in {None, trial.sequence},
                )
            )
            for each in current_notes(read_notes(trial.folder).records)
            if each.key == trial.key
        ]
