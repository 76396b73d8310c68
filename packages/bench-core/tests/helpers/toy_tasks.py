"""Tasks that end as their ids say."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench_core.errors import EnvironmentFaultError
from bench_core.records import Task
from bench_core.records.vocabulary import SuspectCause
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.protocols import Agent, TrialContext
    from bench_core.trial import Evidence

AGENT = """
from bench_core.records import AgentOutcome

class Agent:
    name = "mine"

    async def run(self, task, environment, context):
        return AgentOutcome(answer={answer})
"""
IDS = ("quick-1", "wrong-1", "odd-1", "down-1", "quick-2")


class Toys:
    """Tasks that end as their ids say: `quick` is a success, `odd` has no score, `down` does not open.

    Attributes:
        suspects: Tasks whose score is suspect.
        odd_scores: Whether `odd` has a score after all.
        ran: The tasks that were evaluated.
    """

    name = "toys"

    def __init__(self) -> None:
        self.suspects: tuple[str, ...] = ()
        self.odd_scores = False
        self.ran: list[str] = []

    def tasks(self) -> list[Task]:
        return [Task(benchmark="toys", task_id=each, goal="") for each in IDS]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del agent
        (context.folder / "answer.txt").write_text(str(context.attempt))
        if task.task_id.startswith("down"):
            raise EnvironmentFaultError("it is down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        task_id = evidence.task.task_id
        self.ran.append(task_id)
        if task_id.startswith("odd") and not self.odd_scores:
            return Evaluation(None)
        suspect = (SuspectCause.SITE_ERROR,) if task_id in self.suspects else ()
        return Evaluation(0.0 if task_id.startswith("wrong") else 1.0, suspect=suspect)
