"""The demo: a scripted agent and one that does nothing, on simulated desktops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench_core.progress import Progress
from bench_core.records import Limits
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import DemoRun, RunEnvironment, run_benchmark_sync
from waa_client.benchmark import WaaBenchmark
from waa_client.provenance import provenance
from waa_client.tasks import load_tasks, resolve_task_id
from waa_client.world.launch import BuiltInDesktops, built_in_world

_EXPECTED = {"scripted": 1.0, "do-nothing": 0.0}
"""The score that each agent must get on every task of the simulated desktop."""

_STEPS = 50


def run_demo(
    out: Path,
    *,
    progress: Progress,
    ids: Sequence[str] = (),
    agents: Sequence[str] = tuple(_EXPECTED),
) -> list[DemoRun]:
    """Run both agents into folders of `out` and return the outcomes; unfinished runs are continued.

    Args:
        out: Gets `scripted/` and `do-nothing/`.
        progress: Receives the events of the runs.
        ids: Tasks of the simulated desktop; by default those of its demo.
        agents: Names of the agents to run.

    Raises:
        UnknownPluginError: No simulated desktop is installed.
        UnknownTaskError: It does not have one of the tasks.
    """
    world = built_in_world()
    tasks = load_tasks(world.tasks_folder())
    wanted = tuple(resolve_task_id(each, tasks) for each in ids or world.demo_tasks())
    benchmark = WaaBenchmark(tasks, pool=BuiltInDesktops())
    environment = RunEnvironment(progress=progress, provenance=provenance())
    runs = []
    for agent in agents:
        spec = RunSpec(
            tasks=TaskFilter(ids=wanted), agent=agent, world="built-in", timing="fast",
            limits=Limits(max_steps=_STEPS),
        )  # fmt: skip
        outcome = run_benchmark_sync(
            benchmark, spec, out / agent, run_environment=environment, guard=True
        )
        runs.append(DemoRun.of(agent, outcome, expected=_EXPECTED[agent]))
        if runs[-1].stopped:
            break
    return runs
