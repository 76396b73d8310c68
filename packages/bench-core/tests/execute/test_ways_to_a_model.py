"""However an agent reaches a model, its calls are counted, or told as unknown: never as nothing."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from bench_core.agents import Decision, Done, LoopAgent, Observation
from bench_core.budgets import Budget
from bench_core.errors import BudgetExceededError
from bench_core.models import Message, ModelRequest, SyncModel, model_of, open_model
from bench_core.protocols import TextHandle
from bench_core.records import AgentOutcome, Status, Task, Usage
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask, TrialResult

REQUEST = ModelRequest(messages=(Message.user("What next?"),))
MODEL = "openai-chat:test-model"
CALL = Usage(requests=1, input_tokens=100, cached_input_tokens=40, output_tokens=20)
BODY = {"model": "test-model", "messages": [{"role": "user", "content": "What next?"}]}
UNKNOWN = "usage_unknown"


class Three:
    """Three tasks that every agent solves."""

    name = "three"

    def tasks(self) -> list[Task]:
        return [Task(benchmark="three", task_id=str(each), goal="") for each in range(3)]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        yield TrialEnvironment(handle=TextHandle())

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=1.0)


class Caller:
    """Calls a model twice, in the way that it is given."""

    name = "caller"

    def __init__(self, call: Callable[[TrialContext], Any]) -> None:
        self._call = call

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        for _ in range(2):
            done = self._call(context)
            if asyncio.iscoroutine(done):
                await done
        return AgentOutcome()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    pytest.importorskip("openai")
    with ModelServer(lambda _: Answer(text="done")) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url("openai"))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.base_url("anthropic"))
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks GitHub for prices
        yield running


async def results_of(agent: Agent, out: Path, **spec: Any) -> list[TrialResult]:
    run = RunEnvironment(locks=NoLocks(), agent_for=lambda *_: agent)
    await run_benchmark(Three(), RunSpec(agent=agent.name, **spec), out, run_environment=run)
    return list(read_run(out).results.values())


async def opened(context: TrialContext) -> None:
    async with open_model(MODEL) as model:
        await model.complete(REQUEST)


async def of_the_run(context: TrialContext) -> None:
    async with model_of(context) as model:
        await model.complete(REQUEST)


def without_async(context: TrialContext) -> None:
    with SyncModel(open_model(MODEL)) as model:
        model.complete(REQUEST)


async def in_a_thread(context: TrialContext) -> None:
    """In a thread that copies no context variables."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            model.complete(REQUEST)
        except BudgetExceededError as error:
            raised.append(error)

    with SyncModel(open_model(MODEL)) as model:
        thread = threading.Thread(target=call)
        thread.start()
        await asyncio.to_thread(thread.join)
    if raised:
        raise raised[0]


OURS = [opened, of_the_run, without_async, in_a_thread]


@pytest.mark.parametrize("way", OURS)
async def test_calls_of_proctors_client_are_counted_however_it_was_opened(
    way: Callable[[TrialContext], Any], server: ModelServer, tmp_path: Path
) -> None:
    results = await results_of(Caller(way), tmp_path / "run", model=MODEL)
    assert [each.usage for each in results] == [CALL + CALL] * 3
    assert {UNKNOWN, "usage_reported"}.isdisjoint(flag for each in results for flag in each.flags)


@pytest.mark.parametrize("way", OURS)
async def test_a_budget_is_kept_however_the_client_was_opened(
    way: Callable[[TrialContext], Any], server: ModelServer, tmp_path: Path
) -> None:
    budget = Budget(max_tokens=200)
    results = await results_of(Caller(way), tmp_path / "run", model=MODEL, budget=budget)
    assert len(server.requests) == 2
    assert {each.status for each in results} <= {Status.BUDGET_EXCEEDED, Status.COMPLETED}


def by_openais_sdk(context: TrialContext) -> None:
    import openai

    with openai.OpenAI(api_key="none") as client:
        client.chat.completions.create(model="test-model", messages=BODY["messages"])


def by_anthropics_sdk(context: TrialContext) -> None:
    import anthropic

    with anthropic.Anthropic(api_key="none") as client:
        client.messages.create(model="test-model", messages=BODY["messages"], max_tokens=9)


def by_googles_sdk(context: TrialContext) -> None:
    from google import genai

    where = {"base_url": os.environ["ANTHROPIC_BASE_URL"]}
    with genai.Client(api_key="none", http_options=where) as client:
        client.models.generate_content(model="test-model", contents="What next?")


def by_httpx(context: TrialContext) -> None:
    import httpx

    httpx.post(f"{address()}/chat/completions", json=BODY).raise_for_status()


def by_langchain(context: TrialContext) -> None:
    import langchain_openai as langchain

    langchain.ChatOpenAI(model="test-model", api_key="none").invoke("What next?")


