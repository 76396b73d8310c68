"""Whether a long run with faults that is interrupted again and again ends as the same run left alone.

The same simulated trials, of which some meet a fault of their own drawn by seed, are run twice: at a stretch,
and in a process that is stopped (SIGINT) or killed (SIGKILL) after as many trials as the seed says, with the
same command going on each time. Both summaries must be equal in everything but the time they took.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core import exit_codes
from bench_core.errors import EnvironmentFaultError, EvaluationError
from bench_core.progress import NoProgress
from bench_core.records import AgentOutcome, Resource, Status, Task, Usage
from bench_core.run_folder import check_run, read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.statistics import summarise
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask, TrialResult
    from bench_core.trial import Evidence

FAULTS = 0.05
"""The share of trials that meet a fault."""
KINDS = ("down-once", "down", "raises", "exits", "claims", "out-of-time", "no-evaluation", "bug")
ATTEMPTS = 3
CODES = {"interrupted": exit_codes.INTERRUPTED, "aborted": exit_codes.ABORTED}
"""Of the ends of a session after which trials are left that were never tried."""


def draw(task_id: str, trial: int) -> tuple[str | None, bool]:
    """Return the fault of a trial, None for none, and whether its agent succeeds."""
    chance = random.Random(f"{task_id} {trial}")  # not cryptography
    fault = chance.choice(KINDS) if chance.random() < FAULTS else None
    return fault, chance.random() < 0.4


class Simulated:
    """Tasks of four sites whose trials end as their seed says."""

    name = "simulated"

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks

    def tasks(self) -> list[Task]:
        return [
            Task(benchmark=self.name, task_id=str(n), goal="Do it.", template=f"t{n // 4}",
                 groups={"site": (f"site-{n % 4}",)}, resources=(Resource(name=f"site-{n % 4}", mode="shared"),))
            for n in range(self._tasks)
        ]  # fmt: skip

    @asynccontextmanager
    async def open(self, task: Task, context: TrialContext, agent: Agent) -> AsyncIterator[Any]:
        del agent
        fault, _ = draw(task.task_id, context.trial)
        if fault == "down" or (fault == "down-once" and context.attempt == 1):
            raise EnvironmentFaultError(f"site of {task.task_id} trial {context.trial} is down")
        if fault == "bug":
            raise KeyError(task.task_id)
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        fault, success = draw(evidence.task.task_id, evidence.context.trial)
        if fault == "no-evaluation":
            raise EvaluationError(f"nothing decides on {evidence.task.task_id}")
        return Evaluation(score=float(success and fault not in {"raises", "exits", "claims"}))


class Worker:
    """Pays for a call and ends as its trial's seed says."""

    name = "worker"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment
        context.meter.spend(Usage(requests=1, input_tokens=100), 0.01)
        fault, _ = draw(task.task_id, context.trial)
        if fault == "raises":
            raise ValueError(task.task_id)
        if fault == "exits":
            raise SystemExit(3)
        if fault == "claims":
            return AgentOutcome(status=Status.ENVIRONMENT_ERROR)
        if fault == "out-of-time":
            return AgentOutcome(status=Status.TIME_LIMIT, steps=3)
        return AgentOutcome(steps=3)


class Interrupting(NoProgress):
    """Ends this process by a signal after so many trials."""

    def __init__(self, after: int, number: int) -> None:
        self._left = after
        self._number = number

    def finished(self, result: TrialResult) -> None:
        del result
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), self._number)


def run(folder: Path, asked: argparse.Namespace) -> int:
    """Run or continue the run in `folder` in this process."""
    spec = RunSpec(
        agent="worker", trials=asked.trials, workers=4, attempts=ATTEMPTS, seed=asked.seed
    )
    number = signal.SIGKILL if asked.kill else signal.SIGINT
    run_environment = RunEnvironment(
        locks=NoLocks(),
        # no circuit breakers: which faults meet in a row depends on the order, which interruptions change
        policy=Policy(
            workers=4, attempts=ATTEMPTS, backoff=Backoff(first_s=0), max_consecutive_faults=None
        ),
        agent_for=lambda *_: Worker(),
        progress=Interrupting(asked.after, number) if asked.after else NoProgress(),
    )
    outcome = run_benchmark_sync(
        Simulated(asked.tasks), spec, folder, run_environment=run_environment, guard=True
    )
    # trials whose site stays down are left without a score: that is how this run ends
    return CODES.get(outcome.outcome, exit_codes.OK)


def summary_of(folder: Path) -> dict[str, Any]:
    """Return what is concluded from a run, without the time it took."""
    view = read_run(folder)
    found = summarise(view.tasks, view.results.values(), trials=view.info.trials)
    return found.model_dump(mode="json", exclude={"time_s"})


def campaign(place: Path, asked: argparse.Namespace) -> list[str]:
    """Return what differs between the run at a stretch and the interrupted one."""
    whole, torn = place / "whole", place / "torn"
    chance = random.Random(asked.seed)  # not cryptography
    for folder, times in ((whole, 0), (torn, asked.interruptions)):
        for n in range(times):
            # the last trials may be those that were interrupted, so not all of them are spread
            after = chance.randint(1, max(1, 2 * asked.tasks * asked.trials // (3 * times)))
            code = _session(folder, asked, after, kill=chance.random() < 0.5)  # half
            if code not in {-signal.SIGKILL, exit_codes.INTERRUPTED}:
                return [f"session {n} was to be interrupted and ended with {code}"]
        if (code := _session(folder, asked, 0, kill=False)) != exit_codes.OK:
            return [f"the last session of {folder.name} ended with {code}"]
    before, after_all = summary_of(whole), summary_of(torn)
    found = [f"check: {each}" for each in check_run(torn).problems if "no result" not in each]
    found += [f"{name} is {after_all[name]}, was {before[name]}" for name in before
              if before[name] != after_all[name]]  # fmt: skip
    statuses, rate = before["statuses"], before["success"]["estimate"]
    print(f"{asked.tasks} tasks x {asked.trials}, {asked.interruptions} interruptions, seed {asked.seed}: "
          f"{statuses}, rate {rate:.4f}; {len(found)} differences")  # fmt: skip
    return found


def _session(folder: Path, asked: argparse.Namespace, after: int, *, kill: bool) -> int:
    command = [sys.executable, __file__, "--folder", str(folder), "--tasks", str(asked.tasks),
               "--trials", str(asked.trials), "--seed", str(asked.seed), "--after", str(after)]  # fmt: skip
    return subprocess.run([*command, *(["--kill"] if kill else [])], check=False).returncode


def main() -> int:
    """Run the campaign and return the exit code: 1 where the two runs differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=812)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--interruptions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="run in this process only")
    parser.add_argument("--after", type=int, default=0, help="trials until a signal; 0 for none")
    parser.add_argument("--kill", action="store_true", help="SIGKILL instead of SIGINT")
    asked = parser.parse_args()
    if asked.folder is not None:
        return run(asked.folder, asked)
    with tempfile.TemporaryDirectory() as place:
        found = campaign(Path(place), asked)
    for each in found:
        print(f"broken: {each}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
