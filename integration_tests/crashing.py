"""A benchmark and an agent that end processes on purpose, in a run that campaigns start as a process."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import signal
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench_core import exit_codes
from bench_core.budgets import Budget
from bench_core.errors import BenchError
from bench_core.progress import NoProgress
from bench_core.records import AgentOutcome, Limits, Task, Usage
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.run_spec import AgentProcessSpec, RunSpec, Timeouts
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import AgentLimits, Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentEnding, AgentTask, TrialResult
    from bench_core.trial import Evidence

CALL = Usage(requests=1, input_tokens=100, output_tokens=10)
CALL_USD = 0.25
LEDGER = "CRASHING_LEDGER"
PAUSE = "CRASHING_PAUSE"
"""The variable with the seconds that each agent waits after its call; without it none."""

DEEDS: dict[str, Callable[[], object]] = {
    "exits": lambda: os._exit(7),
    "exits-75": lambda: os._exit(75),
    "exits-0": lambda: os._exit(0),
    "segfaults": lambda: ctypes.string_at(0),
    "aborts": os.abort,
    "kills-itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "raises-system-exit": lambda: sys.exit(3),
    "raises-interrupt": lambda: _raise(KeyboardInterrupt()),
    "raises": lambda: _raise(ValueError("a bug of its own")),
    "blocks": lambda: time.sleep(600),
}
"""What a killer does, by the name of its task; each ends a process but the last four."""

HONEST = "honest"
AS_AGENT, AS_BENCHMARK = "agent", "benchmark"


def task_ids(killers: int, honest: int) -> list[str]:
    """Return ids of honest trials with killers of every kind mixed in, as agents and as benchmarks."""
    kinds = [f"{where}.{deed}" for where in (AS_AGENT, AS_BENCHMARK) for deed in DEEDS]
    killing = [f"{kinds[n % len(kinds)]}.{n}" for n in range(killers)]
    calm = [f"{HONEST}.{n}" for n in range(honest)]
    return [each for pair in zip(killing, calm, strict=False) for each in pair] + [
        *killing[honest:],
        *calm[killers:],
    ]


class Paper(TrialEnvironment):
    """Keeps the answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._artifacts = TrialArtifacts(folder)

    async def capture(self, ending: AgentEnding) -> None:
        self._artifacts.write_json("answer.json", ending.answer)


class Crashing:
    """Sums that end the run's own process where their ids say so."""

    name = "crashing"
    environment = "text"

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    def tasks(self) -> list[Task]:
        limits = Limits(time_limit_s=300)
        quick = Limits(time_limit_s=1)
        return [
            Task(benchmark=self.name, task_id=each, goal="What is 2 + 2?",
                 limits=quick if ".blocks" in each else limits)
            for each in self._ids
        ]  # fmt: skip

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        del agent
        where, deed, *_ = task.task_id.split(".")
        if where == AS_BENCHMARK:
            spend(context)
            DEEDS[deed]()
        yield Paper(context.folder)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=float(read_json(evidence.folder / "answer.json") == 4))


class Killer:
    """Pays for a call, then does what the name of its task says."""

    name = "killer"
    environments = ("text",)

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment
        spend(context)
        where, deed, *_ = task.task_id.split(".")
        await asyncio.sleep(float(os.environ.get(PAUSE, "0")))
        if where == AS_AGENT:
            DEEDS[deed]()
        return AgentOutcome(answer=4, steps=1)


def spend(context: TrialContext) -> None:
    """Pay for a call, then write it into a ledger that is no part of the run."""
    context.meter.spend(CALL, CALL_USD)
    with Path(os.environ[LEDGER]).open("ab", buffering=0) as ledger:
        ledger.write(b"1\n")


class Acknowledged(NamedTuple):
    """A trial of which the run said that it was finished."""

    task_id: str
    trial: int
    score: float | None
    status: str

    @property
    def scored(self) -> bool:
        """Whether it has a score, and so must never run again."""
        return self.score is not None


def acknowledged(folder: Path) -> list[Acknowledged]:
    """Return what the sessions of the run in `folder` said was finished, in order."""
    file = folder.with_suffix(".finished")
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [Acknowledged(*json.loads(line)) for line in lines]


class Acknowledging(NoProgress):
    """Writes down each trial that the run said was finished."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def finished(self, result: TrialResult) -> None:
        line = json.dumps([result.task_id, result.trial, result.score, str(result.status.value)])
        with self._file.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())


def _raise(error: BaseException) -> None:
    raise error


def spec_of(options: argparse.Namespace) -> RunSpec:
    """Return the run that the campaigns ask for."""
    return RunSpec(
        agent="crashing:Killer",
        trials=options.trials,
        workers=options.workers,
        attempts=options.attempts,
        seed=options.seed,
        budget=Budget(max_cost_usd=options.budget),
        agent_process=AgentProcessSpec(process="own", variables=(LEDGER, PAUSE)),
        timeouts=Timeouts(loop_block_s=options.loop_block),
    )


def main() -> int:
    """Run or continue the run in FOLDER and return the exit code of a `run` command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--killers", type=int, default=0)
    parser.add_argument("--honest", type=int, default=10)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--attempts", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loop-block", type=float, default=2.0, help="seconds")
    parser.add_argument("--budget", type=float, default=None)
    options = parser.parse_args()
    ids = task_ids(options.killers, options.honest)
    run_environment = RunEnvironment(
        locks=NoLocks(),
        agent_limits=AgentLimits(overtime_s=0.1),
        progress=Acknowledging(options.folder.with_suffix(".finished")),
    )
    try:
        outcome = run_benchmark_sync(
            Crashing(ids),
            spec_of(options),
            options.folder,
            run_environment=run_environment,
            guard=True,
        )
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except (OSError, BenchError) as error:  # as commands do: one sentence with the path
        sys.stderr.write(f"{error}\n")
        return exit_codes.USAGE
    return exit_codes.FELL_SHORT if outcome.remaining else exit_codes.OK


if __name__ == "__main__":
    raise SystemExit(main())
