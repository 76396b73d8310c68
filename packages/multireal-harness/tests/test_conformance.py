"""Proctor's conformance tests for the benchmark and the world of this package."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bench_core.run_spec import RunSpec
from bench_core.runs import run_benchmark
from bench_core.testing import BenchmarkConformance, FaultMatrix, WorldConformance
from multireal_harness.agents.scripted_agent import ScriptedAgent
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.states.capture import CaptureSettings
from multireal_harness.world import BuiltInWorld, load_solutions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.protocols import World
    from bench_core.records import Task

TASK = "dining-mail-1"


class TestBenchmark(BenchmarkConformance):
    @pytest.fixture
    def benchmark_under_test(self) -> MultiRealBenchmark:
        return MultiRealBenchmark("built-in")

    @pytest.fixture
    def trial(self) -> None:
        return None


class TestWorld(WorldConformance):
    @pytest.fixture
    def world(self) -> World:
        return BuiltInWorld()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """One event loop for all rows, so that they share a Chromium."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def shared_browsers(loop: asyncio.Runner) -> Iterator[Browsers]:
    browsers = Browsers()
    yield browsers
    loop.run(browsers.close())


@pytest.mark.browser
class TestFaults(FaultMatrix):
    @pytest.fixture
    def benchmark_under_test(
        self, world: BuiltInWorld, shared_browsers: Browsers
    ) -> MultiRealBenchmark:
        capture = CaptureSettings(app_s=15, quiet_s=0.2)
        settings = EnvironmentSettings(track=False, capture=capture)
        return MultiRealBenchmark(
            "built-in", origins=world.urls, browsers=shared_browsers, settings=settings
        )

    @pytest.fixture
    def runs(self, loop: asyncio.Runner) -> Callable[..., object]:
        return lambda *given, **named: loop.run(run_benchmark(*given, **named))

    @pytest.fixture
    def task(self, benchmark_under_test: MultiRealBenchmark) -> Task:
        tasks = {task.task_id: task for task in benchmark_under_test.tasks()}
        return tasks[f"multi.{TASK}"]

    @pytest.fixture
    def solver(self) -> ScriptedAgent:
        return ScriptedAgent(load_solutions(TASK)[0])

    @pytest.fixture
    def spec(self) -> RunSpec:
        # a run's own hidden files would have it start a Chromium of its own
        return RunSpec(agent="faulty", world="built-in", sealing="off")
