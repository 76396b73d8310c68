"""Measures what workers cost a run, and how near its schedule comes to what the sites allow.

Run it with `nox -s bench` or `python bench_workers.py`. Each case runs in a process of its own: quick trials that
leave three files, in the run's own process, on workers over pipes, and on workers of a Ray cluster on this
machine, where Ray is installed. What a trial costs is its slot's time beyond the trial itself, from two runs of
different length, so that starting workers does not count. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.cli import render_table
from bench_core.records import Resource, Task, TrialKey
from bench_core.run_spec import AgentProcessSpec, ExecutorSpec, RunSpec, plan_trials
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, makespan_s, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, TrialEnvironment
from bench_core.workers import PipeTransport, Recipe

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from webarena_sites import WEBARENA  # needs the path above

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from bench_core.run_spec import PlannedTrial

EXECUTORS = ("inline", "pipes", "ray")
TRIAL_S = 0.02
FILES = (("screenshot.png", 60_000), ("trace.json", 15_000), ("log/agent.txt", 5_000))
SHORT, LONG = 200, 2_000
FEW, MANY = 1_000, 20_000
TASKS = 200
"""What a run holds of its tasks is theirs; how many trials each of them has is what is measured."""
WORKERS = 4
BOUND_TIMES = {"inline": 1.0, "pipes": 2.0, "ray": 5.0}
BOUND_GROWTH = 1.5
BOUND_SPAN = 1.05
ONCE = ("map", "wikipedia")
"""No task changes these sites, so that there is one of each whatever copies there are of the others."""


class Quick:
    """Tasks that wait for a moment and leave three files."""

    name = "quick"

    def tasks(self) -> list[Task]:
        """Return the tasks."""
        return [Task(benchmark="quick", task_id=str(n), goal="Wait") for n in range(TASKS)]

    @asynccontextmanager
    async def open(self, task: Task, context: Any, agent: Any) -> AsyncIterator[TrialEnvironment]:
        """Wait and write."""
        del task, agent
        await asyncio.sleep(TRIAL_S)
        for name, size in FILES:
            path = context.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(bytes(size))
        yield TrialEnvironment()

    async def evaluate(self, evidence: Any) -> Evaluation:
        """Say yes."""
        del evidence
        return Evaluation(score=1.0)


@contextmanager
def prepare(options: Mapping[str, Any], purpose: Purpose) -> Iterator[PreparedRun]:
    """Prepare the benchmark in a worker."""
    del purpose
    yield PreparedRun(Quick(), RunSpec(agent="do-nothing"), Path(options["out"]))


def run_case(executor: str, count: int) -> None:
    """Run so many trials and print the seconds, and the most megabytes that this process had."""
    with tempfile.TemporaryDirectory() as folder:
        spec = RunSpec(
            agent="do-nothing", trials=count // TASKS, workers=WORKERS, sealing="off", agent_process=AgentProcessSpec(process="shared"),
            executor=ExecutorSpec(kind="ray") if executor == "ray" else ExecutorSpec(),
        )  # fmt: skip
        with_ = RunEnvironment(
            locks=NoLocks(),
            recipe=Recipe(prepare="bench_workers:prepare", options={}),
            transport=PipeTransport() if executor == "pipes" else None,
        )
        began = time.perf_counter()
        done = run_benchmark_sync(Quick(), spec, Path(folder) / "run", run_environment=with_)
        seconds = time.perf_counter() - began
    if done.succeeded != count:
        raise SystemExit(f"{count} trials were to succeed: {done.statuses}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": most}))


def measure(executor: str, count: int) -> dict[str, float]:
    """Run a case in a new process."""
    here = str(Path(__file__).parent)
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])),
        "RAY_worker_niceness": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, __file__, "--case", executor, "--count", str(count)]
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True, text=True)
    case: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return case


def costs(executors: list[str], repeats: int) -> bool:
    """Print what a trial costs by each executor; return whether all keep to their bounds."""
    took: dict[tuple[str, int], list[float]] = defaultdict(list)
    for _ in range(repeats):  # in turns, so that all meet the same machine
        for executor in executors:
            for count in (SHORT, LONG):
                took[executor, count].append(measure(executor, count)["seconds"])
    cost: dict[str, float] = {}
    for each in executors:
        longer = min(took[each, LONG]) - min(took[each, SHORT])
        cost[each] = 1000 * (longer * WORKERS / (LONG - SHORT) - TRIAL_S)
    rows = []
    for name, ms in cost.items():
        times = ms / cost["inline"]
        rows.append((name, f"{ms:.1f}", f"{times:.2f}", f"{BOUND_TIMES[name]:g}",
                     "" if times <= BOUND_TIMES[name] else "MISS"))  # fmt: skip
    print(render_table(("trials of 20 ms", "ms beyond it", "x inline", "at most", ""), rows))
    return not any(row[-1] for row in rows)


def memory(executors: list[str], many: int) -> bool:
    """Print what the run's process takes for few trials and for many; return whether that is flat."""
    rows = []
    for name in executors:
        few, much = (measure(name, count)["megabytes"] for count in (FEW, many))
        held = much / few <= BOUND_GROWTH
        rows.append((name, f"{few:.0f}", f"{much:.0f}", f"{much / few:.2f}", f"{BOUND_GROWTH:g}",
                     "" if held else "MISS"))  # fmt: skip
    names = ("memory, MB", f"{FEW:,} trials", f"{many:,} trials", "ratio", "at most", "")
    print(render_table(names, rows))
    return not any(row[-1] for row in rows)


