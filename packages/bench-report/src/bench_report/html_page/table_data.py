"""Rows for the page's table: columns of numbers and dictionary-coded words, packed."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Hashable, Iterable, Sequence
from datetime import timezone
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from bench_core.records import TrialKey
from bench_report.model import FlaggedTrial, NoteEntry, Report, TrialRow
from bench_report.text.phrases import why_unscored
from bench_report.text.untrusted import clip, inline, shown_json, visible

_ID_LENGTH = 200
_GOAL_LENGTH = 2000
WORD_LENGTH = 200


def as_json(value: object) -> bytes:
    """Return compact JSON; NaN and infinity become null."""
    return to_json(value, inf_nan_mode="null")  # the browser's JSON.parse refuses NaN


def pack(document: bytes) -> str:
    """Return text compressed and in base64: small, and safe inside any element."""
    # no time: the same runs give the same bytes
    data = gzip.compress(document, compresslevel=3, mtime=0)
    return base64.b64encode(data).decode("ascii")


def embeddable(document: str) -> str:
    """Return JSON text that cannot end or open an element when it stands in a script element."""
    # the last two ended lines in JavaScript before 2019, also within strings
    for char in "<>&\u2028\u2029":
        document = document.replace(char, f"\\u{ord(char):04x}")
    return document


def table_of(report: Report, chunks: Sequence[int]) -> dict[str, Any]:
    """Return the data of the page's table.

    Args:
        report: The report.
        chunks: The first row of each chunk of evidence.
    """
    place = {(task.benchmark, task.task_id): n for n, task in enumerate(report.tasks)}
    rows = [
        (run_index, place[run.info.benchmark, row.task_id], row)
        for run_index, run in enumerate(report.runs)
        for row in run.trials
    ]
    groups = dict.fromkeys(name for task in report.tasks for name in task.groups)
    return {
        "runs": [inline(run.label, WORD_LENGTH) for run in report.runs],
        "run_ids": run_names(report),
        "settings": _settings(report),
        "tasks": {
            "id": [task_name(task.task_id) for task in report.tasks],
            "goal": [clip(task.goal, _GOAL_LENGTH) for task in report.tasks],
            "template": _words(task.template for task in report.tasks),
            "groups": {
                inline(name, WORD_LENGTH): _coded(
                    tuple(inline(value, WORD_LENGTH) for value in task.groups.get(name, ()))
                    for task in report.tasks
                )
                for name in groups
            },
        },
        "size": len(rows),
        "trials": {
            "run": _shortened([run for run, _, _ in rows]),
            "task": [task for _, task, _ in rows],
            **_trial_columns([row for _, _, row in rows]),
        },
        "chunks": list(chunks),
        "notes": _notes(report),
    }


def task_name(task_id: str) -> str:
    """Return the id of a task as the page names it."""
    return inline(task_id, _ID_LENGTH)


def trial_address(names: Sequence[str], run: int, row: TrialRow | TrialKey | FlaggedTrial) -> str:
    """Return the address that opens a trial: its run's id, its task and its number, never positions."""
    return f"#open={_named([names[run], task_name(row.task_id), row.trial])}"


def pair_address(
    names: Sequence[str], new: tuple[int, TrialRow], other: tuple[int, TrialRow]
) -> str:
    """Return the address that opens two trials of one task next to each other."""
    beside = _named([names[other[0]], other[1].trial])
    return f"{trial_address(names, *new)}&with={beside}"


def _named(parts: list[Any]) -> str:
    return quote(json.dumps(parts, ensure_ascii=False), safe="")


def run_names(report: Report) -> list[str]:
    """Return the id of each run as links name it; copies of a run get a number."""
    names: list[str] = []
    for run in report.runs:
        name = inline(run.info.run_id, WORD_LENGTH)
        again = sum(each.partition(" #")[0] == name for each in names)
        names.append(f"{name} #{again + 1}" if again else name)
    return names


