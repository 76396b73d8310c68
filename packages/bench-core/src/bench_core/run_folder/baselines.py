"""Finished runs that later ones are compared with: run folders, or small files that stand in for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ConfigDict, ValidationError

from bench_core.errors import InputError
from bench_core.records import Record, RunInfo
from bench_core.records.problems import problems_of
from bench_core.records.trial import Score
from bench_core.run_folder.folder import read_run

_SHOWN_HASH = 12
COMPARABLE: Mapping[str, Callable[[RunInfo], str]] = {
    "benchmark": lambda info: info.benchmark,
    "benchmark version": lambda info: info.benchmark_version or "",
    "task set": lambda info: info.task_set_hash[:_SHOWN_HASH],
    "world": lambda info: info.world,
    "profile": lambda info: info.profile,
}
"""Settings that must agree in compared runs; a setting that a run does not state cannot differ."""
Stored = TypeVar("Stored", bound="StoredRun")

_NAME = "baseline.json"
"""Default name of a baseline file."""


class StoredRun(Record):
    """The parts of a baseline file that are read here; `bench-report export baseline` writes them.

    Attributes:
        label: The run's short name.
        info: The run's own `run.json`.
        scores: Task id to the scores of its ended trials; `None` for trials without a score.
    """

    model_config = ConfigDict(extra="ignore")  # reports also compare other fields

    schema_version: Literal[1] = 1
    kind: Literal["baseline"] = "baseline"
    label: str
    info: RunInfo
    scores: dict[str, tuple[Score | None, ...]]


def stored_baseline(run: Path) -> Path:
    """Return the baseline next to a run folder, else in the working directory: `baseline.json`.

    Raises:
        InputError: There is none.
    """
    places = (run.absolute().parent / _NAME, Path.cwd() / _NAME)
    found = next((each for each in places if each.is_file()), None)
    if found is None:
        raise InputError(
            f"nothing to compare {run} with: store a good run once by `bench-report export baseline RUN "
            f"--out {places[0]}` and every later run beside it is compared with that, or name another run "
            "by --against"
        )
    return found


def stored_run(path: Path) -> StoredRun:
    """Return the scores of a run folder or of a baseline file.

    Raises:
        InputError: The file is not a baseline.
        RunFolderError: The folder is missing or damaged.
    """
    if path.is_file():
        return read_baseline(path, StoredRun)
    view = read_run(path)
    scores: dict[str, list[float | None]] = {}
    for task_id, _, score in sorted((each.task_id, each.trial, each.score) for each in view.latest):
        scores.setdefault(task_id, []).append(score)
    kept = {task: tuple(found) for task, found in scores.items()}
    return StoredRun(label=path.name, info=view.info, scores=kept)


def read_baseline(path: Path, record: type[Stored]) -> Stored:
    """Return a baseline file as a record of that class.

    Raises:
        InputError: The file is not a baseline.
    """
    try:
        return record.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError(
            f"{path} is not a baseline ({problems_of(error, record)}): give a run folder, or a file "
            "written by `bench-report export baseline RUN`"
        ) from None