def spans() -> bool:
    """Print how long 812 tasks with 3 trials take beside what their sites allow, in simulated time.

    The first bound is work / workers, or the longest queue of trials that have one site alone. The second adds what
    no schedule can avoid: while such a trial runs, no other may read that site.
    """
    rows = []
    for copies in (1, 2, 4):
        trials = webarena(copies)
        for workers in (4, 6, 12, 24):
            ratios = [_ratios(trials, workers, spread) for spread in (0.0, 0.6)]
            held = ratios[0][1] <= BOUND_SPAN
            rows.append((copies, workers, *(f"{each:.3f}" for pair in ratios for each in pair),
                         "" if held else "MISS"))  # fmt: skip
    names = (
        "copies",
        "workers",
        "alike: bound",
        "with readers",
        "spread: bound",
        "with readers",
        "",
    )
    print(render_table(names, [tuple(map(str, row)) for row in rows]))
    return not any(row[-1] for row in rows)


def _ratios(trials: list[PlannedTrial], workers: int, spread: float) -> tuple[float, float]:
    """Return the span beside both bounds, trials lasting one unit or drawn from a lognormal distribution."""
    chance = random.Random(workers)  # noqa: S311  # reproducible, not secret
    lasts = {id(each): chance.lognormvariate(0, spread) for each in trials}
    alone: dict[str, float] = defaultdict(float)
    read: dict[str, float] = defaultdict(float)
    for trial in trials:
        for each in trial.resources:
            (alone if each.mode == "exclusive" else read)[each.name] += lasts[id(trial)]
    work = sum(lasts.values()) / workers
    span = makespan_s(trials, workers, lambda each: lasts[id(each)])
    bound = max(work, *alone.values())
    return span / bound, span / max(work, *(alone[name] + read[name] / workers for name in alone))


def webarena(copies: int) -> list[PlannedTrial]:
    """Return three trials of each of the 812 tasks, on so many copies of the sites that tasks change."""
    kinds = [
        (sites, mode)
        for sites, alone, reading in WEBARENA
        for mode, count in (("exclusive", alone), ("shared", reading))
        for _ in range(count)
    ]
    random.Random(1).shuffle(kinds)  # noqa: S311  # an order, not a secret
    tasks = [
        Task(benchmark="webarena", task_id=str(number), goal="", resources=tuple(
            Resource(name=site if site in ONCE else f"{site} {number % copies}", mode=mode)
            for site in sites
        ))
        for number, (sites, mode) in enumerate(kinds)
    ]  # fmt: skip
    keys = [TrialKey(task_id=task.task_id, trial=n) for task in tasks for n in (1, 2, 3)]
    return plan_trials(tasks, keys, RunSpec(agent="a", trials=3))


def main() -> int:
    """Measure, print the tables and tell whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--case", choices=EXECUTORS, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=SHORT, help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--many", type=int, default=MANY, help="trials that memory is measured over"
    )
    asked, _ = parser.parse_known_args()  # the other scripts' options are none of ours
    if asked.case:
        run_case(asked.case, asked.count)
        return 0
    executors = [each for each in EXECUTORS if each != "ray" or find_spec("ray")]
    held = [spans(), costs(executors, asked.repeats), memory(executors, asked.many)]
    if "ray" not in executors:
        print("ray: not measured, for it is not installed")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
