"""A benchmark whose tasks do to their worker what their ids say, and what prepares it in a worker."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import EnvironmentFaultError
from bench_core.records import Resource, Task, Usage
from bench_core.run_spec import RunSpec
from bench_core.runs import PreparedRun, Purpose
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from bench_core.protocols import Agent, TrialContext

SLEEPER = "import time; time.sleep(600)"


class Toys:
    """Tasks `<kind>-<number>`."""

    name = "toys"

    def __init__(self, names: tuple[str, ...], place: Path) -> None:
        self._names = names
        self._place = place

    def tasks(self) -> list[Task]:
        return [
            Task(
                benchmark="toys",
                task_id=name,
                goal=f"Be {name}",
                resources=tuple(
                    Resource(name=each, mode="shared") for each in ("toys", *_also(name))
                ),
            )
            for name in self._names
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del agent
        kind = task.task_id.partition("-")[0]
        (context.folder / "deep").mkdir()
        (context.folder / "deep" / "answer.txt").write_text(f"{kind} {context.seed}")
        (context.folder / "picture.png").write_bytes(os.urandom(1 << 10))
        await getattr(self, kind)(context)
        yield TrialEnvironment(details={"process": os.getpid()})

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        answer = (evidence.folder / "deep" / "answer.txt").read_text()
        return Evaluation(score=0.0 if answer.startswith("wrong") else 1.0)

    async def quick(self, context: TrialContext) -> None:
        await asyncio.sleep(0)

    wrong = quick

    async def large(self, context: TrialContext) -> None:
        (context.folder / "large.bin").write_bytes(b"x" * (3 << 20))

    async def down(self, context: TrialContext) -> None:
        raise EnvironmentFaultError("the site is down")

    async def torn(self, context: TrialContext) -> None:
        """Leave one file more at the first attempt, which the site ends."""
        if context.attempt == 1:
            (context.folder / "first.txt").touch()
            raise EnvironmentFaultError("the site is down")

    async def bug(self, context: TrialContext) -> None:
        raise KeyError("a defect")

    async def spend(self, context: TrialContext) -> None:
        context.meter.of("judge").spend(Usage(requests=1, input_tokens=10), 0.01)
        while True:  # until the budget is gone, however fast other workers are
            context.meter.spend(Usage(requests=1, input_tokens=100), 0.25)
            await asyncio.sleep(0)

    async def once(self, context: TrialContext) -> None:
        """Die at the first attempt alone."""
        if context.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    private = quick
    secret = once

    async def die(self, context: TrialContext) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def segfault(self, context: TrialContext) -> None:
        ctypes.string_at(0)

    async def freeze(self, context: TrialContext) -> None:
        """Stop the whole process at the first attempt."""
        if context.attempt == 1:
            os.kill(os.getpid(), signal.SIGSTOP)

    async def block(self, context: TrialContext) -> None:
        if context.attempt == 1:
            time.sleep(600)  # noqa: ASYNC251  # what it is for

    async def garbage(self, context: TrialContext) -> None:
        if context.attempt == 1:
            for descriptor in range(3, 64):
                with contextlib.suppress(OSError):
                    os.write(descriptor, b"no message\n")
            await asyncio.sleep(600)

    async def browser(self, context: TrialContext) -> None:
        """Start a process in a session of its own, then die."""
        self._sleeper(context)
        if context.attempt == 1:
            await asyncio.sleep(0.1)
            os.kill(os.getpid(), signal.SIGKILL)

    async def fork(self, context: TrialContext) -> None:
        """Leave a process that no one knows of and that holds the worker's pipes open, then die."""
        if context.attempt == 1:
            if (child := os.fork()) == 0:
                os.setsid()
                time.sleep(600)  # noqa: ASYNC251  # it has no loop any more
                os._exit(0)
            (self._place / "sleepers").write_text(f"{child}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    async def full(self, context: TrialContext) -> None:
        """Leave what cannot be delivered at the first attempt."""
        if context.attempt == 1:
            shutil.rmtree(context.folder.parent)

    async def litter(self, context: TrialContext) -> None:
        self._sleeper(context)

    async def hang(self, context: TrialContext) -> None:
        self._sleeper(context)
        (self._place / "hangs").touch()
        await asyncio.sleep(600)

    async def stubborn(self, context: TrialContext) -> None:
        (self._place / "hangs").touch()
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(600)

    async def key(self, context: TrialContext) -> None:
        raise EnvironmentFaultError(f"refused: {os.environ.get('TOYS_API_KEY')}")

    def _sleeper(self, context: TrialContext) -> None:
        process = subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True)
        context.processes.own(process.pid)
        with (self._place / "sleepers").open("a") as file:
            file.write(f"{process.pid}\n")


def _also(name: str) -> tuple[str, ...]:
    return ("private",) if name.startswith(("private", "secret")) else ()


@contextmanager
def prepare(options: Mapping[str, Any], purpose: Purpose) -> Iterator[PreparedRun]:
    """Prepare the toys in a worker."""
    del purpose
    if options.get("broken"):
        raise RuntimeError("the recipe is broken")
    toys = Toys(tuple(options["names"]), Path(options["place"]))
    yield PreparedRun(toys, RunSpec(agent="do-nothing"), Path(options["out"]))
