"""The whole path on a simulated desktop: an agent that knows the way, and one that does nothing."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench_core.agents.records import Done
from bench_core.demos import DemoRun
from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.planning import RunSpec, TaskFilter
from bench_core.records import Limits
from bench_core.running import Surroundings, run_benchmark_sync
from bench_core.scheduling.machine_locks import NoLocks
from waa_client.agents.simple import DoNothingAgent, named_agent
from waa_client.benchmark import WaaBenchmark
from waa_client.desktop import View
from waa_client.pool import VmPool
from waa_client.running import provenance
from waa_client.settings import WaaSettings
from waa_client.tasks import load_tasks, resolve_task_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bench_core.progress.interface import Progress
    from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext, World, WorldInfo
    from bench_core.records import AgentOutcome, AgentTask, Task
    from bench_core.running import RunOutcome

__all__ = ["SolutionAgent", "run_demo", "started"]

_EXPECTED = {"scripted": 1.0, "do-nothing": 0.0}
"""What each agent must score on every task of the simulated desktop."""

_STEPS = 50


class SolutionAgent:
    """Does tasks as the world says they are done, by the names of elements on the screen."""

    name = "scripted"

    def __init__(self, solutions: Mapping[str, Any]) -> None:
        self._solutions = solutions

    def view(self, _: TrialContext) -> View:
        """Look at the elements, with marks, as a model would."""
        return View(elements=True, marks=True, windows=True, backend="uia")

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Do the task; see `bench_core.protocols.Agent`."""
        solution = self._solutions.get(task.task_id)
        if solution is None:
            raise InputError(f"the simulated desktop has no solution of {task.task_id}")
        steps = [(action,) for action in solution.elements]
        return await named_agent([*steps, (Done(),)]).run(task, environment, context)


def run_demo(
    out: Path,
    *,
    progress: Progress,
    ids: Sequence[str] = (),
    agents: Sequence[str] = tuple(_EXPECTED),
) -> list[DemoRun]:
    """Run both agents into folders of `out` and say how they did; unfinished runs are continued.

    Args:
        out: Holds `scripted/` and `do-nothing/` afterwards.
        progress: Is told what happens.
        ids: Which tasks of the simulated desktop; by default the world's choice.
        agents: Which of the two.

    Raises:
        UnknownPluginError: No simulated desktop is installed.
        UnknownTaskError: It does not hold one of the tasks.
    """
    runs = []
    for agent in agents:
        with started() as (world, info):  # a desktop of its own: nothing is left from the other
            tasks = load_tasks(world.tasks_folder())
            wanted = tuple(resolve_task_id(each, tasks) for each in ids or world.demo_tasks())
            outcome = _run(agent, tasks, wanted, out / agent, world, info, progress)
        runs.append(DemoRun.of(agent, outcome, expected=_EXPECTED[agent]))
        if runs[-1].stopped:
            break
    return runs


@contextmanager
def started() -> Iterator[tuple[Any, WorldInfo]]:
    """Start the installed simulated desktop for the time of the block.

    Raises:
        UnknownPluginError: None is installed.
        InputError: It brings no tasks.
    """
    world: World = load_plugin("world", "waa")()
    if not hasattr(world, "tasks_folder"):
        raise InputError(f"the world {world.name!r} brings no tasks of its own")
    with _loop() as run:
        info = run(world.start())
        try:
            yield world, info
        finally:
            run(world.stop())


@contextmanager
def _loop() -> Iterator[Any]:
    """Run coroutines in a thread of their own, beside the event loop of the trials."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="waa world", daemon=True)
    thread.start()
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _run(  # noqa: PLR0913, PLR0917  # what one run is made of
    agent: str,
    tasks: Sequence[Task],
    ids: tuple[str, ...],
    out: Path,
    world: Any,
    info: WorldInfo,
    progress: Progress,
) -> RunOutcome:
    made = SolutionAgent(world.solutions()) if agent == "scripted" else DoNothingAgent()
    benchmark = WaaBenchmark(
        tasks,
        pool=VmPool([info.urls["vm"]], NoLocks()),
        settings=WaaSettings(evaluators=(info.urls["evaluate"],)),
        agent_for=lambda _: made,
    )
    spec = RunSpec(
        tasks=TaskFilter(ids=ids), agent=agent, world="built-in", profile="fast",
        limits=Limits(max_steps=_STEPS),
    )  # fmt: skip
    surroundings = Surroundings(progress=progress, provenance=provenance(), locks=NoLocks())
    return run_benchmark_sync(benchmark, spec, out, surroundings=surroundings, guard=True)
