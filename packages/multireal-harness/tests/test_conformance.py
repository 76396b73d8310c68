"""What every benchmark and world of Proctor must do, checked for ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_core.planning import RunSpec
from bench_core.testing import BenchmarkConformance, FaultMatrix, WorldConformance
from multireal_harness.agents.scripted import ScriptedAgent
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.capture import CaptureSettings
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.world import BuiltInWorld, load_solutions

if TYPE_CHECKING:
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


@pytest.mark.browser
class TestFaults(FaultMatrix):
    @pytest.fixture
    def benchmark_under_test(self, world: BuiltInWorld) -> MultiRealBenchmark:
        capture = CaptureSettings(app_s=15, quiet_s=0.2)
        settings = EnvironmentSettings(track=False, capture=capture)
        return MultiRealBenchmark("built-in", origins=world.urls, settings=settings)

    @pytest.fixture
    def task(self, benchmark_under_test: MultiRealBenchmark) -> Task:
        tasks = {task.task_id: task for task in benchmark_under_test.tasks()}
        return tasks[f"multi.{TASK}"]

    @pytest.fixture
    def solver(self) -> ScriptedAgent:
        return ScriptedAgent(load_solutions(TASK)[0])

    @pytest.fixture
    def spec(self) -> RunSpec:
        return RunSpec(agent="faulty", world="built-in")
