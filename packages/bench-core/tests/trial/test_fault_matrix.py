"""A small benchmark, as a third party would write it, held to the table of faults."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Status, Step, Task
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.testing import FaultMatrix
from bench_core.testing.faults import FAULTS
from bench_core.trial import Evaluation, Evidence, TrialEnvironment, run_trial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench_core.protocols import Agent, EnvironmentHandle
    from bench_core.records import AgentEnding, AgentTask

_ANSWER = "answer.json"


class _Paper(TrialEnvironment):
    def __init__(self, folder: Path) -> None:
        super().__init__(machine="paper-1")
        self._artifacts = TrialArtifacts(folder)

    async def why_gone(self, *, reported: bool) -> str | None:
        await self.check()  # as a server of the trial's own does on the page for authors
        return None

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


class _Blaming(_Paper):
    async def why_gone(self, *, reported: bool) -> str | None:
        return "the agent closed it"


class _Suspicious(_Paper):
    async def check(self) -> None:
        raise EnvironmentFaultError("the server does not answer")


@pytest.mark.parametrize(
    ("paper", "said"),
    [(_Blaming, "`why_gone` returned 'the agent closed it'"), (_Suspicious, "`check` raised")],
)
def test_a_hook_that_was_misread_is_named_once(
    paper: type[_Paper], said: str, tmp_path: Path
) -> None:
    module = tmp_path / "test_own.py"
    module.write_text(
        f"""
import pytest
from contextlib import asynccontextmanager
from test_fault_matrix import Adder, Sums, {paper.__name__}
from bench_core.testing import FaultMatrix

class Own(Sums):
    @asynccontextmanager
    async def open(self, task, context, agent):
        yield {paper.__name__}(context.folder)

class TestOwn(FaultMatrix):
    @pytest.fixture
    def benchmark_under_test(self):
        return Own()

    @pytest.fixture
    def solver(self):
        return Adder()
"""
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        module,
    ]
    where = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        command, cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    assert said in done.stdout
    assert f"1 failed, {len(FAULTS)} skipped" in done.stdout


class _Server(_Paper):
    """A server of the trial's own, which `open` ends."""

    up = True

    async def check(self) -> None:
        if not self.up:
            raise EnvironmentFaultError("the server does not answer")


class Served(Sums):
    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        server = _Server(context.folder)
        yield server
        server.up = False


async def test_a_check_finds_the_server_that_open_ends_afterwards(tmp_path: Path) -> None:
    class Wrong(Adder):
        async def run(self, *_: object) -> AgentOutcome:
            return AgentOutcome(answer=5)

    context = TrialContext(run_id="r", folder=tmp_path)
    result = await run_trial(Served(), Served().tasks()[0], context, Wrong())
    assert (result.status, result.score) == (Status.COMPLETED, 0.0)


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 25
