"""The table of faults, checked for Windows Agent Arena."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_evaluator import FakeEvaluator, verdict
from sample_tasks import QUICK, NoSleep, make_task

from bench_core.records import AgentOutcome
from bench_core.run_spec import RunSpec
from bench_core.scheduling import NoLocks
from bench_core.testing import FaultMatrix
from waa_client.actions import Block
from waa_client.benchmark import WaaBenchmark
from waa_client.pool import VmPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fake_vm import FakeVm

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

TYPE = "computer.keyboard.write('This is a draft.')"


class Typist:
    """An agent that knows the text to type."""

    name = "typist"
    in_process = True

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        del task, context
        await environment.live.observe()
        await environment.live.run(Block(code=TYPE))
        return AgentOutcome()


@pytest.fixture
def evaluator() -> Iterator[FakeEvaluator]:
    """An evaluator that finds the task done where the text was typed."""
    with FakeEvaluator(lambda asked: verdict(float(TYPE in asked["action_history"]))) as running:
        yield running


class TestFaults(FaultMatrix):
    @pytest.fixture
    def benchmark_under_test(self, vm: FakeVm, evaluator: FakeEvaluator) -> WaaBenchmark:
        return WaaBenchmark(
            [make_task()],
            pool=VmPool([vm.url], NoLocks(), evaluators=[evaluator.url]),
            evaluator=evaluator.url,
            clock=NoSleep(),
            options=QUICK,
        )

    @pytest.fixture
    def solver(self) -> Typist:
        return Typist()

    @pytest.fixture
    def spec(self) -> RunSpec:
        return RunSpec(agent="faulty", timing="fast")
