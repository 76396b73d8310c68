"""Fixed overhead of the timings: a task of 15 steps, by vanilla's sleeps and by polling.

Both timings run the same tasks with the same agent, which decides in no time, on the simulated desktop,
over HTTP, and are scored. Overhead is the seconds a timing sleeps plus the CPU seconds that client,
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

from bench_core.agents import Done, Wait, scripted_agent
from bench_core.cli import render_table
from bench_core.records import Limits
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from waa_client.agents.simple import named_agent
from waa_client.benchmark import WaaBenchmark
from waa_client.desktop import View
from waa_client.tasks import load_tasks
from waa_client.world.launch import BuiltInDesktops, built_in_world

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
        return View(elements=True)

    async def run(self, *arguments: Any) -> Any:
        idle = [(Wait(seconds=0),)] * (STEPS - 1 - len(self.actions))
        steps = [*((each,) for each in self.actions), *idle, (Done(),)]
        make = named_agent if self.actions else scripted_agent
        return await make(steps).run(*arguments)


def measured(task: Any, solution: Any, timing: str, folder: Path) -> tuple[float, float, int]:
    """Return overhead in seconds, score and steps of one trial on a desktop of its own."""
    clock = CountingClock() if timing == "vanilla" else SleepingClock()
    benchmark = WaaBenchmark(
        [task],
        pool=BuiltInDesktops(),
        clock=clock,
    )
    spec = RunSpec(
        agent="following", timing=timing, attempts=1, world="built-in",
        limits=Limits(max_steps=STEPS + 1),
    )  # fmt: skip
    began = time.process_time()
    with_ = RunEnvironment(agent_for=lambda *_: Following(solution.elements))
    run_benchmark_sync(benchmark, spec, folder, run_environment=with_)
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
    world = built_in_world()
    with tempfile.TemporaryDirectory() as scratch:
        tasks = {task.task_id: task for task in load_tasks(world.tasks_folder())}
        for number, task_id in enumerate(world.demo_tasks()):
            found = {}
            for timing in ("vanilla", "fast"):
                folder = Path(scratch) / f"{number}-{timing}"
                found[timing] = measured(tasks[task_id], world.solutions()[task_id], timing, folder)
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
