"""Episodes of computer use on all three worlds: real SDKs, wire servers that refuse what the providers refuse.

One task of one world for each provider; with COMPUTER_EPISODES=all in the environment, ten of each world.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.computer_models import MODELS, Doing, Peek, Place, Step, steps_of
from test_support.model_rules import Rules
from test_support.model_server import ModelServer

from bench_core.agents import computer_use_agent
from bench_core.errors import EnvironmentFaultError
from bench_core.models import Cassette, Model, RetryPolicy, ScriptedAdapter, open_model
from bench_core.protocols import BrowserHandle
from bench_core.records import Limits, Status
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench_core.records import TrialResult

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    # what google-genai 3 does with aiohttp, which browser-use brings, is not ours to change
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning"),
]

ATTEMPTS = 3
EVERY = os.environ.get("COMPUTER_EPISODES") == "all"
SDKS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "google": "google.genai",
}

DESKTOP = (
    "file_explorer/0c9dda13-428c-492b-900b-f48562111f93-WOS",
    "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
    "notepad/a7d4b6c5-569b-452e-9e1d-ffdb3d431d15-WOS",
    "file_explorer/016c9a9d-f2b9-4428-8fdb-f74f4439ece6-WOS",
    "file_explorer/34a4fee9-e52e-4a4a-96d2-68d35091504a-WOS",
    "file_explorer/1876fe7f-6fdc-5dd6-c9e0-237d4c8411f0-WOS",
    "file_explorer/22e529ff-4199-4ffb-95b7-8e5be9b7a860-WOS",
    "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS",
    "settings/37e10fc4-b4c5-4b02-a65c-bfae8bc51d3f-wos",
    "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS",
)
CLONES = (
    "dining-mail-2", "calendar-mail-2", "calendar-dining-1", "calendar-dining-2", "calendar-mail-1",
    "calendar-travel-1", "dining-mail-1", "dining-travel-1", "mail-travel-1", "mail-travel-2",
)  # fmt: skip
SITES = (399, 404, 44, 101, 156, 260, 274, 400, 418, 448)
BROWSERS = list(MODELS)
SCREENS = [each for each in MODELS if each != "browser toolset"]


def chosen(tasks: tuple[Any, ...]) -> list[Any]:
    return list(tasks if EVERY else tasks[:1])


def speaking(known: list[str], *quick: str) -> list[str]:
    """Return the providers that work on a world; `nox -t computer-use` has all."""
    return known if EVERY else list(quick)


class Episode:
    """An agent over a real SDK, and the server that its model answers from."""

    name = "computer-use"

    def __init__(self, kind: str, steps: list[Step], size: tuple[int, int], folder: Path) -> None:
        self.model, self._dialect, say = MODELS[kind]
        self._peek = Peek()
        self.doing = Doing(say, steps, self._peek, size)
        self._size = size
        self._tape = folder / "tape.jsonl"
        self.rules = Rules()
        self.server = ModelServer(self.doing, rules=self.rules)
        self.replays = False

    async def run(self, task: Any, environment: Any, context: Any) -> Any:
        async with self._open() as model:
            agent = computer_use_agent(
                model,
                screen=self._size,
                tool=self._dialect,
                browser=isinstance(environment, BrowserHandle),
                images="all",  # so that whatever else changes earlier turns is noticed
                connect=self._peek,
            )
            return await agent.run(task, environment, context)

    def _open(self) -> Model:
        provider, _, name = self.model.partition(":")
        if self.replays:
            silent = ScriptedAdapter([], model=name, provider=provider)
            return Model(silent, cassette=Cassette(self._tape, "replay", "sequence"))
        return open_model(
            self.model,
            api_key="a key of some length",
            base_url=self.server.base_url(provider),
            policy=RetryPolicy(attempts=1, deadline_s=600, timeout_s=600),
            cassette=Cassette(self._tape, "record", "sequence"),
        )


def check(
    kind: str,
    episode: Callable[[Path], Episode],
    run: Callable[[Episode, Path], TrialResult],
    folder: Path,
) -> None:
    """Let a model of a kind do a task, and then its cassette without the model."""
    provider = MODELS[kind][0].partition(":")[0]
    try:
        found = importlib.util.find_spec(SDKS[provider])
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"the SDK of {provider} is not installed")
    own, done = _on_a_living_world(
        lambda place: _played(episode(place), place, run), folder / "done"
    )
    assert (done.status, done.score) == (Status.COMPLETED, 1.0), (own.doing.fault, done.error)
    assert own.rules.follow_ups == len(own.server.requests) - 1
    assert own.rules.changed_prefixes == 0
    assert done.usage.requests == len(own.server.requests)
    own.replays = True
    _, again = _on_a_living_world(lambda place: (own, run(own, place / "run")), folder / "again")
    assert (again.status, again.score) == (Status.COMPLETED, 1.0), again.error


def _played(
    own: Episode, place: Path, run: Callable[[Episode, Path], TrialResult]
) -> tuple[Episode, TrialResult]:
    with own.server:
        return own, run(own, place / "run")


def _on_a_living_world(
    attempt: Callable[[Path], tuple[Episode, TrialResult]], folder: Path
) -> tuple[Episode, TrialResult]:
    """Try again where the browser gave way, as runs do: on a starved machine it may take no picture for 20 s.

    Each attempt has a model, a cassette and a folder of its own; nothing else is forgiven, a model's 400 least.
    """
    for number in range(1, ATTEMPTS):
        own, result = attempt(folder / str(number))
        if result.error is None or result.error.kind != EnvironmentFaultError.__name__:
            return own, result
    return attempt(folder / str(ATTEMPTS))


@pytest.fixture(scope="module")
def desk() -> Iterator[Any]:
    launch = pytest.importorskip("waa_client.world.launch")
    world = launch.built_in_world()()
    info = asyncio.run(world.start())
    try:
        yield world, dict(info.urls)
    finally:
        world.close()


@pytest.mark.parametrize("task_id", chosen(DESKTOP))
@pytest.mark.parametrize("kind", speaking(SCREENS, "anthropic", "openai"))
def test_a_model_does_a_task_on_the_simulated_desktop(
    tmp_path: Path, desk: Any, kind: str, task_id: str
) -> None:
    from waa_client.benchmark import WaaBenchmark  # may not be installed
    from waa_client.pool import VmPool
    from waa_client.tasks import load_tasks

    world, urls = desk
    task = next(each for each in load_tasks(world.tasks_folder()) if each.task_id == task_id)
    steps = steps_of(world.solutions()[task_id].pixels)

    def run(episode: Episode, out: Path) -> TrialResult:
        world.reset()
        pool = VmPool([urls["vm"]], NoLocks(), evaluators=[urls["evaluate"]])
        spec = RunSpec(
            agent=episode.name, model=episode.model, timing="fast", attempts=1, world="built-in",
            limits=Limits(max_steps=60),
        )  # fmt: skip
        return one_result(WaaBenchmark([task], pool=pool), spec, out, episode)

    check(kind, partial(Episode, kind, steps, (1440, 900)), run, tmp_path)


def one_result(benchmark: Any, spec: RunSpec, out: Path, agent: Any) -> TrialResult:
    with_ = RunEnvironment(agent_for=lambda *_: agent, locks=NoLocks())
    run_benchmark_sync(benchmark, spec, out, run_environment=with_)
    (result,) = read_run(out).results.values()
    return result


@pytest.fixture(scope="module")
def apps() -> Iterator[Any]:
    launch = pytest.importorskip("multireal_harness.world.launch")
    with launch.built_in_world() as world:
        yield world


@pytest.mark.parametrize("task", chosen(CLONES))
@pytest.mark.parametrize("kind", speaking(BROWSERS, "google", "open model"))
def test_a_model_does_a_task_on_the_clones(tmp_path: Path, apps: Any, kind: str, task: str) -> None:
    from multireal_harness.benchmark import MultiRealBenchmark
    from multireal_harness.browsers import Browsers
    from multireal_harness.environment import EnvironmentSettings
    from multireal_harness.tasks import load_tasks
    from multireal_harness.world import load_solutions

    wanted = next(each for each in load_tasks("built-in") if each.task_id == f"multi.{task}")
    order = [site["id"] for site in wanted.config["definition"]["websites"]]
    steps = [_clone_step(each, order) for each in load_solutions(task)[0].steps]

    def run(episode: Episode, out: Path) -> TrialResult:
        benchmark = MultiRealBenchmark(
            [wanted],
            origins=apps.urls,
            browsers=Browsers(),
            settings=EnvironmentSettings(track=False),
        )
        spec = RunSpec(
            agent=episode.name, model=episode.model, attempts=1, world="built-in", limits=Limits(max_steps=60)
        )  # fmt: skip
        return one_result(benchmark, spec, out, episode)

    check(kind, partial(Episode, kind, steps, (1280, 720)), run, tmp_path)


def _clone_step(step: Any, order: list[str]) -> Step:
    if step.do == "open":
        return Step(tab=order.index(step.app))
    if step.do == "click":
        return Step(place=Place(text=step.text))
    if step.do == "fill":
        return Step(place=Place(attributes={"name": step.field}), fill=step.text)
    assert step.do == "done", step
    return Step()


@pytest.fixture(scope="module")
def sites() -> Iterator[Any]:
    launch = pytest.importorskip("webarena_runner.world.launch")
    with launch.built_in_world() as world:
        yield world


@pytest.mark.parametrize("task", chosen(SITES))
@pytest.mark.parametrize("kind", speaking(BROWSERS, "browser toolset"))
def test_a_model_does_a_task_on_the_stand_ins(
    tmp_path: Path, sites: Any, kind: str, task: int
) -> None:
    pytest.importorskip("browser_use")
    from webarena_runner.benchmark import WebArenaBenchmark
    from webarena_runner.world.launch import environment_of
    from webarena_runner.world.scripts import script_for

    turns = [
        each
        for turn in script_for(str(task))
        for each in (turn if isinstance(turn, tuple) else (turn,))
    ]
    steps = [_site_step(each) for each in turns]

    def run(episode: Episode, out: Path) -> TrialResult:
        spec = RunSpec(
            tasks=TaskFilter(ids=(str(task),)), agent=episode.name, model=episode.model, attempts=1,
            world="built-in", limits=Limits(max_steps=60),
        )  # fmt: skip
        return one_result(WebArenaBenchmark(environment_of(sites)), spec, out, episode)

    check(kind, partial(Episode, kind, steps, (1280, 720)), run, tmp_path)


def _site_step(action: Any) -> Step:
    if action.name == "done":
        empty = {"retrieved_data": None, "error_details": None}
        return Step(answer={**empty, **action.parameters["data"]})
    found = action.target
    place = Place(text=found.text, tag=found.tag, attributes=dict(found.attributes))
    return Step(place=place, fill=action.parameters.get("text"))
