"""The first two requests of each agent, in each dialect and on each benchmark, as text that people read.

`python -m integration_tests.model_requests --write` writes them into `docs/requests`, with the table of
"What a model sees" in `docs/computer-use.md`. They come from real runs on the built-in worlds: a model that clicks
once and ends.
"""

from __future__ import annotations

import asyncio
import json
import re
import struct
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from test_support.model_requests import ReadRequest
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer

from bench_core.agents import computer_use_agent, tool_calling_agent
from bench_core.agents.dialects import all_dialects
from bench_core.models import RetryPolicy, open_model
from bench_core.protocols import BrowserHandle
from bench_core.records import Limits
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test_support.model_requests import ReadPart, Seen

__all__ = ["FOLDER", "PAGE", "WORLDS", "collected", "main", "table"]

FOLDER = Path(__file__).parent.parent / "docs" / "requests"
PAGE = FOLDER.parent / "computer-use.md"
_BEGIN, _END = "<!-- table -->\n", "<!-- end -->"
_CHARACTERS = 4
"""Of a token, roughly."""
TASKS = {
    "webarena": "418",
    "multireal": "multi.dining-mail-2",
    "waa": "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
}
"""One task of each built-in world: it has a goal that two sentences of instructions do not give away."""
MODELS = {
    "tool-calling": "openai-chat:any",
    "vision": "openai-chat:any",
    "computer_20250124": "anthropic:claude-sonnet-4-5",
    "computer_20251124": "anthropic:claude-opus-4-6",
    "computer_toolset_20260801": "anthropic:claude-opus-5-5",
    "browser_toolset_20260801": "anthropic:claude-opus-5-5",
    "computer": "openai:gpt-5.5",
    "computer_use_preview": "openai:computer-use-preview",
    "google_computer_use_2025": "google:gemini-2.5-computer-use-preview-10-2025",
    "google_computer_use_2026": "google:gemini-3.7-flash",
    "qwen3_vl": "openai-chat:Qwen/Qwen3-VL-8B-Instruct",
    "qwen3_5": "openai-chat:Qwen/Qwen3.5-9B",
    "ui_tars_1_5": "openai-chat:bytedance/UI-TARS-1.5-7B",
}
CALLS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "computer_20250124": ("computer", {"action": "wait", "duration": 1}, None),
    "computer_20251124": ("computer", {"action": "wait", "duration": 1}, None),
    "computer_toolset_20260801": ("screenshot", {}, "computer"),
    "browser_toolset_20260801": ("screenshot", {}, "browser"),
    "computer": ("wait", {}, "computer"),
    "computer_use_preview": ("wait", {}, "computer_use_preview"),
    "google_computer_use_2025": ("wait_5_seconds", {}, None),
    "google_computer_use_2026": ("wait", {"seconds": 1, "intent": "wait"}, None),
    "qwen3_vl": ("computer_use", {"action": "wait", "time": 1}, None),
    "qwen3_5": ("computer_use", {"action": "wait", "time": 1}, None),
}
"""How each dialect waits or looks, and the provider's own tool that the call is for."""
_STEPS = 4
Run = Callable[[Any, str, Path, int], None]
"""Lets an agent work on one task of a world, in a folder, within so many steps."""


