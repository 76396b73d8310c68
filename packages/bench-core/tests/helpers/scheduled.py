"""A scheduler over trials that are plain coroutines, on a virtual clock."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from told import Told
from virtual_time import VirtualClock, run_in_virtual_time

from bench_core.budgets import RunBudget
from bench_core.protocols import TrialContext
from bench_core.records import Status, Task, TrialKey, TrialResult, Usage
from bench_core.run_spec import PlannedTrial, Timeouts
from bench_core.scheduling import Policy, Scheduler

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from bench_core.records import Event

TIMEOUTS = Timeouts(evaluation_grace_s=20, fallback_deadline_s=None, cancel_grace_s=10)


@dataclass
class MemorySink:
    """Keeps results and events in lists and counts folders."""

    folder: Path
    lines: list[TrialResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    attempts: list[TrialKey] = field(default_factory=list)

    def append(self, result: TrialResult) -> None:
        self.lines.append(result)

    def event(self, event: Event) -> None:
        self.events.append(event)

    def new_attempt(self, key: TrialKey) -> Path:
        self.attempts.append(key)
        folder = self.folder / f"{len(self.attempts)}"
        folder.mkdir()
        return folder

    def last(self, task_id: str = "0") -> TrialResult:
        return next(line for line in reversed(self.lines) if line.task_id == task_id)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


class World:
    """A scheduler over trials that are plain coroutines, on a virtual clock."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.sink = MemorySink(folder)
        self.told = Told()
        self.scheduler: Scheduler | None = None
        self.contexts: list[TrialContext] = []
        self.outcome: str | None = None

    def run(
        self,
        trial: Callable[[Task, TrialContext], Awaitable[Any]],
        *,
        trials: Sequence[PlannedTrial] | None = None,
        policy: Policy | None = None,
        budget: RunBudget | None = None,
        meanwhile: Callable[[], Awaitable[None]] | None = None,
        locks: Any = None,
    ) -> MemorySink:
        async def run_trial(task: Task, context: TrialContext) -> Any:
            self.contexts.append(context)
            return await trial(task, context)

        async def main() -> None:
            self.scheduler = Scheduler(
                run_trial,
                self.sink,
                TrialContext(run_id="r", folder=self.sink.folder, agent="a", model="p:m"),
                budget=budget or RunBudget(),
                progress=self.told,
                policy=policy or Policy(timeouts=TIMEOUTS),
                clock=self.clock,
                locks=locks,
            )
            other = asyncio.ensure_future(meanwhile()) if meanwhile else None
            self.outcome = await self.scheduler.run(trials or [planned()])
            if other is not None:
                await other

        run_in_virtual_time(main(), self.clock)
        return self.sink

    async def at(self, seconds: float) -> Scheduler:
        """Wait until `seconds` after the start."""
        await asyncio.sleep(seconds - self.clock.elapsed_s)
        return self.live

    @property
    def live(self) -> Scheduler:
        """The scheduler that runs."""
        assert self.scheduler is not None
        return self.scheduler


def planned(task_id: str = "0", **fields: Any) -> PlannedTrial:
    task = Task(benchmark="toy", task_id=task_id, goal="")
    return PlannedTrial(key=TrialKey(task_id=task_id), task=task, **fields)


def scored(task: Task, score: float = 1.0, **fields: Any) -> TrialResult:
    return TrialResult(
        benchmark="toy",
        task_id=task.task_id,
        agent="a",
        model="p:m",
        **{"status": Status.COMPLETED, "score": score, **fields},
    )


async def succeed(task: Task, context: TrialContext) -> TrialResult:
    await asyncio.sleep(5)
    return scored(task)


def failing(*errors: BaseException) -> Callable[[Task, TrialContext], Awaitable[TrialResult]]:
    """Return a trial that raises one error per attempt and then succeeds."""
    left = list(errors)

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        await asyncio.sleep(1)
        if left:
            raise left.pop(0)
        return scored(task)

    return trial


async def stubborn(task: Task, context: TrialContext) -> TrialResult:
    """Swallow every cancellation for 300 seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + 300
    while loop.time() < end:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(end - loop.time())
    return scored(task)


def spending(calls: int, *, cost_usd: float | None = 1.0) -> Callable[..., Awaitable[TrialResult]]:
    async def trial(task: Task, context: TrialContext) -> TrialResult:
        for _ in range(calls):
            await asyncio.sleep(1)
            context.meter.spend(Usage(requests=1, input_tokens=100), cost_usd)
        return scored(task)

    return trial
