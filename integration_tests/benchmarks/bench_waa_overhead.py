"""Fixed overhead of WAA's profiles: a task of 15 steps, by vanilla's sleeps and by polling.

Both profiles run the same tasks with the same agent, which decides in no time, on the simulated desktop,
over HTTP, and are scored. Overhead is the seconds a profile sleeps plus the CPU seconds that client,
desktop and evaluation take, which does not depend on what else the machine does. Vanilla's sleeps are
counted and not slept, so that this ends soon.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_core.agents import Done, Wait
from bench_core.agents.replay import scripted_agent
from bench_core.cli import render_table
from bench_core.planning import RunSpec
from bench_core.records import Limits
from bench_core.run_folder import read_run
from bench_core.running import run_benchmark_sync
from bench_core.scheduling.machine_locks import NoLocks
from waa_client.agents.simple import named_agent
from waa_client.benchmark import WaaBenchmark
from waa_client.demo import started
from waa_client.desktop import View
from waa_client.pool import VmPool
from waa_client.settings import WaaSettings
from waa_client.tasks import load_tasks

STEPS = 15
BOUND = 1 / 8


class CountingClock:
    """Counts vanilla's sleeps instead of sleeping; real time goes on beside."""

    def __init__(self) -> None:
        self.slept = 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def now(self) -> float:
        return time.monotonic() + self.slept


class SleepingClock:
    """Sleeps for real and adds up."""

    def __init__(self) -> None:
        self.slept = 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        await asyncio.sleep(seconds)

    def now(self) -> float:
        return time.monotonic()


class Following:
    """Does the solution and then looks on until the fifteenth step."""

    name = "following"

    def __init__(self, actions: tuple[Any, ...]) -> None:
        self.actions = actions

    def view(self, _: object) -> View:
        return View(elements=True, backend="uia")

    async def run(self, *arguments: Any) -> Any:
        idle = [(Wait(seconds=0),)] * (STEPS - 1 - len(self.actions))
        steps = [*((each,) for each in self.actions), *idle, (Done(),)]
        make = named_agent if self.actions else scripted_agent
        return await make(steps).run(*arguments)


def measured(task: Any, solution: Any, profile: str, folder: Path) -> tuple[float, float, int]:
    """Return overhead in seconds, score and steps of one trial on a desktop of its own."""
    clock = CountingClock() if profile == "vanilla" else SleepingClock()
    with started() as (_, info):
        benchmark = WaaBenchmark(
            [task],
            pool=VmPool([info.urls["vm"]], NoLocks()),
            settings=WaaSettings(evaluators=(info.urls["evaluate"],)),
            agent_for=lambda _: Following(solution.elements),
            clock=clock,
        )
        spec = RunSpec(
            agent="following", profile=profile, attempts=1, world="built-in",
            limits=Limits(max_steps=STEPS + 1),
        )  # fmt: skip
        began = time.process_time()
        run_benchmark_sync(benchmark, spec, folder)
        worked = time.process_time() - began
    (result,) = read_run(folder).results.values()
    return (
        clock.slept + worked,
        float(result.score if result.score is not None else -1),
        result.steps,
    )


def main() -> int:
    """Print the table; 1 when a bound is missed."""
    rows, fell_short = [], False
    with tempfile.TemporaryDirectory() as scratch, started() as (world, _):
        tasks = {task.task_id: task for task in load_tasks(world.tasks_folder())}
        for number, task_id in enumerate(world.demo_tasks()):
            found = {}
            for profile in ("vanilla", "fast"):
                folder = Path(scratch) / f"{number}-{profile}"
                found[profile] = measured(
                    tasks[task_id], world.solutions()[task_id], profile, folder
                )
            (slow, first, steps), (quick, second, _) = found["vanilla"], found["fast"]
            ratio = quick / slow
            fell_short |= ratio > BOUND or first != second
            rows.append(
                (task_id[:30], steps, f"{slow:.1f}", f"{quick:.1f}", f"{ratio:.3f}", first, second)
            )
    headers = ("task", "steps", "vanilla s", "fast s", "ratio", "score vanilla", "score fast")
    print(render_table(headers, rows))
    print(f"\npromised: ratio at most {BOUND:.3f}, scores the same")
    return int(fell_short)


if __name__ == "__main__":
    sys.exit(main())