def shown_note(note: NoteEntry) -> dict[str, Any]:
    """Return a note as the page shows it."""
    return {
        "by": inline(note.by, WORD_LENGTH),
        "at": f"{note.at.astimezone(timezone.utc):%Y-%m-%d %H:%M}",
        "step": note.step,
        "check": note.check and visible(note.check),
        "label": note.label and inline(note.label, WORD_LENGTH),
        "text": clip(note.text, _GOAL_LENGTH),
        "earlier": note.earlier,
    }


def _notes(report: Report) -> list[tuple[int, list[dict[str, Any]]]]:
    """Return the notes of each row that has any."""
    first, found = 0, []
    for run in report.runs:
        notes: dict[TrialKey, list[dict[str, Any]]] = {}
        for note in run.notes.notes if run.notes else ():
            key = TrialKey(task_id=note.task_id, trial=note.trial)
            notes.setdefault(key, []).append(shown_note(note))
        for row, trial in enumerate(run.trials if notes else (), start=first):
            if its := notes.get(TrialKey(task_id=trial.task_id, trial=trial.trial)):
                found.append((row, its))
        first += len(run.trials)
    return found


def _settings(report: Report) -> dict[str, list[str]]:
    """Return each setting in which runs differ, by run, to be shown as a column on demand."""
    given = [
        {"model": run.info.model, "seed": run.info.seed, **run.info.config} for run in report.runs
    ]
    found: dict[str, list[str]] = {}
    for name in sorted({name for each in given for name in each}):
        values = [each.get(name) for each in given]
        if any(value != values[0] for value in values):
            found[inline(name, WORD_LENGTH)] = [
                "" if value is None else inline(shown_json(value, WORD_LENGTH), WORD_LENGTH)
                for value in values
            ]
    return found


def _trial_columns(rows: Sequence[TrialRow]) -> dict[str, Any]:
    numbers: dict[str, list[Any]] = {
        "trial": [row.trial for row in rows],
        "score": [row.score for row in rows],
        "confidence": [row.confidence for row in rows],
        "steps": [row.steps for row in rows],
        "input": [row.input_tokens for row in rows],
        "output": [row.output_tokens for row in rows],
        "cost": _rounded([row.cost_usd for row in rows], 6),
        "seconds": _rounded([row.time_s for row in rows], 3),
        "attempts": [row.attempts for row in rows],
    }
    words = {
        "status": _words(row.status.value for row in rows),
        "mode": _words(
            why_unscored(row.status, row.fault)
            if row.fault and row.score is None
            else row.failure_mode
            for row in rows
        ),
        "method": _words(row.method for row in rows),
        "flags": _words(
            ", ".join(
                [
                    *(f"integrity: {each}" for each in row.findings),
                    *(f"suspect: {each}" for each in row.suspect),
                    *row.flags,
                ]
            )
            for row in rows
        ),
    }
    return {
        **{name: _shortened(column) for name, column in numbers.items()},
        **{name: {**coded, "index": _shortened(coded["index"])} for name, coded in words.items()},
    }


def _shortened(column: list[Any]) -> list[Any] | dict[str, Any]:
    """Write a value once if all rows have it: the page unpacks the rest sooner."""
    if len(column) > 1 and column.count(column[0]) == len(column):
        return {"same": column[0]}
    return column


def _words(values: Iterable[str | None]) -> dict[str, list[Any]]:
    """Code words, empty ones as none; each distinct word is made visible once."""
    coded = _coded(value or None for value in values)
    return {**coded, "values": [inline(word, WORD_LENGTH) for word in coded["values"]]}


def _rounded(values: Iterable[float | None], digits: int) -> list[float | None]:
    return [None if value is None else round(value, digits) for value in values]


def _coded(values: Iterable[Hashable]) -> dict[str, list[Any]]:
    """Return the distinct values and, for each row, the index of its own; -1 for none."""
    places: dict[Hashable, int] = {}
    index = [-1 if v is None else places.setdefault(v, len(places)) for v in values]
    return {"values": list(places), "index": index}
