"""A run of six planned trials, four of them done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from planned_runs import NOW, TASKS

from bench_core.records import Event, RunInfo, Status, Task, TrialResult
from bench_core.run_folder import RunFolder, describe_run
from bench_core.testing import make_results

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tasks() -> tuple[Task, ...]:
    return TASKS


@pytest.fixture
def info(tasks: tuple[Task, ...]) -> RunInfo:
    return describe_run(benchmark="demo", agent="scripted", tasks=tasks, trials=2)


@pytest.fixture
def completed(tasks: tuple[Task, ...]) -> list[TrialResult]:
    made = make_results(tasks, trials=2, statuses={Status.COMPLETED: 1.0})
    return [each.model_copy(update={"artifacts": ()}) for each in made]


@pytest.fixture
def run_path(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...], completed: list[TrialResult]
) -> Path:
    """Hold a run of six planned trials, the first four of them done."""
    path = tmp_path / "run"
    with RunFolder.create(path, info, tasks) as run:
        for result in completed[:4]:
            run.append(result)
        run.event(Event(time=NOW, kind="started"))
    return path
