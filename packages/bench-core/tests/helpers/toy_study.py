"""A benchmark of toy trials with known rates, in studies that run or are simulated."""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from bench_core.cli.doctor import Check, CheckResult
from bench_core.records import AgentOutcome, Limits, Task, Usage
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, RunOptions
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from typing import Any

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
from bench_core.records import AgentTask


class Coins:
    """Tasks that succeed as often as the agent's option `rate` says; a trial makes one call for a dollar.

    `TOY_TASKS` says how many there are, and `TOY_SECONDS` how long each call takes.
    """

    name = "coins"

    @staticmethod
    @contextmanager
    def prepare(given: RunOptions | Mapping[str, Any], purpose: Purpose) -> Iterator[PreparedRun]:
        """Prepare a run, in which the same trial always ends the same."""
        del purpose
        given = dict(given)
        given.pop("world", None)
        given.pop("vms", None)  # whoever has machines of his own cannot run beside others
        recorded = {name: given.pop(name) for name in ("faults", "timing") if name in given}
        options = RunOptions.from_mapping(given)
        spec = options.spec(timing=recorded.pop("timing", None), config=recorded)
        environment = RunEnvironment(
            price_of={"toy:cheap": 1}.get, locks=NoLocks(), agent_for=lambda *_: Idle()
        )
        yield PreparedRun(Coins(), spec, options.folder("coins", spec), environment)

    @staticmethod
    def doctor(options: Mapping[str, Any]) -> list[Check]:
        """Find what `TOY_WORLD` says, and say for which world."""
        found = CheckResult(
            os.environ.get("TOY_WORLD", "ok"), f"of {options.get('world')}", "mend it"
        )
        return [Check("world", lambda: found)]

    def tasks(self) -> list[Task]:
        """Return as many as were asked for."""
        return [
            Task(benchmark="coins", task_id=f"t{n}", goal="", limits=Limits(time_limit_s=60))
            for n in range(int(os.environ.get("TOY_TASKS", "6")))
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Spend a call and toss the coin."""
        del task, agent
        given = context.config["agent_options"]
        assert isinstance(given, dict)
        await asyncio.sleep(float(os.environ.get("TOY_SECONDS", "0")))
        context.meter.spend(Usage(requests=1, input_tokens=100), 1.0)
        draw = random.Random(f"{context.seed} {given.get('salt')}").random()  # noqa: S311
        (context.folder / "answer.txt").write_text(str(float(draw < float(str(given["rate"])))))
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Return what the coin showed."""
        return Evaluation(score=float((evidence.folder / "answer.txt").read_text()))


class Idle:
    """Says at once that it is done."""

    name = "scripted"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Do nothing."""
        del task, environment, context
        return AgentOutcome()
