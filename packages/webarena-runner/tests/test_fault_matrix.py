"""The table of faults, checked for WebArena-Verified on the built-in sites."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import AgentOutcome, Step
from bench_core.run_folder import TrialArtifacts
from bench_core.run_spec import RunSpec
from bench_core.testing import FaultMatrix
from bench_core.testing.faults import FAULTS
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.world.launch import built_in_world, environment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, Task
    from webarena_runner.world import BuiltInWorld

pytestmark = pytest.mark.browser

COUNT = 132
"""A task that an answer alone solves."""
EVERY = os.environ.get("WEBARENA_FAULTS") == "all"
ROWS = {
    "nothing-fails", "agent-raises", "agent-out-of-time", "agent-ends-environment",
    "budget-is-spent", "model-fails", "environment-does-not-open", "environment-ends",
    "environment-is-not-released", "capture-fails", "capture-has-a-bug",
    "environment-does-not-close", "evaluator-is-down", "environment-was-not-well",
}  # fmt: skip
"""One row for each way through the runner's own code: a trial has a Chromium of its own."""
_RIGHT = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [1]}


class Knower:
    """An agent that knows the answer."""

    name = "knower"

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        TrialArtifacts(context.folder).append_step(Step(step=1))
        return AgentOutcome(answer=_RIGHT)


@pytest.fixture(scope="module")
def world() -> Iterator[BuiltInWorld]:
    with built_in_world() as world:
        yield world


class TestFaults(FaultMatrix):
    faults = tuple(each for each in FAULTS if EVERY or each.name in ROWS)

    @pytest.fixture
    def benchmark_under_test(self, world: BuiltInWorld) -> WebArenaBenchmark:
        return WebArenaBenchmark(environment_of(world), settings=EnvironmentSettings(close_s=1.0))

    @pytest.fixture
    def task(self, benchmark_under_test: WebArenaBenchmark) -> Task:
        return benchmark_under_test.tasks()[COUNT]

    @pytest.fixture
    def solver(self) -> Knower:
        return Knower()

    @pytest.fixture
    def spec(self) -> RunSpec:
        return RunSpec(agent="faulty", world="built-in")
