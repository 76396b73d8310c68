from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import settings

from bench_core.discovery import load_agent
from bench_core.protocols import TrialContext
from bench_core.records import Limits
from bench_core.scheduling import Backoff
from bench_core.trial import AgentLimits, rescore_trial, run_trial
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.states.capture import CaptureSettings
from multireal_harness.tasks import load_tasks
from multireal_harness.world import BuiltInWorld

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from bench_core.protocols import Agent
    from bench_core.records import Task, TrialResult
    from multireal_harness.evaluation import EvaluationRules
    from multireal_harness.models import ModelConfig

settings.register_profile("untimed", deadline=None)  # a loaded machine is no failure
settings.load_profile("untimed")

SHARED = Path(os.environ.get("PROCTOR_DATA", "../shared/data")) / "multireal"


@pytest.fixture(scope="session")
def shared_tasks() -> Path:
    """Return the published tasks, which are not in this repository."""
    return _given(SHARED / "tasks")


@pytest.fixture(scope="session")
def shared_states() -> Path:
    """Return recorded end states of the real apps."""
    return _given(SHARED / "final_states")


@pytest.fixture
def a_task() -> Callable[..., dict[str, Any]]:
    """Make the JSON of a task; keywords replace what it says."""
    return _task


@pytest.fixture
def task_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a task file and return its path; keywords replace what it says."""

    def write(name: str = "calendar-mail-1", **changes: Any) -> Path:
        folder = tmp_path / "tasks"
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(_task(id=name, **changes)), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def running_world() -> Iterator[BuiltInWorld]:
    """Serve the built-in apps."""
    world = BuiltInWorld()
    world.open()
    yield world
    world.close()


@pytest.fixture
def world(running_world: BuiltInWorld) -> Iterator[BuiltInWorld]:
    """Return the built-in apps without faults, and clear their faults afterwards."""
    yield running_world
    running_world.mend()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browsers() -> AsyncIterator[Browsers]:
    """Return browsers whose shared Chromium all tests of the session's event loop use.

    Starting one costs more than most trials do, and each trial has a context of its own.
    """
    browsers = Browsers()
    yield browsers
    await browsers.close()


class PausesAlone:
    """A clock that only `sleep` advances, which returns at once."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return sum(self.pauses)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def patient(clock: PausesAlone | None = None, app_s: float = 15) -> CaptureSettings:
    """Make settings with five tries within 15 s of pauses, which take no real time."""
    clock = clock or PausesAlone()
    pauses = Backoff(first_s=0.5, longest_s=15, jitter=0)
    return CaptureSettings(app_s=app_s, quiet_s=1, backoff=pauses, clock=clock, sleep=clock.sleep)


@pytest.fixture
def pauses() -> PausesAlone:
    """Return a clock whose pauses take no real time."""
    return PausesAlone()


class TrialRunner:
    """Runs single trials of built-in tasks, each in a folder of its own."""

    def __init__(self, world: BuiltInWorld, browsers: Browsers, folder: Path) -> None:
        self.world = world
        self.browsers = browsers
        self.folder = folder
        self.tasks = {task.task_id.removeprefix("multi."): task for task in load_tasks("built-in")}

    async def run(
        self,
        task: str,
        agent: str = "scripted",
        *,
        solution: str = "good",
        config: ModelConfig | None = None,
        agent_for: Callable[[Task, TrialContext], Agent] | None = None,
        rules: EvaluationRules | None = None,
        environment: EnvironmentSettings | None = None,
        limits: Limits | None = None,
        patience: AgentLimits | None = None,
        name: str | None = None,
    ) -> TrialResult:
        folder = self.folder / (name or f"{task}-{agent}-{solution}")
        folder.mkdir(parents=True)
        benchmark = self.benchmark(rules=rules, settings=environment)
        context = TrialContext(
            run_id="trials",
            folder=folder,
            agent=agent,
            world="built-in",
            limits=limits or Limits(max_steps=80, time_limit_s=240),
            config={"solution": solution, **(config.for_agent() if config else {})},
        ).with_model_opener(config.open if config else None)
        asked = self.tasks[task]
        chosen = agent_for(asked, context) if agent_for else load_agent(agent)
        return await run_trial(benchmark, asked, context, chosen, limits=patience)

    async def rescore(self, task: str, result: TrialResult, name: str) -> TrialResult:
        return await rescore_trial(self.benchmark(), self.tasks[task], result, self.folder / name)

    def benchmark(
        self, *, settings: EnvironmentSettings | None = None, **options: Any
    ) -> MultiRealBenchmark:
        return MultiRealBenchmark(
            list(self.tasks.values()),
            origins=self.world.urls,
            browsers=self.browsers,
            settings=settings or EnvironmentSettings(track=False, capture=patient()),
            **options,
        )


@pytest.fixture
def runner(world: BuiltInWorld, browsers: Browsers, tmp_path: Path) -> TrialRunner:
    """Return a runner of trials of built-in tasks."""
    return TrialRunner(world, browsers, tmp_path / "trials")


def _task(**changes: Any) -> dict[str, Any]:
    return {
        "id": "calendar-mail-1",
        "goal": "Invite ann@example.com to 'Lunch'.",
        "websites": [
            {"id": "calendar", "name": "Calendar", "url": "http://127.0.0.1:1"},
            {"id": "mail", "name": "Mail", "url": "http://127.0.0.1:2/"},
        ],
        "difficulty": "hard",
        "evals": [
            {
                "description": "Verify a mail was sent.",
                "type": "jmespath",
                "query": "length(mail.differences.emails.added) >= `1`",
                "expected_value": True,
            }
        ],
        "points": 2,
        **changes,
    }


def _given(folder: Path) -> Path:
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: set PROCTOR_DATA to the folder of the shared data")
    return folder
