"""The whole path on the built-in world: a scripted agent that is right, one that does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.demos import DemoRun
from bench_core.planning import RunSpec, TaskFilter
from bench_core.running import Surroundings, run_benchmark_sync
from bench_core.scheduling.machine_locks import NoLocks
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.provenance import provenance
from webarena_runner.tasks import parse_ids
from webarena_runner.world import demo_task_ids, scripted_task_ids
from webarena_runner.worlds import built_in_world, environment_of

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.progress.interface import Progress

__all__ = ["demo_ids", "run_demo"]

_EXPECTED = {"scripted": 1.0, "do-nothing": 0.0}
"""What each agent must score on every task of the built-in world."""


def demo_ids(text: str | None) -> tuple[str, ...]:
    """Return the tasks `text` names, ranges included, or the choice made for the demonstration.

    Raises:
        UnknownTaskError: The built-in world does not hold one of them.
    """
    if not text:
        return tuple(map(str, demo_task_ids()))
    known = tuple(map(str, scripted_task_ids()))
    return tuple(parse_ids(text, known, "the built-in world"))


def run_demo(
    out: Path, *, ids: tuple[str, ...], progress: Progress, workers: int = 2
) -> list[DemoRun]:
    """Run both agents into folders of `out` and say how they did; unfinished runs are continued.

    Args:
        out: Holds `scripted/` and `do-nothing/` afterwards.
        ids: Which tasks of the built-in world.
        progress: Is told what happens.
        workers: Trials at once.
    """
    runs = []
    with built_in_world() as world:
        for agent, expected in _EXPECTED.items():
            spec = RunSpec(
                tasks=TaskFilter(ids=ids), agent=agent, workers=workers, world="built-in"
            )
            surroundings = Surroundings(progress=progress, provenance=provenance(), locks=NoLocks())
            outcome = run_benchmark_sync(
                WebArenaBenchmark(environment_of(world)),
                spec,
                out / agent,
                surroundings=surroundings,
                guard=True,
            )
            runs.append(DemoRun.of(agent, outcome, expected=expected))
            if runs[-1].stopped:
                break
    return runs
