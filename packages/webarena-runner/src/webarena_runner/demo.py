"""The demo: a scripted agent and one that does nothing, on the built-in world."""

from __future__ import annotations

from pathlib import Path

from bench_core.progress import Progress
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import DemoRun, RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.provenance import provenance
from webarena_runner.tasks import parse_ids
from webarena_runner.world import scripted_task_ids
from webarena_runner.world.launch import built_in_world, environment_of
from webarena_runner.world.scripts import demo_task_ids

_EXPECTED = {"scripted": 1.0, "do-nothing": 0.0}
"""The score that each agent must get on every task of the built-in world."""


def demo_ids(text: str | None) -> tuple[str, ...]:
    """Return the tasks that `text` names, with ranges, or by default those chosen for the demo.

    Raises:
        UnknownTaskError: The built-in world has not one of them.
    """
    if not text:
        return tuple(map(str, demo_task_ids()))
    known = tuple(map(str, scripted_task_ids()))
    return tuple(parse_ids(text, known, "the built-in world"))


def run_demo(
    out: Path, *, ids: tuple[str, ...], progress: Progress, workers: int = 2
) -> list[DemoRun]:
    """Run both agents into folders of `out` and return the outcomes; unfinished runs are continued.

    Args:
        out: Gets `scripted/` and `do-nothing/`.
        ids: Tasks of the built-in world.
        progress: Receives the events of the runs.
        workers: Trials at once.
    """
    runs = []
    with built_in_world() as world:
        for agent, expected in _EXPECTED.items():
            spec = RunSpec(
                tasks=TaskFilter(ids=ids), agent=agent, workers=workers, world="built-in"
            )
            run_environment = RunEnvironment(
                progress=progress, provenance=provenance(), locks=NoLocks()
            )
            outcome = run_benchmark_sync(
                WebArenaBenchmark(environment_of(world)),
                spec,
                out / agent,
                run_environment=run_environment,
                guard=True,
            )
            runs.append(DemoRun.of(agent, outcome, expected=expected))
            if runs[-1].stopped:
                break
    return runs
