"""Whose fault a provider's error is, asked through each kind of agent: one trial with a real client and server."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from test_support.model_server import Answer, ModelServer, Seen

from bench_core.agents import (
    ActionResult,
    Decision,
    LoopAgent,
    Observation,
    computer_use_agent,
    tool_calling_agent,
)
from bench_core.browser import launch_chromium
from bench_core.browser_use import AgentSettings, BrowserUseAgent, ModelChat, Patience, chat_for
from bench_core.faults import FAULTS
from bench_core.models import ImagePart, Message, ModelRequest, RetryPolicy, open_model
from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
from bench_core.records import AgentOutcome, Limits, Task
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, TrialEnvironment, run_trial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from test_support.provider_replies import ProviderReply

    from bench_core.faults import FaultKind
    from bench_core.protocols import Agent, EnvironmentHandle
    from bench_core.records import AgentTask, TrialResult
    from bench_core.trial import Evidence

AGENTS = ("scripted", "tool-calling", "computer-use", "browser-use", "browser-use's own", "foreign")
_ONCE = RetryPolicy(attempts=1, timeout_s=60, deadline_s=120)
_ENDLESS = RetryPolicy(attempts=1000, timeout_s=60, deadline_s=600, max_wait_s=0.5)
_SHORT_S, _LONG_S = 5.0, 300.0
_KEY = "sk-ant-0123456789abcdef"
_WAIT = json.dumps(
    {"thinking": "-", "evaluation_previous_goal": "-", "memory": "-", "next_goal": "-",
     "action": [{"wait": {"seconds": 0}}]}
)  # fmt: skip
_FIRST = {
    "scripted": Answer(text="yes"),
    "tool-calling": Answer(tool_calls=(("wait", {"seconds": 0}),), stop="tool_use"),
    "computer-use": Answer(tool_calls=(("computer", {"action": "screenshot"}),), stop="tool_use"),
    "browser-use": Answer(text=_WAIT),
    "browser-use's own": Answer(text=_WAIT),
    "foreign": Answer(text="yes"),
}
"""An answer that each agent goes on after."""


def expected_of(reply: ProviderReply, *, late: bool) -> FaultKind:
    """Return the row of the table that a trial with this reply has to be recorded by."""
    return FAULTS["request_refused" if late and reply.kind == "bad_request" else reply.kind]


def trial_of(
    agent: str, reply: ProviderReply | Answer, *, late: bool, endless: bool = False
) -> TrialResult:
    """Run a trial of `agent` whose provider answers with `reply`, `late` after it had answered once.

    If its patience is `endless`, it asks again and again until its time is over. As in a run, a trial is tried again
    if this process got no time to run for seconds meanwhile.
    """
    while True:
        result = _trial_of(agent, reply, late=late, endless=endless)
        if result.error is None or result.error.fault != "clock_gap":
            return result


def _trial_of(
    agent: str, reply: ProviderReply | Answer, *, late: bool, endless: bool
) -> TrialResult:
    failing = reply if isinstance(reply, Answer) else Answer(status=reply.status, raw=reply.raw)

    def answer(_: object) -> Answer:
        return _FIRST[agent] if late and len(server.requests) == 1 else failing

    server = ModelServer(answer)
    with server, tempfile.TemporaryDirectory() as folder:
        if agent == "foreign":
            name = f"{__name__}:{'Patient' if endless else 'Caller'}"
            return _run(name, server, Path(folder), _SHORT_S if endless else _LONG_S)
        return asyncio.run(_inline(agent, server, Path(folder), endless=endless))


async def _inline(name: str, server: ModelServer, folder: Path, *, endless: bool) -> TrialResult:
    provider = "anthropic" if name == "computer-use" else "openai-chat"
    url = server.base_url(provider)
    task = Task(benchmark="picture", task_id="t", goal="Look.")
    browser = name.startswith("browser-use")
    time_s = 6 * _SHORT_S if browser else _SHORT_S  # its first call comes late
    limits = Limits(max_steps=4, time_limit_s=time_s if endless else _LONG_S)
    context = TrialContext(run_id="r", folder=folder, agent=name, limits=limits)
    policy = _ENDLESS if endless else _ONCE
    async with open_model(f"{provider}:m", api_key=_KEY, base_url=url, policy=policy) as model:
        await model.verify(60)  # loads the SDK
        if not browser:
            agent: Any = {
                "scripted": lambda: LoopAgent(name, lambda *_: _Asking(model)),
                "tool-calling": lambda: tool_calling_agent(model),
                "computer-use": lambda: computer_use_agent(model, tool="computer_20250124"),
            }[name]()
            return await run_trial(_Picture(), task, context, agent)
        own = name.endswith("own")
        chat = chat_for("openai:m", base_url=url, environment={}) if own else ModelChat(model)
        patience = Patience(retries=12 if endless else 0, backoff_s=0.01, call_timeout_s=60.0)
        settings = AgentSettings(patience=patience)
        async with launch_chromium() as chromium:
            handle = BrowserHandle(cdp_url=chromium.cdp_url)
            return await run_trial(_Picture(handle), task, context, BrowserUseAgent(settings, chat))


def run_of(agent: str, reply: ProviderReply, *, attempts: int) -> tuple[TrialResult, int]:
    """Run a whole run of one trial whose provider answers once, and then with `reply`; each agent has a key of its own.

    Returns:
        The trial's result, and how many requests the provider got.
    """

    def answer(_: object) -> Answer:
        if len(server.requests) == 1:
            return _FIRST[agent]
        return Answer(status=reply.status, raw=reply.raw)

    server = ModelServer(answer)
    name = f"{__name__}:Caller" if agent == "foreign" else agent
    with server, tempfile.TemporaryDirectory() as folder:
        return _run(name, server, Path(folder), _LONG_S, attempts), len(server.requests)


def in_world(
    command: str, agent: str, replies: Sequence[ProviderReply], folder: Path
) -> list[tuple[ProviderReply, TrialResult]]:
    """Run the tasks of a benchmark's built-in world by its command; the model answers each trial once, and then fails.

    Each trial gets another of `replies`, as far as there are tasks.
    """
    tasks: list[dict[str, Any]] = []
    asked: Counter[int] = Counter()

    def answer(seen: Seen) -> Answer:
        if not tasks and (folder / "tasks.jsonl").exists():
            tasks.extend(map(json.loads, (folder / "tasks.jsonl").read_text().splitlines()))
        text = json.dumps(seen.body)
        here = [n for n, each in enumerate(tasks) if json.dumps(each["goal"])[1:-1] in text]
        if not here:
            return Answer(text="yes")  # before the first trial
        number = max(here, key=lambda n: len(tasks[n]["goal"]))
        asked[number] += 1
        reply = replies[number % len(replies)]
        return _FIRST[agent] if asked[number] == 1 else Answer(status=reply.status, raw=reply.raw)

    with ModelServer(answer) as server:
        names = {"ANTHROPIC_API_KEY": _KEY, "ANTHROPIC_BASE_URL": server.base_url("anthropic")}
        subprocess.run(
            [
                Path(sys.executable).with_name(command), "run", "--world", "built-in", "--agent", agent,
                "--model", "anthropic:claude-sonnet-4-5", "--limit", str(len(replies)), "--attempts", "1",
                "--max-consecutive-faults", "0", "--workers", "2", "--out", folder,
            ],
            env={**os.environ, **names}, capture_output=True, check=False,
        )  # fmt: skip
    results = read_run(folder).results
    by_task = {each["task_id"]: number for number, each in enumerate(tasks)}
    return [
        (replies[by_task[key.task_id] % len(replies)], result) for key, result in results.items()
    ]


def _run(
    agent: str, server: ModelServer, folder: Path, limit_s: float, attempts: int = 1
) -> TrialResult:
    names = {"ANTHROPIC_API_KEY": _KEY, "ANTHROPIC_BASE_URL": server.base_url("anthropic")}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        spec = RunSpec(
            agent=agent, model="anthropic:claude-test", attempts=attempts, limits=Limits(time_limit_s=limit_s),
            agent_process=AgentProcessSpec(model_proxy=":" in agent),
        )  # fmt: skip
        run_benchmark_sync(
            _Picture(), spec, folder / "run", run_environment=RunEnvironment(locks=NoLocks())
        )
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    (result,) = read_run(folder / "run").results.values()
    return result


class Caller:
    """A program's own agent, with a client of its own, that gives up at the first error."""

    name = "caller"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Ask until something fails."""
        del environment, context
        asked = {
            "model": "claude-test",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": task.goal}],
        }
        for _ in range(4):
            await asyncio.to_thread(_ask, asked)
        return AgentOutcome(answer="yes")


class Patient(Caller):
    """One that asks again and again, and has no other end."""

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Ask whatever becomes of it."""
        while True:
            with contextlib.suppress(OSError):
                await super().run(task, environment, context)
            await asyncio.sleep(0.1)


