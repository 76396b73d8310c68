"""The built-in world, Chromium, trials on both, and a model server with scripted replies."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.browser import launch_chromium
from bench_core.browser_use import BrowserUseAgent, ScriptedChat
from bench_core.discovery import load_agent
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import Limits
from bench_core.trial import run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.world import BuiltInWorld
from webarena_runner.world.launch import environment_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from bench_core.browser import Chromium
    from bench_core.protocols import Agent
    from bench_core.records import TrialResult


@pytest.fixture
async def world() -> AsyncIterator[BuiltInWorld]:
    world = BuiltInWorld()
    await world.start()
    yield world
    await world.stop()


@pytest.fixture
async def chromium() -> AsyncIterator[Chromium]:
    async with launch_chromium() as chromium:
        yield chromium


@pytest.fixture
def handle(chromium: Chromium) -> BrowserHandle:
    return BrowserHandle(cdp_url=chromium.cdp_url)


@pytest.fixture
def context(tmp_path: Path) -> TrialContext:
    folder = tmp_path / "trial"
    folder.mkdir()
    limits = Limits(max_steps=8, time_limit_s=240)
    return TrialContext(run_id="test", folder=folder, limits=limits, world="built-in")


@dataclass
class Trials:
    """Runs trials of the real benchmark on the built-in world."""

    world: BuiltInWorld
    context: TrialContext

    async def run(
        self, task_id: int, agent: Agent | None = None, limits: Limits | None = None
    ) -> TrialResult:
        chosen = agent or load_agent("scripted")
        benchmark = WebArenaBenchmark(environment_of(self.world))
        task = next(each for each in benchmark.tasks() if each.task_id == str(task_id))
        changes = {"agent": chosen.name, "limits": limits or self.context.limits}
        return await run_trial(benchmark, task, self.context.model_copy(update=changes), chosen)

    def playing(self, *turns: Any) -> Agent:
        """An agent that takes these turns, whatever the task."""
        return BrowserUseAgent(chat=ScriptedChat(turns))


@pytest.fixture
def trials(world: BuiltInWorld, context: TrialContext) -> Trials:
    return Trials(world, context)


@dataclass
class ModelServer:
    """A server at OpenAI's chat endpoint; `answer` is what it sends, or how it fails."""

    url: str = ""
    answer: Callable[[], tuple[int, str, str]] = lambda: (500, "text/plain", "")
    asked: list[dict[str, Any]] = field(default_factory=list)

    def says(self, *actions: dict[str, Any]) -> None:
        """Answer with browser-use's output format."""
        thought = {"evaluation_previous_goal": "", "memory": "", "next_goal": ""}
        self.says_text(json.dumps({**thought, "action": actions}))

    def says_text(self, text: str) -> None:
        """Answer with any text."""
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "local-1"}
        self.answer = lambda: (
            200,
            "application/json",
            json.dumps({**body, "choices": choices, "usage": usage}),
        )


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    model = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            model.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, kind, body = model.answer()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield model
        server.shutdown()
        thread.join()
