"""Measures what a process of its own costs an agent, beside a new interpreter and a shared process.

Run it with `nox -s bench` or `python bench_agent_process.py`. Times are wall time, the best of several
runs; what counts are their ratios. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.agent_process import agent_variables
from bench_core.agent_process.isolated import IsolatedAgent
from bench_core.agent_process.launcher import ForkLauncher
from bench_core.records import AgentOutcome, Task
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 5
TURNS = 150_000_000
"""Some six seconds of work, as long as an agent thinks a few times: the start of a run, which imports the
agent once, is no part of what is measured here."""
BOUND_START = 1 / 5
BOUND_TWO_CORES = 1.6
BUSY = "bench_agent_process:Busy"


class Busy:
    """Computes, as an agent does that looks at pictures."""

    name = "busy"

    async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
        """Compute for a while."""
        del environment, context
        number = 0
        for _ in range(int(task.goal)):
            number = (number * 31 + 7) % 1_000_003
        return AgentOutcome(answer=number, steps=1)


class Work:
    """Two tasks that need nothing but a processor."""

    name = "work"

    def __init__(self, turns: int) -> None:
        self._turns = turns

    def tasks(self) -> list[Task]:
        """Return two tasks."""
        return [Task(benchmark="work", task_id=each, goal=str(self._turns)) for each in "ab"]

    @asynccontextmanager
    async def open(self, task: Task, context: Any, agent: Any) -> Any:
        """Open nothing."""
        del task, context, agent
        yield TrialEnvironment()

    async def evaluate(self, evidence: Any) -> Evaluation:
        """Say yes."""
        del evidence
        return Evaluation(score=1.0)


def new_interpreter() -> None:
    """Start an interpreter that imports bench_core and the agent, and nothing else."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import bench_core.runs.execute; "
        f"from bench_core.discovery import load_agent; load_agent({BUSY!r})"
    )
    subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], check=True)


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Return the seconds of the quickest run."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def start_ratio(repeats: int) -> float:
    """Return what starting an agent's process takes, as a part of a new interpreter."""
    launcher = ForkLauncher(BUSY, agent_variables())
    try:
        # loads the agent in a new process, asks what it is, waits until nothing is left of it
        own = best_of(repeats, lambda: IsolatedAgent(BUSY, launcher))
    finally:
        launcher.close()
    new = best_of(repeats, new_interpreter)
    print(f"start of a process   {own * 1e3:8.1f} ms, a new interpreter {new * 1e3:8.1f} ms")
    return own / new


def two_cores_ratio(repeats: int, turns: int) -> float:
    """Return how much faster two agents compute in processes of their own than in a shared one."""
    seconds = {
        process: best_of(repeats, lambda process=process: run(process, turns))
        for process in ("own", "shared")
    }
    idle = best_of(repeats, lambda: run("own", 0))
    print(f"two agents, no work  {idle * 1e3:8.1f} ms")
    for process, each in seconds.items():
        print(f"two agents, {process:<8} {each * 1e3:8.1f} ms")
    return seconds["shared"] / seconds["own"]


def run(process: Any, turns: int) -> None:
    """Let two agents compute at once."""
    spec = RunSpec(agent=BUSY, workers=2, agent_process=AgentProcessSpec(process=process))
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_benchmark_sync(
            Work(turns), spec, Path(folder) / "run", run_environment=RunEnvironment(locks=NoLocks())
        )
    if outcome.succeeded != 2:
        raise RuntimeError(f"two trials were to succeed: {outcome.statuses}")


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--turns", type=int, default=TURNS)
    options, _ = parser.parse_known_args()  # the other scripts' options are none of ours
    if sys.platform != "linux":
        print("nothing to measure: processes are forked on Linux only")
        return
    started = start_ratio(options.repeats)
    print(f"ratio {started:.3f}, at most {BOUND_START:.3f}")
    broken = started > BOUND_START
    if len(os.sched_getaffinity(0)) > 1:
        gained = two_cores_ratio(min(2, options.repeats), options.turns)
        print(f"ratio {gained:.2f}, at least {BOUND_TWO_CORES:.2f}")
        broken = broken or gained < BOUND_TWO_CORES
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