def _ask(asked: dict[str, Any]) -> None:
    """Make a call as any program would, by the variables of its process.

    Raises:
        HTTPError: The answer has another status than 200.
    """
    request = urllib.request.Request(  # noqa: S310  # the run's own proxy
        f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages",
        json.dumps(asked).encode(),
        {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310  # likewise
        answer.read()


class _Asking:
    """Decides by asking a model itself, turn after turn."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._turns: list[Message] = []

    async def act(self, observation: Observation) -> Decision:
        del observation
        self._turns.append(Message.user("What now?"))
        reply = await self._model.complete(ModelRequest(messages=tuple(self._turns)))
        self._turns.append(reply.message)
        return Decision(actions=())


class _Picture:
    """A benchmark whose environment is a grey picture, or a browser."""

    name = "picture"

    def __init__(self, handle: BrowserHandle | None = None) -> None:
        self._handle = handle or DesktopHandle(url="http://127.0.0.1:9").with_live(_Grey)

    def tasks(self) -> Sequence[Task]:
        return [Task(benchmark=self.name, task_id="t", goal="Look.")]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del task, context, agent
        yield TrialEnvironment(handle=self._handle)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        del evidence
        return Evaluation(score=0.0)


class _Grey:
    """A desktop on which nothing happens."""

    async def observe(self) -> Observation:
        buffer = io.BytesIO()
        Image.new("RGB", (640, 480), "grey").save(buffer, "png")
        picture = ImagePart.from_bytes(buffer.getvalue())
        return Observation(screenshot=picture, size=(640, 480), text="a grey picture")

    async def act(self, action: object) -> ActionResult:
        del action
        return ActionResult()