async def by_litellm(context: TrialContext) -> None:
    # the import takes 10 s and more of a busy machine: the loop must not stand still for it
    litellm = await asyncio.to_thread(importlib.import_module, "litellm")
    litellm.completion(model="openai/test-model", api_key="none", messages=BODY["messages"])


async def by_another_process(context: TrialContext) -> None:
    program = (
        "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], sys.argv[2].encode(),"
        " {'content-type': 'application/json'})).read()"
    )
    await started(sys.executable, "-c", program, f"{address()}/chat/completions", json.dumps(BODY))


async def by_another_language(context: TrialContext) -> None:
    node = shutil.which("node")
    assert node is not None
    program = (
        "const [url, body] = process.argv.slice(1); const at = new URL(url);"
        "const ask = require('http').request(at, {method: 'POST', headers: {'content-type': "
        "'application/json', 'content-length': Buffer.byteLength(body)}}, got => got.resume());"
        "ask.end(body);"
    )
    await started(node, "-e", program, f"{address()}/chat/completions", json.dumps(BODY))


async def started(*command: str) -> None:
    await asyncio.to_thread(subprocess.run, command, check=True)


def address() -> str:
    return os.environ["OPENAI_BASE_URL"]


def needs(way: Callable[[TrialContext], Any], module: str) -> Any:
    missing = importlib.util.find_spec(module.partition(".")[0]) is None
    return pytest.param(way, marks=pytest.mark.skipif(missing, reason=f"needs {module}"))


@pytest.mark.parametrize(
    "way",
    [
        by_openais_sdk,
        needs(by_anthropics_sdk, "anthropic"),
        needs(by_googles_sdk, "google.genai"),
        by_httpx,
        needs(by_langchain, "langchain_openai"),
        needs(by_litellm, "litellm"),
        by_another_process,
        pytest.param(
            by_another_language,
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
        ),
    ],
)
async def test_calls_that_cannot_be_counted_are_told_as_unknown(
    way: Callable[[TrialContext], Any], server: ModelServer, tmp_path: Path
) -> None:
    results = await results_of(Caller(way), tmp_path / "run", model=MODEL)
    assert len(server.requests) == 6
    assert [(UNKNOWN in each.flags, each.cost_usd, each.spent) for each in results] == [
        (True, None, ())
    ] * 3


async def test_a_run_ends_whose_budget_nothing_can_keep(
    server: ModelServer, tmp_path: Path
) -> None:
    budget = Budget(max_tokens=1_000_000)
    results = await results_of(Caller(by_httpx), tmp_path / "run", model=MODEL, budget=budget)
    assert len(results) == 1


async def test_an_agent_without_a_model_is_not_said_to_have_used_one(tmp_path: Path) -> None:
    results = await results_of(Caller(lambda _: None), tmp_path / "run")
    assert [(each.flags, each.cost_usd, each.spent) for each in results] == [((), None, ())] * 3


class Still:
    """An environment in which nothing happens."""

    async def observe(self) -> Observation:
        return Observation()


@asynccontextmanager
async def still(handle: EnvironmentHandle) -> AsyncIterator[Any]:
    yield Still()


def loop_of(decide: Callable[[TrialContext], Any]) -> LoopAgent:
    """Return an agent that decides once."""

    class Once:
        def __init__(self, task: AgentTask, context: TrialContext) -> None:
            self._context = context

        async def act(self, observation: Observation) -> Decision:
            decision = decide(self._context)
            return await decision if asyncio.iscoroutine(decision) else decision

    return LoopAgent("once", Once, connect=still)


async def test_a_step_costs_what_the_meter_counted_whatever_the_decision_says(
    server: ModelServer, tmp_path: Path
) -> None:
    async def decide(context: TrialContext) -> Decision:
        await opened(context)
        return Decision(actions=(Done(),), usage=Usage(requests=7))

    out = tmp_path / "run"
    results = await results_of(loop_of(decide), out, model=MODEL)
    assert [each.usage for each in results] == [CALL] * 3
    steps = [json.loads(path.read_text()) for path in sorted(out.rglob("trajectory.jsonl"))]
    assert [Usage.model_validate(each["usage"]) for each in steps] == [CALL] * 3


async def test_what_only_the_agent_knows_counts_against_the_budget_and_is_told(
    tmp_path: Path,
) -> None:
    def decide(context: TrialContext) -> Decision:
        return Decision(actions=(Done(),), usage=CALL, cost_usd=0.5)

    budget = Budget(max_tokens=200)
    results = await results_of(loop_of(decide), tmp_path / "run", model=MODEL, budget=budget)
    assert len(results) == 2
    first = results[0]
    assert (first.usage, first.cost_usd, first.flags) == (CALL, 0.5, ("usage_reported",))


async def test_a_loop_without_a_model_reports_no_usage(tmp_path: Path) -> None:
    results = await results_of(loop_of(lambda _: Decision(actions=(Done(),))), tmp_path / "run")
    assert [(each.flags, each.cost_usd, each.spent) for each in results] == [((), None, ())] * 3
