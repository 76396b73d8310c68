"""A benchmark whose tasks are numbers to count up to, with faults where a test wants them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bench_core.agents import ActionResult, Element, Observation
from bench_core.errors import EnvironmentFaultError, EvaluationError
from bench_core.protocols import TextHandle
from bench_core.records import Limits, Task
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench_core.agents import Action
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentEnding
    from bench_core.trial import Evidence

FAULTS: dict[str, str] = {}
"""What fails, by the id of a task: `open`, `observe`, `act`, `capture` or `evaluate`."""
OPEN: list[str] = []
"""The tasks whose environments are open."""


class Counter:
    """Counts clicks on its one button; typed text is kept."""

    def __init__(self, task: str) -> None:
        self.count = 0
        self._task = task

    async def observe(self) -> Observation:
        self._fail("observe")
        button = Element(id="1", role="button", name="More")
        return Observation(title=f"count {self.count}", elements=(button,), size=(100, 100))

    async def act(self, action: Action) -> ActionResult:
        self._fail("act")
        if action.kind != "click" or getattr(action.target, "element", "") != "1":
            return ActionResult(ok=False, error="there is nothing to click")
        self.count += 1
        return ActionResult()

    def _fail(self, where: str) -> None:
        if FAULTS.get(self._task) == where and (where == "act" or self.count):
            raise EnvironmentFaultError(f"{where} failed")


class Sheet(TrialEnvironment):
    def __init__(self, task: str, folder: Any) -> None:
        self.counter = Counter(task)
        super().__init__(
            handle=TextHandle().with_live(lambda: self.counter),
            instructions="Press More.",
            answer_schema={"type": "object", "properties": {"presses": {"type": "integer"}}},
        )
        self._task = task
        self._artifacts = TrialArtifacts(folder)

    async def capture(self, ending: AgentEnding) -> None:
        if FAULTS.get(self._task) == "capture":
            raise EnvironmentFaultError("capture failed")
        self._artifacts.write_json("count.json", self.counter.count)


class Counting:
    name = "counting"

    def tasks(self) -> Sequence[Task]:
        return [
            Task(
                benchmark=self.name,
                task_id=str(number),
                goal=f"Count to {number}.",
                config={"to": number},
                limits=Limits(max_steps=8),
            )
            for number in range(1, 6)
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        if FAULTS.get(task.task_id) == "open":
            raise EnvironmentFaultError("open failed")
        OPEN.append(task.task_id)
        try:
            yield Sheet(task.task_id, context.folder)
        finally:
            OPEN.remove(task.task_id)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        if FAULTS.get(evidence.task.task_id) == "evaluate":
            raise EvaluationError("evaluate failed")
        count = read_json(evidence.folder / "count.json")
        return Evaluation(score=float(count == evidence.task.config["to"]), method="count")


class Faulty:
    """Sets a fault for the time of a test."""

    def __init__(self, task: str, where: str) -> None:
        self._task, self._where = task, where

    def __enter__(self) -> None:
        FAULTS[self._task] = self._where

    def __exit__(self, *_: object) -> None:
        FAULTS.clear()


class Ungraded(Counting):
    """Needs a judge for all tasks from the fourth on."""

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        ungraded = [task.task_id for task in tasks if int(task.task_id) > 3]
        return f"tasks {', '.join(ungraded)} need a judge: name one" if ungraded else None
