"""A benchmark that needs nothing: the same sum under many names."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench_core.records import Limits, Task
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentEnding
    from bench_core.trial import Evidence


ENDLESS = {"blocks", "stops-itself", "stops-its-supervisor", "waits"}
"""What ends at its time limit alone, which leaves a busy machine time to begin it."""


class Paper(TrialEnvironment):
    """Keeps the answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._artifacts = TrialArtifacts(folder)
        self._artifacts.write_json("given.json", "the harness's own")

    async def capture(self, ending: AgentEnding) -> None:
        self._artifacts.write_json("answer.json", ending.answer)


class Sums:
    """The same sum under many names."""

    name = "sums"
    environment = "text"

    def __init__(self, *names: str) -> None:
        self.names = names

    def tasks(self) -> Sequence[Task]:
        limits = Limits(time_limit_s=120)
        quick = Limits(time_limit_s=4)
        return [
            Task(benchmark=self.name, task_id=name, goal="What is 2 + 2?",
                 limits=quick if name in ENDLESS else limits)
            for name in self.names
        ]  # fmt: skip

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del task, agent
        yield Paper(context.folder)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=float(read_json(evidence.folder / "answer.json") == 4))
