"""Measures what a trivial trial costs in the scheduler and run folder, beside other harnesses.

Run it with `nox -s bench` or `python bench_scheduler.py [--trials 1000]`. Each case runs in a process of
its own; times are CPU time, the best of several runs. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
import types
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRIALS = 1_000
WORKERS = 10
REPEATS = 3
BOUND_MS = 2.0
BOUND_MB = 80.0
BOUND_GROWTH = 1.5


@dataclass(frozen=True)
class Measured:
    """What one case cost: milliseconds of CPU and of wall time per trial, megabytes."""

    cpu_ms: float
    wall_ms: float
    memory_mb: float


def proctor(folder: Path, trials: int) -> Callable[[], None]:
    """Run trials as `run` does: locks, deadlines, attempts, events, redaction, group sync."""
    from bench_core.progress.plain import PlainProgress
    from bench_core.records import AgentOutcome, Resource, Task
    from bench_core.redaction import Redactor
    from bench_core.run_spec import RunSpec  # a case measures its own imports' memory
    from bench_core.runs import RunEnvironment, run_benchmark_sync
    from bench_core.scheduling import FileLocks
    from bench_core.trial import Evaluation, TrialEnvironment

    class Trivial:
        name = "trivial"

        def tasks(self) -> list[Task]:
            site = (Resource(name="site", mode="shared"),)
            return [
                Task(benchmark="trivial", task_id=str(n), goal="Say yes", resources=site)
                for n in range(trials)
            ]

        @asynccontextmanager
        async def open(self, task: Task, context: Any, agent: Any) -> Any:
            del task, context, agent
            yield TrialEnvironment()

        async def evaluate(self, evidence: Any) -> Evaluation:
            del evidence
            return Evaluation(score=1.0)

    class Idle:
        name = "none"

        async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
            del task, environment, context
            return AgentOutcome()

    secrets = {"A_API_KEY": "sk-planted-0123456789abcdef", "B_TOKEN": "token/with+odd=chars"}
    lines = (folder / "progress.txt").open("w", encoding="utf-8")
    run_environment = RunEnvironment(
        progress=PlainProgress(lines),
        locks=FileLocks(folder),
        agent_for=lambda *_: Idle(),
        redactor=Redactor.from_environment(secrets),
    )
    spec = RunSpec(agent="none", workers=WORKERS)

    def run() -> None:
        with lines:
            outcome = run_benchmark_sync(
                Trivial(), spec, folder / "run", run_environment=run_environment, guard=True
            )
        assert outcome.succeeded == trials  # noqa: S101  # a case that does less is no case

    return run


def semaphore(folder: Path, trials: int) -> Callable[[], None]:
    """Gather coroutines behind a semaphore; append a line of JSON each, sync none."""

    async def trial(number: int, places: asyncio.Semaphore, file: Any) -> None:
        async with places:
            await asyncio.sleep(0)
            file.write(json.dumps({"task_id": str(number), "trial": 1, "score": 1.0}) + "\n")
            file.flush()

    async def main() -> None:
        places = asyncio.Semaphore(WORKERS)
        with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
            await asyncio.gather(*(trial(n, places, file) for n in range(trials)))

    return lambda: asyncio.run(main())


def inspect_ai(folder: Path, trials: int) -> Callable[[], None]:
    """Evaluate samples with a mock model and an exact scorer."""
    _stub_tokeniser()
    import inspect_ai as inspect  # may be absent
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import exact

    samples = [Sample(id=str(n), input="Say yes", target="yes") for n in range(trials)]
    task = inspect.Task(dataset=samples, scorer=exact())

    def run() -> None:
        logs = inspect.eval(
            task, model="mockllm/model", display="none", log_dir=str(folder), max_samples=WORKERS
        )
        assert logs[0].status == "success", logs[0].error  # noqa: S101  # see above

    return run


def _stub_tokeniser() -> None:
    """Stand in for tiktoken, which downloads its tables: counting tokens is not what is measured."""
    encoding = types.SimpleNamespace(encode=lambda text, **_: text.split())
    stub = types.ModuleType("tiktoken")
    stub.get_encoding = lambda _name: encoding  # type: ignore[attr-defined]
    stub.encoding_for_model = lambda _name: encoding  # type: ignore[attr-defined]
    sys.modules["tiktoken"] = stub


CASES: dict[str, Callable[[Path, int], Callable[[], None]]] = {
    "proctor": proctor,
    "semaphore + json": semaphore,
    "inspect_ai": inspect_ai,
}


def measure(name: str, trials: int) -> Measured:
    """Run one case in this process."""
    with tempfile.TemporaryDirectory() as place:
        run = CASES[name](Path(place), trials)
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(cpu / trials * 1e3, wall / trials * 1e3, memory)


def measure_apart(name: str, trials: int, repeats: int) -> Measured:
    """Return the best of several runs, each in a process of its own.

    Raises:
        SystemExit: A run failed; its last words are shown.
    """
    command = [sys.executable, __file__, "--case", name, "--trials", str(trials)]
    found = []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} with {trials} trials failed:\n{done.stderr[-2000:]}")
        found.append(Measured(**json.loads(done.stdout.splitlines()[-1])))
    return min(found, key=lambda each: each.cpu_ms)


def broken_bounds(small: Measured, large: Measured) -> list[str]:
    """Return what is slower or larger than it may be."""
    growth = large.cpu_ms / small.cpu_ms
    checks = {
        f"a trial costs {small.cpu_ms:.2f} ms": small.cpu_ms <= BOUND_MS,
        f"the process takes {small.memory_mb:.0f} MB": small.memory_mb <= BOUND_MB,
        f"the cost per trial grows by {growth:.1f}": growth <= BOUND_GROWTH,
    }
    return [what for what, held in checks.items() if not held]


def plan_of(trials: int) -> list[tuple[str, int]]:
    """Return the cases to run and their sizes."""
    cases = [("proctor", trials), ("proctor", 5 * trials), ("semaphore + json", trials)]
    if importlib.util.find_spec("inspect_ai"):
        cases.append(("inspect_ai", trials))
    return cases


def show(rows: Sequence[tuple[str, int, Measured]]) -> None:
    """Print the table, each case's cost also as a multiple of ours."""
    ours = rows[0][2].cpu_ms
    print(
        f"{'':<18}{'trials':>8}{'CPU ms/trial':>14}{'wall ms/trial':>15}{'RSS MB':>8}{'CPU ratio':>11}"
    )
    for name, trials, found in rows:
        print(
            f"{name:<18}{trials:>8}{found.cpu_ms:>14.3f}{found.wall_ms:>15.3f}"
            f"{found.memory_mb:>8.0f}{found.cpu_ms / ours:>10.2f}x"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--case", choices=CASES)
    options, _ = parser.parse_known_args()  # the other scripts' options are none of ours
    if options.case:
        print(json.dumps(vars(measure(options.case, options.trials))))
        return
    rows = [
        (name, trials, measure_apart(name, trials, options.repeats))
        for name, trials in plan_of(options.trials)
    ]
    show(rows)
    broken = broken_bounds(rows[0][2], rows[1][2])
    for what in broken:
        print(f"bound broken: {what}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
