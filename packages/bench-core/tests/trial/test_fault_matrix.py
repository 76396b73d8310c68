"""A small benchmark, as a third party would write it, held to the table of faults."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from bench_core.records import AgentOutcome, Step, Task
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.testing import FaultMatrix
from bench_core.testing.faults import FAULTS
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentEnding, AgentTask

_ANSWER = "answer.json"


class _Paper(TrialEnvironment):
    def __init__(self, folder: Path) -> None:
        super().__init__(machine="paper-1")
        self._artifacts = TrialArtifacts(folder)

    async def capture(self, ending: AgentEnding) -> None:
        self._artifacts.write_json(_ANSWER, ending.answer)


class Sums:
    """One sum."""

    name = "sums"

    def tasks(self) -> Sequence[Task]:
        return [Task(benchmark=self.name, task_id="2+2", goal="What is 2 + 2?", config={"sum": 4})]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del task, agent
        yield _Paper(context.folder)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        right = read_json(evidence.folder / _ANSWER) == evidence.task.config["sum"]
        return Evaluation(score=float(right), method="equality")


class Adder:
    """Can add."""

    name = "adder"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del task, environment
        TrialArtifacts(context.folder).append_step(Step(step=1))
        return AgentOutcome(answer=4)


class TestSums(FaultMatrix):
    @pytest.fixture
    def benchmark_under_test(self) -> Sums:
        return Sums()

    @pytest.fixture
    def solver(self) -> Adder:
        return Adder()


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 25
