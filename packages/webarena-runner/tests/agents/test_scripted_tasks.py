"""Real task ids in a real Chromium, scored by the real evaluator.

A choice of the built-in world's tasks; with WEBARENA_TASKS=all in the environment, all of them.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from variants import wrong_variants

from bench_core.browser_use.scripted_chat import answer, click, fill
from bench_core.discovery import load_agent
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.config import load_config
from webarena_runner.evaluation import evaluate
from webarena_runner.reference_solutions.trials import write_trial
from webarena_runner.tasks import load_tasks
from webarena_runner.world import scripted_task_ids
from webarena_runner.world.launch import built_in_world, environment_of
from webarena_runner.world.scripts import demo_task_ids

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Trials

    from bench_core.records import TrialResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVERY = os.environ.get("WEBARENA_TASKS") == "all"
IDS = [str(each) for each in (scripted_task_ids() if EVERY else demo_task_ids())]
TASKS = {task.task_id: task for task in load_tasks()}


class Campaign:
    """A finished run: its results and trial folders by task, and where its sites were."""

    def __init__(self, folder: Path) -> None:
        self.config = load_config(folder / "sites.json")
        self._run = read_run(folder / "run")
        self._keys = {key.task_id: key for key in self._run.results}

    def result(self, task_id: str) -> TrialResult:
        return self._run.results[self._keys[task_id]]

    def folder(self, task_id: str) -> Path:
        return self._run.trial_folder(self._keys[task_id])


@pytest.fixture(scope="module")
def campaign(made_once: Callable[..., Path]) -> Campaign:
    return Campaign(made_once("scripted-campaign", run_campaign))


def run_campaign(folder: Path) -> None:
    spec = RunSpec(tasks=TaskFilter(ids=tuple(IDS)), agent="scripted", workers=2, world="built-in")
    with built_in_world() as world:
        environment = environment_of(world)
        run_environment = RunEnvironment(locks=NoLocks())
        run_benchmark_sync(
            WebArenaBenchmark(environment), spec, folder / "run", run_environment=run_environment
        )
    (folder / "sites.json").write_text(json.dumps(environment.config.described()))


@pytest.mark.parametrize("task_id", IDS)
def test_a_task_done_right_scores_one(campaign: Campaign, task_id: str) -> None:
    result = campaign.result(task_id)

    assert (result.status.value, result.score, result.error) == ("completed", 1.0, None)
    assert result.world == "built-in"


@pytest.mark.parametrize("task_id", IDS)
def test_what_was_recorded_altered_scores_zero(
    campaign: Campaign, task_id: str, tmp_path: Path
) -> None:
    task, folder = TASKS[task_id], campaign.folder(task_id)
    right = json.loads((folder / "agent_response.json").read_text())
    traffic = json.loads((folder / "network.har").read_text())["log"]["entries"]
    scores = {
        variant.name: evaluate(
            task,
            write_trial(
                tmp_path / variant.name,
                task,
                campaign.config,
                answer=variant.answer,
                entries=variant.entries,
            ),
        ).score
        for variant in wrong_variants(task, right, traffic)
    }

    assert len(scores) >= 3
    assert scores == dict.fromkeys(scores, 0.0)


NAVIGATED = answer({"task_type": "NAVIGATE", "status": "SUCCESS"})
MUTATED = answer({"task_type": "MUTATE", "status": "SUCCESS"})
CATEGORY = click("Video Games", tag="a")


def _found(value: Any) -> Any:
    return answer({"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [value]})


WRONG = {
    "one page too many": (260, [CATEGORY, click("Contact Us"), NAVIGATED]),
    "the wrong number": (132, [_found(2)]),
    "a form left unsent": (399, [click("MarvelsGrantMan136"), click("Edit biography"), MUTATED]),
    "a form that was to stay unsent": (
        689,
        [
            click("Contact Us"),
            fill("I am a loyal customer, give me a coupon", name="comment"),
            click("Submit"),
            MUTATED,
        ],
    ),
}


@pytest.mark.parametrize("how", WRONG)
async def test_a_task_done_wrong_scores_zero(trials: Trials, how: str) -> None:
    task_id, turns = WRONG[how]

    result = await trials.run(task_id, trials.playing(*turns))

    assert (result.status.value, result.score) == ("completed", 0.0)


async def test_doing_nothing_scores_zero(trials: Trials) -> None:
    result = await trials.run(260, load_agent("do-nothing"))

    assert (result.status.value, result.score, result.steps) == ("completed", 0.0, 0)
