"""A benchmark for runs whose workers, nodes and own process are killed: each trial leaves marks of what it did.

`python marking_runs.py PLACE` starts or continues the run in PLACE; what it holds and does is checked there by
the trials themselves, in files that all processes see.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core import exit_codes
from bench_core.records import Resource, Task
from bench_core.run_spec import ExecutorSpec, RunSpec, Timeouts
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, FileLocks, Policy
from bench_core.trial import Evaluation, Evidence, TrialEnvironment
from bench_core.workers import PipeTransport, Recipe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from bench_core.protocols import Agent, TrialContext

SITES = 2
LONGEST_S = 0.4
BLOCK_S = 20.0
"""After so long without a sign a worker is ended: it was stopped."""
_SLEEPER = "import time; time.sleep(600)"
_EVER = 1000


class Marks:
    """So many tasks; every third changes a site, the others read one; every fifth starts a process."""

    name = "marks"

    def __init__(self, tasks: int, place: Path) -> None:
        self._tasks = tasks
        self._place = place

    def tasks(self) -> list[Task]:
        """Return the tasks."""
        return [
            Task(benchmark="marks", task_id=str(number), goal="Leave a mark",
                 resources=(_site(number),))
            for number in range(self._tasks)
        ]  # fmt: skip

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Do something for a while, on a site that is this attempt's alone where it changes that."""
        del agent
        number, chance = int(task.task_id), random.Random(context.seed)  # noqa: S311  # not cryptography
        with self._on_site(_site(number), context):
            if number % 5 == 0:
                process = subprocess.Popen(  # noqa: ASYNC220  # as quick as anything
                    [sys.executable, "-c", _SLEEPER], start_new_session=True
                )
                context.processes.own(process.pid)
            await asyncio.sleep(chance.uniform(0.0, LONGEST_S))
            (context.folder / "deep").mkdir()
            for name in ("mark.txt", "deep/answer.txt", "picture.bin"):
                (context.folder / name).write_bytes(chance.randbytes(1 << 12))
        yield TrialEnvironment(details={"token": context.token})

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score what is complete."""
        whole = all((evidence.folder / each).is_file() for each in ("mark.txt", "deep/answer.txt"))
        return Evaluation(score=float(whole))

    @contextmanager
    def _on_site(self, site: Resource, context: TrialContext) -> Iterator[None]:
        """Note that this attempt acts on a site, and whether another does that it must not meet."""
        folder = self._place / "sites" / site.name
        folder.mkdir(parents=True, exist_ok=True)
        pid = os.getpid()
        own = folder / f"{site.mode}-{pid}-{_started(pid)}-{context.token}"
        own.touch()
        others = [each.name for each in folder.iterdir() if each != own and _acts(each.name)]
        if clashing := [
            each for each in others if site.mode == "exclusive" or each.startswith("exclusive")
        ]:
            with (self._place / "clashes").open("a") as file:
                file.write(f"{own.name} met {clashing} on {site.name}\n")
        try:
            yield
        finally:
            own.unlink(missing_ok=True)


def _site(number: int) -> Resource:
    mode: Any = "exclusive" if number % 3 == 0 else "shared"
    return Resource(name=f"site-{number % SITES}", mode=mode)


def _acts(name: str) -> bool:
    """Whether the process that left a note is still there: one that was killed takes none away."""
    _, pid, started, _ = name.split("-")
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """Return when a process was started, so that a later one of its number is another.

    One that has ended is gone: it is listed until its parent looks, which for what a killed run has left takes init
    a second or more.
    """
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if fields[0] not in {"Z", "X"}:
            return fields[19]
    return "gone"


@contextmanager
def prepare(options: Mapping[str, Any], purpose: Purpose) -> Iterator[PreparedRun]:
    """Prepare the marks in a worker."""
    del purpose
    marks = Marks(options["tasks"], Path(options["place"]))
    yield PreparedRun(marks, RunSpec(agent="do-nothing"), Path(options["out"]))


def main() -> int:
    """Start or continue the run and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument(
        "--address", help="of a Ray cluster; without one workers are at the end of pipes"
    )
    asked = parser.parse_args()
    ray = asked.address is not None
    timeouts = Timeouts(loop_block_s=BLOCK_S, cancel_grace_s=20.0)
    spec = RunSpec(
        agent="do-nothing", workers=asked.workers, timeouts=timeouts, sealing="off", attempts=_EVER,
        executor=ExecutorSpec(kind="ray", address=asked.address) if ray else ExecutorSpec(),
    )  # fmt: skip
    policy = Policy(
        workers=asked.workers, attempts=_EVER, timeouts=timeouts, backoff=Backoff(first_s=0.0),
        max_consecutive_faults=None,
    )  # fmt: skip
    options = {"tasks": asked.tasks, "place": str(asked.place)}
    with_ = RunEnvironment(
        locks=FileLocks(_made(asked.place / "locks")),
        policy=policy,
        recipe=Recipe(prepare="marking_runs:prepare", options=options),
        transport=None if ray else PipeTransport(),
    )
    with contextlib.suppress(KeyboardInterrupt):
        outcome = run_benchmark_sync(
            Marks(asked.tasks, asked.place), spec, asked.place / "run", run_environment=with_
        )
        return exit_codes.OK if outcome.remaining == 0 else exit_codes.FELL_SHORT
    return exit_codes.INTERRUPTED


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
