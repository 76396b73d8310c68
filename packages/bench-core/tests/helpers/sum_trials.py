"""A benchmark of one sum, whose environment and evaluation fail as they are told."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bench_core.records import AgentOutcome, Task
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentEnding


class Paper(TrialEnvironment):
    """Keeps what the agent answers; faults are set from outside."""

    capture_error: Exception | None = None
    capture_flag: str | None = None
    check_error: Exception | None = None
    ended: asyncio.Event | None = None
    act: str | None = None
    gone_error: Exception | None = None
    release_error: Exception | None = None
    folder: Path
    log: list[str]

    async def gone(self) -> None:
        await (self.ended or asyncio.Event()).wait()

    async def why_gone(self, *, reported: bool) -> str | None:
        if self.gone_error is not None:
            raise self.gone_error
        return self.act

    async def release(self) -> None:
        self.log.append("release")
        if self.release_error is not None:
            raise self.release_error

    async def capture(self, ending: AgentEnding) -> None:
        self.log.append("capture")
        if self.capture_flag is not None:
            self.flags[self.capture_flag] = None
        TrialArtifacts(self.folder).write_json("answer.json", ending.answer)
        if self.capture_error is not None:
            raise self.capture_error

    async def check(self) -> None:
        self.log.append("check")
        if self.check_error is not None:
            raise self.check_error


class Sums:
    """One task, whose answer is 4."""

    name = "sums"

    def __init__(self, **faults: Any) -> None:
        self.environment = Paper(flags={"from_environment": None}, machine="paper-1")
        self.environment.log = []
        self.evaluation: Evaluation | Exception | None = None
        for name, value in faults.items():
            setattr(self if name == "evaluation" else self.environment, name, value)

    def tasks(self) -> list[Task]:
        return [Task(benchmark="sums", task_id="2+2", goal="What is 2 + 2?")]

    @asynccontextmanager
    async def open(self, task: Task, context: TrialContext, agent: Agent) -> AsyncIterator[Paper]:
        self.environment.folder = context.folder
        yield self.environment
        self.environment.log.append("closed")

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        if isinstance(self.evaluation, Exception):
            raise self.evaluation
        right = read_json(evidence.folder / "answer.json") == 4
        return self.evaluation or Evaluation(score=float(right), method="equality")


RIGHT = AgentOutcome(answer=4, steps=2)
WRONG = AgentOutcome(answer=5, steps=2)


def gone(**how: Any) -> dict[str, Any]:
    ended = asyncio.Event()
    ended.set()
    return {"ended": ended, **how}
