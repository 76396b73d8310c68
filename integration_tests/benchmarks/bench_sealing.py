"""What hiding answers from agents costs a trial: runs with `--sealing auto` and `off`, in pairs.

The agent works in a process of its own. One kind of trial does nothing; the other works in a browser on the stand-in
sites, by a script, and is scored. The runs of a pair follow each other, in turns, so that what else the machine does
meets both, and the median of all pairs counts::

    python integration_tests/benchmarks/bench_sealing.py
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench_core.cli import render_table
from bench_core.records import Task
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, TrialEnvironment
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.world.launch import built_in_world, environment_of
from webarena_runner.world.scripts import demo_task_ids

MOST_RATIO, MOST_MS = 1.05, 150.0
TASKS, EMPTY = 4, 10
"""Trials in each run of a pair, in a browser and without one."""


class Nothing:
    """Tasks that need no environment."""

    name = "nothing"

    def tasks(self) -> list[Task]:
        """Return the tasks of one run."""
        return [Task(benchmark=self.name, task_id=str(n), goal="-") for n in range(EMPTY)]

    @asynccontextmanager
    async def open(self, task: Task, context: Any, agent: Any) -> Any:
        """Open nothing."""
        del task, context, agent
        yield TrialEnvironment()

    async def evaluate(self, evidence: Any) -> Evaluation:
        """Say yes."""
        del evidence
        return Evaluation(score=1.0)


def trial_of(benchmark: Any, agent: str, sealing: Any, ids: tuple[str, ...]) -> tuple[float, float]:
    """Run tasks once and return the wall seconds and CPU seconds of a trial; CPU with its share of the run's start."""
    spec = RunSpec(
        agent=agent, sealing=sealing, world="built-in", tasks=TaskFilter(ids=ids),
        agent_process=AgentProcessSpec(process="own"),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        out, before = Path(folder) / "run", os.times()
        run_benchmark_sync(benchmark, spec, out, run_environment=RunEnvironment(locks=NoLocks()))
        spent = sum(now - then for now, then in zip(os.times()[:4], before, strict=False))
        results = list(read_run(out).latest)
    for each in results:
        hidden = each.sealing is not None and each.sealing.agent == "hidden"
        if each.score is None or hidden != (sealing == "auto"):
            raise SystemExit(f"{each.task_id}: {each.error}, {each.sealing}")
    return statistics.fmean(each.timings_s["total"] for each in results), spent / len(results)


def pairs_of(
    number: int, *run: Any, ids: tuple[str, ...] = ()
) -> dict[str, list[tuple[float, float]]]:
    """Return the wall seconds, and the CPU seconds, of sealed and unsealed trials, a pair of runs after the other."""
    found: dict[str, list[tuple[float, float]]] = {"wall": [], "CPU": []}
    for turn in range(number + 1):
        ways = ("auto", "off") if turn % 2 else ("off", "auto")
        times = {sealing: trial_of(*run, sealing, ids) for sealing in ways}
        sys.stderr.write(f"pair {turn} of {number}: {times}\n")
        if turn:  # the first loads what all need
            for part, sealed, unsealed in zip(found, times["auto"], times["off"], strict=True):
                found[part].append((sealed, unsealed))
    return found


def main() -> int:
    """Print the table; exit code 1 if a promise is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=8)
    options, _ = parser.parse_known_args()  # the other scripts' options are none of ours
    with built_in_world() as world:
        benchmark = WebArenaBenchmark(environment_of(world))
        ids = tuple(map(str, demo_task_ids()))[:TASKS]
        kinds = {
            "no browser": pairs_of(options.pairs, Nothing(), "do-nothing"),
            f"browser, {len(ids)} tasks": pairs_of(options.pairs, benchmark, "scripted", ids=ids),
        }
    rows, missed = [], False
    for kind, found in kinds.items():
        for part, pairs in found.items():
            ratio = statistics.median(sealed / unsealed for sealed, unsealed in pairs)
            more_ms = 1000 * statistics.median(sealed - unsealed for sealed, unsealed in pairs)
            unsealed_s = statistics.median(unsealed for _, unsealed in pairs)
            rows.append((kind, part, f"{unsealed_s:.3f} s", f"{ratio:.3f}", f"{more_ms:+.0f} ms"))
            if part == "wall":
                missed |= more_ms > MOST_MS or (kind != "no browser" and ratio > MOST_RATIO)
    print(render_table(("a trial", "time", "unsealed", "sealed / unsealed", "more"), rows))
    print(
        f"promised of wall time: at most {MOST_MS:g} ms more, in a browser at most {MOST_RATIO:g}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