class _Watched:
    """An agent whose model waits once and is then cut off: what it was sent is kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[Seen] = []

    def _answer(self, seen: Seen) -> Answer:
        self.seen.append(seen)
        if len(self.seen) > 1:
            return Answer(stop="refusal", text="That is all.")
        if self.name == "ui_tars_1_5":
            return Answer(text="Thought: I wait.\nAction: wait()")
        name, arguments, toolset = CALLS.get(self.name, ("wait", {"seconds": 1}, None))
        return Answer(tool_calls=((name, arguments),), toolset=toolset, stop="tool_use")

    async def run(self, task: Any, environment: Any, context: Any) -> Any:
        name = MODELS[self.name]
        self.seen.clear()  # an attempt before this one ended by a fault of the browser or the machine
        with ModelServer(self._answer, rules=Rules()) as server:
            model = open_model(
                name, api_key="a key of some length", base_url=server.base_url(name.partition(":")[0]),
                policy=RetryPolicy(attempts=1),
            )  # fmt: skip
            async with model:
                agent = self._agent(model, environment)
                return await agent.run(task, environment, context)

    def _agent(self, model: Any, environment: Any) -> Any:
        if self.name == "tool-calling":
            return tool_calling_agent(model)
        if self.name == "vision":
            from waa_client.agents.vision import VisionAgent  # waa-client's alone

            return _Opened(VisionAgent(), model)
        browser = isinstance(environment, BrowserHandle)
        return computer_use_agent(model, tool=self.name, browser=browser)


class _Opened:
    """An agent of a plugin over a model that is open already."""

    def __init__(self, plugin: Any, model: Any) -> None:
        self._plugin = plugin
        self._model = model

    async def run(self, task: Any, environment: Any, context: Any) -> Any:
        return await self._plugin.run(
            task, environment, context.with_model_opener(lambda _: self._model)
        )


@contextmanager
def _webarena() -> Iterator[Run]:
    from webarena_runner.benchmark import WebArenaBenchmark  # one world at a time
    from webarena_runner.world.launch import built_in_world, environment_of

    with built_in_world() as world:
        yield lambda *trial: _run(WebArenaBenchmark(environment_of(world)), *trial)


@contextmanager
def _multireal() -> Iterator[Run]:
    from multireal_harness.benchmark import MultiRealBenchmark
    from multireal_harness.browsers import Browsers
    from multireal_harness.environment import EnvironmentSettings
    from multireal_harness.tasks import load_tasks
    from multireal_harness.world.launch import built_in_world

    tasks = load_tasks("built-in")
    with built_in_world() as world:

        def run(agent: Any, task: str, out: Path, steps: int) -> None:
            settings = EnvironmentSettings(track=False)
            benchmark = MultiRealBenchmark(
                tasks, origins=world.urls, browsers=Browsers(), settings=settings
            )
            _run(benchmark, agent, task, out, steps)

        yield run


@contextmanager
def _waa() -> Iterator[Run]:
    from waa_client.benchmark import WaaBenchmark
    from waa_client.pool import VmPool
    from waa_client.tasks import load_tasks
    from waa_client.world.launch import built_in_world

    world = built_in_world()()
    urls = dict(asyncio.run(world.start()).urls)
    tasks = load_tasks(world.tasks_folder())
    try:

        def run(agent: Any, task: str, out: Path, steps: int) -> None:
            world.reset()
            pool = VmPool([urls["vm"]], NoLocks(), evaluators=[urls["evaluate"]])
            _run(WaaBenchmark(tasks, pool=pool), agent, task, out, steps)

        yield run
    finally:
        world.close()


WORLDS = {"webarena": _webarena, "multireal": _multireal, "waa": _waa}


def _run(benchmark: Any, agent: Any, task: str, out: Path, steps: int) -> None:
    spec = RunSpec(
        tasks=TaskFilter(ids=(task,)), agent=agent.name, attempts=3, world="built-in", timing="fast",
        limits=Limits(max_steps=steps),
    )  # fmt: skip
    run_environment = RunEnvironment(agent_for=lambda *_: agent, locks=NoLocks())
    run_benchmark_sync(benchmark, spec, out, run_environment=run_environment)


def _agents(world: str) -> list[str]:
    place = "desktop" if world == "waa" else "browser"
    fitting = [name for name, each in all_dialects().items() if place in each.environments]
    return ["tool-calling", *(["vision"] if world == "waa" else []), *fitting]


def collected(world: str) -> dict[str, str]:
    """Return the two requests of each agent on a world as text, by the file's name."""
    found: dict[str, str] = {}
    with WORLDS[world]() as run, tempfile.TemporaryDirectory() as folder:
        for name in _agents(world):
            agent = _Watched(name)
            run(agent, TASKS[world], Path(folder) / name, _STEPS)
            assert len(agent.seen) == 2, (
                f"{name} on {world} made {len(agent.seen)} requests"
            )  # that many are asked for
            found[f"{world}-{name}.txt"] = _shown(agent.seen)
    return found


def _shown(seen: list[Seen]) -> str:
    first, second = (ReadRequest.of(each) for each in seen)
    lines = [
        "===== first request =====",
        *_whole(first),
        "",
        "===== second request, from where it goes on =====",
    ]
    lines += _turns(second.turns[len(first.turns) :])
    return _settled("\n".join(lines)) + "\n"


def _whole(request: ReadRequest) -> Iterator[str]:
    if request.system:
        yield from ("--- system ---", request.system)
    for name, tool in request.tools.items():
        yield from (
            f"--- tool {name} ---",
            tool["description"],
            json.dumps(tool["parameters"], ensure_ascii=False),
        )
    for tool in request.native:
        yield from ("--- the provider's own tool ---", json.dumps(tool, ensure_ascii=False))
    yield from _turns(request.turns)


def _turns(turns: Any) -> Iterator[str]:
    for role, parts in turns:
        yield f"--- {role} ---"
        for part in parts:
            yield from _part(part)


def _part(part: ReadPart) -> Iterator[str]:
    if part.kind == "picture":
        yield "[picture {} x {}]".format(*struct.unpack(">II", part.picture[16:24]))
    elif part.kind == "call":
        yield f"called {part.name}({part.text})"
    elif part.kind == "result":
        yield "result, an error:" if part.error else "result:"
    elif part.text:
        yield part.text
    for each in part.inside:
        yield from _part(each)


def _settled(text: str) -> str:
    """Replace what differs from run to run: ports and ids of calls."""
    return re.sub(r"(localhost|127\.0\.0\.1):\d+", r"\1:PORT", text)


def table() -> str:
    """Return the rows of the page: for each agent and world the tokens of the first request and of what the next adds."""
    rows: dict[str, list[str]] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        world, _, agent = path.stem.partition("-")
        first, _, second = path.read_text(encoding="utf-8").partition("===== second request")
        sizes = [
            f"{len(part) // _CHARACTERS} + {part.count('[picture ')}" for part in (first, second)
        ]
        shown = f"[{sizes[0]}](https://github.com/proctor-bench/proctor/blob/main/docs/requests/{path.name}), {sizes[1]}"
        rows.setdefault(agent, ["-"] * len(WORLDS))[list(WORLDS).index(world)] = shown
    head = [
        "| agent, dialect | WebArena | Multi-REAL | Windows Agent Arena |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join(
        [*head, *(f"| `{agent}` | {' | '.join(cells)} |" for agent, cells in rows.items())]
    )


def main(arguments: list[str]) -> int:
    """Compare the files and the page with what is sent today, or write them."""
    write, changed = "--write" in arguments, []
    for world in WORLDS:
        for name, text in collected(world).items():
            changed += _kept(FOLDER / name, text, write=write)
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    changed += _kept(PAGE, f"{before}{begin}{table()}\n{_END}{after}", write=write)
    print("\n".join(changed) or "all as before")  # noqa: T201  # a program
    return 0 if write or not changed else 1


def _kept(path: Path, text: str, *, write: bool) -> list[str]:
    """Return the file's name if it has another text, which it has then where that is wanted."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return []
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [path.name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
