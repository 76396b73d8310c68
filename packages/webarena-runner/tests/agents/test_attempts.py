"""How a browser-use attempt ends, and what it leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer as ModelAnswer
from test_support.model_server import ModelServer as OfficialFormats

from bench_core.browser_use import AgentSettings, BrowserUseAgent, Patience
from bench_core.browser_use.scripted_chat import answer, click, go
from bench_core.records import AgentTask, Limits, Step, Usage
from bench_core.run_folder import read_lines
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import ModelServer, Trials

    from bench_core.protocols import BrowserHandle, TrialContext

pytestmark = pytest.mark.browser

NAVIGATED = answer({"task_type": "NAVIGATE", "status": "SUCCESS"})
TASK = AgentTask(benchmark="webarena", task_id="260", goal="Open the category")
IMPATIENT = Patience(retries=1, backoff_s=0.0, call_timeout_s=20.0)
DONE = {
    "done": {
        "success": True,
        "data": {
            "task_type": "RETRIEVE",
            "status": "SUCCESS",
            "retrieved_data": [7],
            "error_details": None,
        },
    }
}


def _asking(server: ModelServer, context: TrialContext) -> tuple[BrowserUseAgent, TrialContext]:
    """An agent of browser-use's own chat class, with vision off and little patience."""
    settings = AgentSettings(base_url=server.url, patience=IMPATIENT, use_vision=False)
    changes = {"model": "openai:local-1", "config": {"chat": "browser-use"}}
    return BrowserUseAgent(settings), context.model_copy(update=changes)


async def test_every_step_is_written_down_with_its_screenshot(
    trials: Trials, context: TrialContext
) -> None:
    result = await trials.run(260)

    steps = read_lines(context.folder / "trajectory.jsonl", Step).records
    assert [next(iter(step.actions[0])) for step in steps] == ["click", "done"]
    assert [step.url for step in steps] == [
        f"{trials.world.urls['shopping']}/",
        f"{trials.world.urls['shopping']}/video-games.html",
    ]
    shots = [(context.folder / str(step.screenshot)).read_bytes() for step in steps]
    assert all(shot.startswith(b"\x89PNG") for shot in shots)
    assert result.steps == 2
    assert result.usage == Usage(requests=2)


async def test_running_out_of_steps_is_a_step_limit(trials: Trials) -> None:
    agent = trials.playing(*[click("Contact Us")] * 5)

    result = await trials.run(260, agent, Limits(max_steps=2, time_limit_s=240))

    assert (result.status.value, result.score, result.steps) == ("step_limit", 0.0, 2)


@pytest.mark.parametrize("kind", ["stall", "hang"])
async def test_a_page_that_keeps_the_agent_busy_is_a_time_limit(trials: Trials, kind: Any) -> None:
    trials.world.faults["shopping"].switch_on(kind, "/contact")
    agent = trials.playing(go(f"{trials.world.urls['shopping']}/contact/"), NAVIGATED, NAVIGATED)

    result = await trials.run(260, agent, Limits(max_steps=8, time_limit_s=5))

    assert (result.status.value, result.score) == ("time_limit", 0.0)


async def test_a_script_that_does_not_fit_the_page_is_the_agents_error(trials: Trials) -> None:
    result = await trials.run(260, trials.playing(click("No such link"), NAVIGATED))

    assert (result.status.value, result.score) == ("agent_error", 0.0)
    assert result.error is not None
    assert result.error.kind == "ScriptError"
    assert "'No such link'" in result.error.message


async def test_a_models_answer_tokens_and_steps_are_reported(
    handle: BrowserHandle, context: TrialContext, model_server: ModelServer
) -> None:
    model_server.says(DONE)
    agent, context = _asking(model_server, context)

    outcome = await agent.run(TASK, handle, context)

    assert outcome.status.value == "completed"
    assert outcome.answer == DONE["done"]["data"]
    assert outcome.usage == Usage(requests=1, input_tokens=100, output_tokens=20)
    assert outcome.steps == 1


async def test_the_model_sees_the_goal_and_nothing_of_what_is_expected(
    handle: BrowserHandle, context: TrialContext, model_server: ModelServer
) -> None:
    model_server.says(DONE)
    agent, context = _asking(model_server, context)
    task = next(each for each in load_tasks() if each.task_id == "0")

    await agent.run(task.for_agent(), handle, context)

    prompts = json.dumps(model_server.asked, ensure_ascii=False)
    assert task.goal in prompts
    assert "Lumaflex" not in prompts
    assert "results_schema" not in prompts
    assert "AgentResponseEvaluator" not in prompts


OUTPUT = json.dumps(
    {
        "evaluation_previous_goal": None, "memory": None, "next_goal": None, "thinking": None,
        "current_plan_item": None, "plan_update": None, "action": [DONE],
    }
)  # fmt: skip


async def test_proctors_adapters_report_the_model_and_can_be_replayed(
    handle: BrowserHandle,
    context: TrialContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    recorded = _in_run(tmp_path / "first", context, {"record_calls": True})
    replayed = _in_run(tmp_path / "second", context, {"replay_calls": str(tmp_path / "first")})
    with OfficialFormats([ModelAnswer(text=OUTPUT, model="local-1-dated")]) as server:
        agent = BrowserUseAgent(AgentSettings(base_url=server.base_url("openai"), use_vision=False))
        first = await agent.run(TASK, handle, recorded)
        monkeypatch.delenv("OPENAI_API_KEY")
        second = await agent.run(TASK, handle, replayed)

    assert (first.answer, first.model_reported) == (DONE["done"]["data"], "local-1-dated")
    assert first.usage == Usage(
        requests=1, input_tokens=100, cached_input_tokens=40, output_tokens=20
    )
    assert (second.answer, second.cost_usd) == (first.answer, 0.0)
    assert len(server.requests) == 1


def _in_run(run: Path, context: TrialContext, config: dict[str, Any]) -> TrialContext:
    folder = run / "trials" / "1" / TASK.task_id
    folder.mkdir(parents=True)
    changes = {"folder": folder, "model": "openai:local-1", "config": config}
    return context.model_copy(update=changes)


async def test_a_model_that_never_makes_sense_is_the_agents_error(
    trials: Trials, model_server: ModelServer
) -> None:
    model_server.says_text("I would rather talk.")
    agent, context = _asking(model_server, trials.context)
    trials.context = context

    result = await trials.run(260, agent)

    assert (result.status.value, result.score) == ("agent_error", 0.0)
    assert result.ending is not None
    details: Any = result.ending.details
    assert details["unusable_answers"] >= 5
