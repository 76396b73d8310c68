"""Multi-REAL's queries first, llm-judge second: the two meet through the judge's entry point."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from test_support.scripted_judges import criterion_for_value, honest

from bench_core.discovery import load_agent
from bench_core.models import Model, ModelError, ScriptedAdapter
from bench_core.protocols import TrialContext
from bench_core.records import Limits
from bench_core.trial import run_trial
from llm_judge import Judge
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers
from multireal_harness.definitions import Definition
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.judge_plugin import load_judge
from multireal_harness.tasks import load_tasks, task_of
from multireal_harness.world import BuiltInWorld

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.records import Task, TrialResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ADDED = "dining.differences.bookings.added"


@pytest.fixture(scope="module")
def world() -> Iterator[BuiltInWorld]:
    world = BuiltInWorld()
    world.open()
    yield world
    world.close()


@pytest.fixture
def task() -> Task:
    """Return a built-in task whose query no correct run can satisfy."""
    known = next(each for each in load_tasks("built-in") if each.task_id == "multi.dining-mail-1")
    definition: Any = dict(known.config["definition"])
    definition["evals"] = [
        {
            "type": "jmespath",
            "query": f"{ADDED}[?guests == '4 people'][0].restaurant.name == 'Osteria Verde'",
            "expected_value": True,
            "description": criterion_for_value(
                "/dining/differences/bookings/added/0/restaurant/name", "Osteria Verde"
            ),
        }
    ]
    return task_of(Definition.model_validate(definition))


async def run(
    task: Task, world: BuiltInWorld, folder: Path, judge: Any, solution: str = "good"
) -> TrialResult:
    browsers = Browsers()
    benchmark = MultiRealBenchmark(
        [task],
        origins=world.urls,
        browsers=browsers,
        rules=EvaluationRules(judge=judge),
        settings=EnvironmentSettings(track=False),
    )
    context = TrialContext(
        run_id="judged",
        folder=folder,
        agent="scripted",
        limits=Limits(max_steps=60),
        config={"solution": solution},
    )
    try:
        return await run_trial(benchmark, task, context, load_agent("scripted"))
    finally:
        await browsers.close()


async def test_judge_passes_what_a_defective_query_refuses(
    task: Task, world: BuiltInWorld, tmp_path: Path
) -> None:
    result = await run(task, world, tmp_path, Judge(Model(ScriptedAdapter(honest))))
    assert (result.score, result.method) == (1.0, "llm_judge")
    assert result.details["confidence"] == "medium"
    assert result.flags == ("disagree", "defective_queries")
    verdict = json.loads((tmp_path / "judgement.json").read_text())
    assert verdict["criteria"][0]["evidence"][0]["verified"] is True


async def test_judge_refuses_what_was_not_done(
    task: Task, world: BuiltInWorld, tmp_path: Path
) -> None:
    judge = Judge(Model(ScriptedAdapter(honest)))
    result = await run(task, world, tmp_path, judge, "second_best")
    assert (result.score, result.method) == (0.0, "hybrid")
    assert result.details["confidence"] == "medium"


async def test_judge_that_cannot_answer_leaves_no_score(
    task: Task, world: BuiltInWorld, tmp_path: Path
) -> None:
    down = ModelError("auth", "no such key", provider="scripted")
    result = await run(task, world, tmp_path, Judge(Model(ScriptedAdapter([down] * 9))))
    assert (result.status.value, result.score) == ("evaluation_error", None)
    assert "judge_error" in result.flags


def test_judge_is_found_by_its_entry_point(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    judge = load_judge("llm-judge", f"scripted:{script}")
    assert isinstance(judge, Judge)
