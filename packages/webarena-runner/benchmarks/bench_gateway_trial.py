"""Time trials whose agent reaches its browser by the gateway, and the same trials without it.

They are whole trials as the runner does them: sites of the built-in world entered, a fresh Chromium recorded, tasks
solved by browser-use with scripted replies, and scored. The two kinds take turns. The best of each task counts,
and the first round does not. Nobody thinks in them, as a model would for seconds before each step::

    python packages/webarena-runner/benchmarks/bench_gateway_trial.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import defaultdict
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench_core.cli import render_table
from bench_core.discovery import load_agent
from bench_core.errors import UnknownTaskError
from bench_core.protocols import TrialContext
from bench_core.records import Limits
from bench_core.trial import run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.world import BuiltInWorld
from webarena_runner.world.launch import environment_of
from webarena_runner.world.scripts import script_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.records import Task, TrialResult

TASKS = 4
ROUNDS = 3
MOST_RATIO = 1.05


@dataclass
class Nothing:
    """Stands where the gateway would, and gives the agent Chromium's own address."""

    cdp_url: str
    log: Any = field(default_factory=lambda: SimpleNamespace(ending=None))
    fault: None = None
    hung_up: bool = False


@asynccontextmanager
async def no_gateway(cdp_url: str, *_: object) -> AsyncIterator[Nothing]:
    """Open nothing between an agent and its Chromium."""
    yield Nothing(cdp_url)


async def measure() -> dict[tuple[str, str], list[float]]:
    """Return the seconds of whole trials, and of the agent's part of them, by kind."""
    world = BuiltInWorld()
    await world.start()
    best: dict[tuple[str, str, str], float] = defaultdict(lambda: float("inf"))
    try:
        benchmark = WebArenaBenchmark(environment_of(world))
        tasks = [task for task in benchmark.tasks() if _is_solved(task)]
        for number in range(ROUNDS + 1):
            for task in tasks[:: max(1, len(tasks) // TASKS)][:TASKS]:
                for kind in ("direct", "gateway") if number % 2 else ("gateway", "direct"):
                    result = await _trial(benchmark, task, kind)
                    for part in ("total", "agent") if number else ():
                        key = (kind, part, task.task_id)
                        best[key] = min(best[key], result.timings_s[part])
    finally:
        await world.stop()
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (kind, part, _), seconds in sorted(best.items()):
        found[kind, part].append(seconds)
    return found


def _is_solved(task: Task) -> bool:
    try:
        script_for(task.task_id)
    except UnknownTaskError:
        return False
    return True


async def _trial(benchmark: WebArenaBenchmark, task: Task, kind: str) -> TrialResult:
    with tempfile.TemporaryDirectory() as folder:
        context = TrialContext(
            run_id="bench", folder=Path(folder), agent="scripted", world="built-in",
            limits=Limits(max_steps=20, time_limit_s=240),
        )  # fmt: skip
        agent = load_agent("scripted")
        if kind == "gateway":
            result = await run_trial(benchmark, task, context, agent)
        else:
            with patch("bench_core.browser.trial_browser.open_gateway", no_gateway):
                result = await run_trial(benchmark, task, context, agent)
    if result.score != 1.0:
        raise SystemExit(f"task {task.task_id} ({kind}) scored {result.score}: {result.error}")
    return result


def main() -> int:
    """Print the table; exit code 1 if the promise is missed."""
    times = asyncio.run(measure())
    rows = []
    ratios = {}
    for part in ("total", "agent"):
        direct, by = sum(times["direct", part]), sum(times["gateway", part])
        ratios[part] = by / direct
        promised = f"<= {MOST_RATIO:g}" if part == "total" else ""
        rows.append((part, f"{direct:.2f}", f"{by:.2f}", f"{ratios[part]:.3f}", promised))
    names = (f"seconds of {TASKS} trials", "direct", "gateway", "ratio", "promised")
    print(render_table(names, rows))
    return 0 if ratios["total"] <= MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
