from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_core.errors import RunFolderBusyError, RunFolderError
from bench_core.provenance import describe_run
from bench_core.records import RunInfo, Status, Task, TrialKey
from bench_core.run_folder import RunFolder, read_run
from bench_core.testing import make_results, make_run, make_tasks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tasks() -> tuple[Task, ...]:
    return make_tasks(3)


@pytest.fixture
def info(tasks: tuple[Task, ...]) -> RunInfo:
    return describe_run(benchmark="demo", agent="scripted", tasks=tasks, trials=2)


@pytest.fixture
def completed(tasks: tuple[Task, ...]) -> list:
    return list(make_results(tasks, trials=2, statuses={Status.COMPLETED: 1.0}))


def test_a_new_run_has_its_whole_plan_ahead_all_tasks_before_repeats(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    with RunFolder.create(tmp_path / "run", info, tasks) as run:
        assert [(key.task_id, key.trial) for key in run.remaining()] == [
            ("0", 1), ("1", 1), ("2", 1), ("0", 2), ("1", 2), ("2", 2),
        ]  # fmt: skip


def test_what_was_appended_is_read_back(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...], completed: list
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        for result in completed:
            run.append(result)
        while_open = read_run(tmp_path).results
        assert run.results() == while_open
    assert list(while_open.values()) == completed


def test_resuming_leaves_done_trials_alone(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...], completed: list
) -> None:
    with RunFolder.create(tmp_path, info, tasks) as run:
        run.append(completed[0])
        run.append(completed[4])
    with RunFolder.resume(tmp_path) as run:
        assert TrialKey(task_id="0", trial=1) not in run.remaining()
        assert TrialKey(task_id="1", trial=2) not in run.remaining()
        assert len(run.remaining()) == 4


def test_a_second_writer_is_refused_with_who_holds_the_folder(
    tmp_path: Path, info: RunInfo, tasks: tuple[Task, ...]
) -> None:
    with (
        RunFolder.create(tmp_path, info, tasks),
        pytest.raises(RunFolderBusyError, match=r"is being written by process \d+ on .+ since 20"),
    ):
        RunFolder.resume(tmp_path)


def test_a_run_of_another_configuration_is_refused(tmp_path: Path) -> None:
    make_run(tmp_path, tasks=2)
    with pytest.raises(RunFolderError, match="another configuration"):
        RunFolder.resume(tmp_path, config_hash="0" * 64)
