"""A runner whose tasks do what their ids say; tests start it as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from bench_core.cli import (
    common_command,
    execute_rescore,
    list_tasks,
    runner_group,
)
from bench_core.errors import BudgetExceededError, EnvironmentFaultError
from bench_core.records import Resource, Task, Usage
from bench_core.run_spec import Timeouts
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, RunOptions, TaskOptions
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.runs import Prepare

KINDS = (
    "quick", "wrong", "spend", "down", "flaky", "hang", "block", "gil", "stubborn", "browser", "exit",
    "spree", "zero", "litter", "deaf",
)  # fmt: skip


class ToyBenchmark:
    """Tasks `<kind>-<number>`, in order of number."""

    name = "toy"

    def tasks(self) -> list[Task]:
        return [
            Task(
                benchmark="toy",
                task_id=f"{kind}-{number}",
                goal=f"Be {kind}",
                groups={"kind": (kind,)},
                resources=(Resource(name=f"toy:{kind}", mode="shared"),),
            )
            for number in range(1, 5)
            for kind in KINDS
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del agent
        kind = task.task_id.partition("-")[0]
        click.echo(f"begin {task.task_id}", err=True)
        await getattr(self, kind)(context)
        (context.folder / "answer.txt").write_text(kind)
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        answer = (evidence.folder / "answer.txt").read_text()
        return Evaluation(score=0.0 if answer == "wrong" else 1.0)

    async def quick(self, context: TrialContext) -> None:
        await asyncio.sleep(0)

    wrong = quick

    async def spend(self, context: TrialContext) -> None:
        context.meter.spend(Usage(requests=1, input_tokens=100), 0.25)

    async def down(self, context: TrialContext) -> None:
        raise EnvironmentFaultError("the site is down; key sk-ant-api03-abcdefghijklmnop")

    async def flaky(self, context: TrialContext) -> None:
        if context.attempt == 1:
            (context.folder / "har.json").write_text("{}")
            raise EnvironmentFaultError("the site was down")

    async def hang(self, context: TrialContext) -> None:
        await asyncio.sleep(600)

    async def block(self, context: TrialContext) -> None:
        time.sleep(600)  # noqa: ASYNC251  # what it is for

    async def gil(self, context: TrialContext) -> None:
        re.match(r"(a+)+$", "a" * 60 + "b")

    async def stubborn(self, context: TrialContext) -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(600)

    async def litter(self, context: TrialContext) -> None:
        for name in ("playwright-artifacts-", "browser_use_agent_"):
            tempfile.mkdtemp(prefix=name)
        click.echo("littered", err=True)
        await asyncio.sleep(600)

    async def exit(self, context: TrialContext) -> None:
        os._exit(11)

    async def zero(self, context: TrialContext) -> None:
        os._exit(0)

    async def spree(self, context: TrialContext) -> None:
        for _ in range(200):
            with contextlib.suppress(BudgetExceededError):  # as some agents do
                context.meter.spend(Usage(requests=1, input_tokens=100), 0.05)
        os._exit(12)

    async def browser(self, context: TrialContext) -> None:
        await self._start_browser(context)
        await asyncio.sleep(600)

    async def deaf(self, context: TrialContext) -> None:
        await self._start_browser(context)
        await self.stubborn(context)

    async def _start_browser(self, context: TrialContext) -> None:
        code = "import time; time.sleep(600)"
        nowhere = asyncio.subprocess.DEVNULL  # else it would hold the pipes of the run
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        context.processes.own(process.pid)
        click.echo(f"pid {process.pid}", err=True)


@runner_group("toy-runner", "1.2.3")
def main() -> None:
    """Run toys."""


@common_command(main)
def tasks(*, as_json: bool, **options: Any) -> None:
    """List the toys."""
    list_tasks(ToyBenchmark().tasks(), TaskOptions(**options), as_json=as_json)


@common_command(
    main,
    click.option("--cancel-grace", type=float, default=5.0),
    click.option("--loop-block", type=float, default=60.0),
    click.option("--evaluation-grace", type=float, default=120.0),
    agent="do-nothing",
)
def run(
    cancel_grace: float, loop_block: float, evaluation_grace: float, **options: Any
) -> tuple[Prepare, RunOptions]:
    """Run the toys."""
    timeouts = Timeouts(
        cancel_grace_s=cancel_grace,
        loop_block_s=loop_block,
        evaluation_grace_s=evaluation_grace,
    )

    @contextlib.contextmanager
    def prepare(asked: RunOptions, purpose: Purpose) -> Iterator[PreparedRun]:
        del purpose
        spec = asked.spec().model_copy(update={"timeouts": timeouts})
        with_ = RunEnvironment(price_of={"toy:cheap": 1}.get)
        yield PreparedRun(ToyBenchmark(), spec, asked.folder("toy", spec), with_)

    return prepare, RunOptions(**options)


@common_command(main)
def rescore(run_folder: Path, **options: Any) -> None:
    """Score the toys again."""
    execute_rescore(ToyBenchmark(), run_folder, **options)


if __name__ == "__main__":
    main()
