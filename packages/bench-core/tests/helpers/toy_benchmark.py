"""A benchmark of four tasks, and runs of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bench_core.errors import EnvironmentFaultError
from bench_core.records import AgentOutcome, Limits, Resource, Task, TrialKey, Usage
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, RunOutcome, run_benchmark
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask
    from bench_core.records.vocabulary import SuspectCause

SPEC = RunSpec(agent="scripted", model="toy:cheap")
AT_ONCE = Backoff(first_s=0.0)


class Toy:
    """Four tasks; `down` lists those whose site does not answer."""

    name = "toy"

    def __init__(self, *down: str) -> None:
        self.down = set(down)
        self.ran: list[tuple[str, int, int]] = []
        self.seeds: dict[TrialKey, int] = {}
        self.scores: dict[str, float | Exception] = {}
        self.suspect: dict[str, tuple[SuspectCause, ...]] = {}

    def tasks(self) -> list[Task]:
        return [
            Task(
                benchmark="toy",
                task_id=str(n),
                goal="",
                groups={"parity": ("odd" if n % 2 else "even",)},
                resources=(Resource(name="toy", mode="shared" if n % 2 else "exclusive"),),
                limits=Limits(time_limit_s=60),
            )
            for n in range(4)
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        assert agent.name == "scripted"
        self.ran.append((task.task_id, context.trial, context.attempt))
        self.seeds[TrialKey(task_id=task.task_id, trial=context.trial)] = context.seed
        context.meter.spend(Usage(requests=1, input_tokens=100), 0.25)
        (context.folder / "answer.txt").write_text(str(context.attempt))
        if task.task_id in self.down:
            raise EnvironmentFaultError("the site is down")
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        assert (evidence.folder / "answer.txt").exists()
        score = self.scores.get(evidence.task.task_id, 1.0)
        if isinstance(score, Exception):
            raise score
        return Evaluation(score=score, suspect=self.suspect.get(evidence.task.task_id, ()))


class Idle:
    """Says at once that it is done."""

    name = "scripted"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        return AgentOutcome()


async def run(toy: Toy, out: Path, spec: RunSpec = SPEC, **run_environment: Any) -> RunOutcome:
    return await run_benchmark(
        toy,
        spec,
        out,
        run_environment=RunEnvironment(
            **{
                "locks": NoLocks(),
                "agent_for": lambda *_: Idle(),
                "policy": Policy(spec.workers, spec.attempts, spec.timeouts, AT_ONCE),
                **run_environment,
            }
        ),
    )
