"""After which steps the apps' states passed: as their histories say, without opening anything."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench_core.errors import EvaluationError
from bench_core.records import Step, Task, TrialResult
from bench_core.run_folder import FINISH_STATE, TrialArtifacts, read_json, read_lines, read_run
from multireal_harness.cli import main
from multireal_harness.each_step import passed_after
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.world.replay import report_before

STORED = Path(__file__).parents[3] / "integration_tests" / "stored_runs" / "multireal" / "scripted"
TASK = "multi.dining-mail-2"


class Trial:
    """A trial that cancels a table and writes of it, in a folder that can be changed."""

    def __init__(self, folder: Path) -> None:
        run = read_run(STORED)
        (key,) = (each for each in run.results if each.task_id == TASK)
        self.task: Task = next(each for each in run.tasks if each.task_id == TASK)
        self.result: TrialResult = run.results[key]
        self.folder = shutil.copytree(run.trial_folder(key), folder)
        self.steps = list(read_lines(folder / "trajectory.jsonl", Step).records)

    def states(self) -> dict[str, Any]:
        found: dict[str, Any] = read_json(self.folder / FINISH_STATE)
        return found

    def passed(self, **changed: Any) -> list[bool | None]:
        result = self.result.model_copy(update=changed)
        return passed_after(self.task, result, self.folder, self.steps, EvaluationRules())


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path / "trial")


def test_a_state_passes_from_the_step_that_does_the_last_part(trial: Trial) -> None:
    assert trial.passed() == [False] * 8 + [True] * 2


def test_what_is_undone_after_the_last_step_but_one_no_longer_passes(trial: Trial) -> None:
    states, last = trial.states(), trial.steps[-1]
    assert last.started is not None
    at = last.started + timedelta(seconds=5)
    report = states["dining"]
    actions = report["actionhistory"]
    number = len(actions)
    booked = {"type": "booking/confirm", "payload": {"id": "b9"}, "timestamp": 1000 * at.timestamp() + 1,
              "id": f"dining-{number}", "index": number}  # fmt: skip
    longer = {**report, "actionhistory": [*actions, booked]}
    states["dining"] = {**report, **report_before("dining", longer, float("inf"))}
    TrialArtifacts(trial.folder).write_state(states)
    trial.steps.append(last.model_copy(update={"step": 11, "started": at}))
    assert trial.passed() == [False] * 8 + [True] * 2 + [False]


def test_other_apps_steps_without_times_and_a_forged_history_say_why(trial: Trial) -> None:
    with pytest.raises(EvaluationError, match="built-in"):
        trial.passed(world="real")
    states = trial.states()
    del states["dining"]["actionhistory"][-1]
    TrialArtifacts(trial.folder).write_state(states)
    with pytest.raises(EvaluationError, match="dining: its history leads to another state"):
        trial.passed()
    trial.steps[0] = Step(step=1)
    with pytest.raises(EvaluationError, match="no times"):
        trial.passed()


def test_the_command_scores_each_step_once(tmp_path: Path) -> None:
    run = shutil.copytree(STORED, tmp_path / "run")
    for evaluated in (2, 0):
        done = CliRunner().invoke(main, ["rescore", str(run), "--each-step", "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert (found["evaluated"], found["passed"], found["steps_after"]) == (evaluated, 2, 2)


def test_nothing_is_said_of_a_trial_without_steps(tmp_path: Path) -> None:
    run = shutil.copytree(STORED.with_name("do-nothing"), tmp_path / "run")
    done = CliRunner().invoke(main, ["rescore", str(run), "--each-step", "--json"])
    found = json.loads(done.stdout)
    assert (found["trials"], found["unknown"]) == (0, 2)
    assert found["why_unknown"] == "the trial has no steps"
