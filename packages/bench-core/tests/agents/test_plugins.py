"""The agents of this package: one implementation, whatever the benchmark."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.agents.plugins import ToolCallingPlugin, images_shown
from bench_core.agents.tool_calling import images_kept
from bench_core.discovery import load_agent
from bench_core.errors import InputError
from bench_core.models import MissingKeyError, Model, ScriptedAdapter, model_of
from bench_core.protocols import Agent, TextHandle, TrialContext
from bench_core.records import AgentTask

if TYPE_CHECKING:
    from pathlib import Path

TASK = AgentTask(benchmark="sums", task_id="1", goal="Say 3")
GUIDED = """
import asyncio, sys
from pathlib import Path
from bench_core.discovery import load_agent
from bench_core.protocols import TextHandle, TrialContext
from bench_core.records import AgentTask

context = TrialContext(run_id="r", folder=Path(), config={"solution": "best"})
task = AgentTask(benchmark="sums", task_id="1", goal="Say 3")
print(asyncio.run(load_agent(sys.argv[1]).run(task, TextHandle(), context)).answer)
"""
GUIDE = """
from bench_core.guides import AgentGuide
from bench_core.records import AgentOutcome

class Solver:
    name = "solver"
    def __init__(self, answer):
        self.answer = answer
    async def run(self, task, environment, context):
        return AgentOutcome(answer=self.answer)

GUIDE = AgentGuide(
    idle_answer="nothing",
    solver=lambda task, context: Solver(f"{context.config['solution']} of {task.task_id}"),
)
"""


@pytest.fixture
def context(tmp_path: Path) -> TrialContext:
    return TrialContext(run_id="r", folder=tmp_path, agent="tool-calling")


@pytest.mark.parametrize("name", ["do-nothing", "scripted", "tool-calling", "computer-use"])
def test_an_agent_is_found_by_its_name(name: str) -> None:
    agent = load_agent(name)
    assert isinstance(agent, Agent)
    assert agent.name == name


@pytest.mark.parametrize(
    ("agent", "answer"), [("do-nothing", "nothing"), ("scripted", "best of 1")]
)
def test_a_benchmarks_guide_is_found_by_its_name(agent: str, answer: str, tmp_path: Path) -> None:
    info = tmp_path / "sums-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bench_core.guides]\nsums = sums:GUIDE\n")
    (tmp_path / "sums.py").write_text(GUIDE)
    found = subprocess.run(
        [sys.executable, "-c", GUIDED, agent],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == answer


async def test_doing_nothing_needs_no_guide(context: TrialContext) -> None:
    outcome = await load_agent("do-nothing").run(TASK, TextHandle(), context)
    assert (outcome.status.value, outcome.answer) == ("completed", None)


async def test_a_benchmark_without_solutions_is_named(context: TrialContext) -> None:
    with pytest.raises(InputError, match="'sums' brings no reference solutions"):
        await load_agent("scripted").run(TASK, TextHandle(), context)


async def test_an_agent_without_a_model_says_how_to_name_one(context: TrialContext) -> None:
    with pytest.raises(InputError, match="'tool-calling' needs a model: `--model provider:name`"):
        await load_agent("tool-calling").run(TASK, TextHandle(), context)


def test_a_run_may_open_its_model_in_a_way_of_its_own(context: TrialContext) -> None:
    model = Model(ScriptedAdapter([]))
    assert model_of(context.with_model_opener(lambda _: model)) is model


def test_a_model_may_be_on_a_server_that_the_agents_options_name(
    context: TrialContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = context.model_copy(update={"model": "openai-chat:m"})
    with pytest.raises(MissingKeyError):
        model_of(asked)
    config = {"agent_options": {"base_url": "http://127.0.0.1:9/v1"}}
    pytest.importorskip("openai")
    assert model_of(asked.model_copy(update={"config": config})).name == "openai-chat:m"


@pytest.mark.parametrize("config", [{"images": "5"}, {"agent_options": {"images": 5}}])
def test_an_option_of_the_agent_is_in_its_options_or_the_runs(
    context: TrialContext, config: dict[str, object]
) -> None:
    assert images_shown(context) is None
    assert images_shown(context.model_copy(update={"config": config})) == 5


def test_a_number_of_pictures_that_is_none_is_refused(context: TrialContext) -> None:
    with pytest.raises(InputError, match="images is a number or 'all', not 'many'"):
        images_shown(context.model_copy(update={"config": {"images": "many"}}))


@pytest.mark.parametrize("option", ["pictures", "marks"])
def test_a_flag_that_is_none_is_refused(context: TrialContext, option: str) -> None:
    given = context.model_copy(update={"config": {"agent_options": {option: "perhaps"}}})
    with pytest.raises(InputError, match=f"{option} is true or false, not 'perhaps'"):
        ToolCallingPlugin().check_model(given)


@pytest.mark.parametrize(
    ("model", "asked", "kept"),
    [
        ("openai:gpt-5.5", None, 5),
        ("anthropic:claude-opus-4-6", None, None),
        ("anthropic:claude-opus-4-6", 3, 3),
        ("openai:gpt-5.5", "all", None),
    ],
)
def test_a_models_latest_five_pictures_are_kept_and_all_of_claude(
    model: str, asked: Any, kept: int | None
) -> None:
    assert images_kept(model, asked) == kept


def test_a_model_whose_turns_must_stay_cannot_lose_pictures() -> None:
    with pytest.raises(InputError, match="leave out the option images"):
        images_kept("anthropic:claude-opus-5-5", 3)
