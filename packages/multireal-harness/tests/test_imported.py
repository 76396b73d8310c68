"""Import of agisdk's results: scored from their end states, or marked as reported only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from bench_core.run_folder import read_run
from multireal_harness.cli import main
from multireal_harness.imported import import_results
from multireal_harness.tasks import load_tasks, resolve_tasks_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records import Task

TASK = "dining-mail-2"


@pytest.fixture
def tasks() -> Sequence[Task]:
    return load_tasks(resolve_tasks_dir("built-in"))


def experiment(tree: Path, number: int, state: object = None, **summary: Any) -> Path:
    folder = tree / f"2026-01-01_agent_on_multi.{TASK}_{number}"
    folder.mkdir(parents=True)
    (folder / "summary_info.json").write_text(json.dumps(summary))
    if state is not None:
        (folder / "finish_state.json").write_text(json.dumps(state))
    return folder


def test_an_end_state_is_scored_and_others_keep_what_was_reported(
    tmp_path: Path, tasks: Sequence[Task]
) -> None:
    tree = tmp_path / "tree"
    nothing = {"opendining": {}, "gomail": {}}
    experiment(tree, 1, nothing, cum_reward=1.0, eval_results={"score": 1.0}, terminated=True)
    experiment(tree, 2, cum_reward=1.0, terminated=True, n_steps=3)
    experiment(tree, 3, cum_reward=0.0, err_msg="the site is down")
    made = import_results(tree, tmp_path / "run", tasks)
    assert made.reported_only == 1
    assert list(made.without_score.values())[-1] == "the site is down"
    results = {each.trial: each for each in read_run(tmp_path / "run").results.values()}
    assert (results[2].score, "reported_only" in results[2].flags) == (1.0, True)
    assert (results[3].score, results[3].status.value) == (None, "environment_error")
    assert results[1].score != 1.0
    assert "reported_only" not in results[1].flags


def test_a_state_that_is_a_link_is_not_read(tmp_path: Path, tasks: Sequence[Task]) -> None:
    folder = experiment(tmp_path / "tree", 1, cum_reward=0.0, terminated=True)
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    (folder / "finish_state.json").symlink_to(secret)
    made = import_results(tmp_path / "tree", tmp_path / "run", tasks)
    assert (made.scored, made.reported_only) == (0, 1)


def test_nothing_to_import_is_an_error(tmp_path: Path, tasks: Sequence[Task]) -> None:
    with pytest.raises(InputError, match="no results of a known task"):
        import_results(tmp_path, tmp_path / "run", tasks)


def test_the_command_imports(tmp_path: Path) -> None:
    experiment(tmp_path / "tree", 1, cum_reward=0.0, terminated=True)
    out = tmp_path / "run"
    given = ["import", str(tmp_path / "tree"), "--tasks-dir", "built-in", "--out", str(out)]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0
    assert "1 trials with a reported score only" in done.output
    assert CliRunner().invoke(main, given).exit_code == 2
