"""Measures reading, continuing and checking large runs beside plain `json.loads` over the same lines.

Run it with `nox -s bench` or `python bench_large_runs.py [--results 500000] [--keep FOLDER]`. The run is made
from a seed. Each case runs in a process of its own; times are CPU time. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from typing_extensions import Self

from bench_core.files.checksums import add_checksum, checksum_in
from bench_core.progress.plain import PlainProgress
from bench_core.records import AgentOutcome, Event, Spending, Task, Usage
from bench_core.redaction import Redactor
from bench_core.run_folder import RunFolder, check_run, read_info, read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.statistics import read_ended, summarise
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = 500
LEFT = 10
"""Trials that are left to run when a run is continued."""
RESULTS = 500_000
BOUND_MB = 300.0


class Measured(NamedTuple):
    """What one case cost: seconds of CPU, megabytes."""

    cpu_s: float
    memory_mb: float


class Trivial:
    """A benchmark whose trials do nothing."""

    name = "trivial"

    def tasks(self) -> list[Task]:
        """Return its tasks, four of one template."""
        return [
            Task(benchmark="trivial", task_id=f"task-{n}", goal="Say yes", template=f"t{n // 4}")
            for n in range(TASKS)
        ]

    @asynccontextmanager
    async def open(self, task: Task, context: Any, agent: Any) -> Any:
        """Open nothing."""
        del task, context, agent
        yield TrialEnvironment()

    async def evaluate(self, evidence: Any) -> Evaluation:
        """Score every trial alike."""
        del evidence
        return Evaluation(score=1.0)


class Idle:
    """An agent that is done at once."""

    name = "none"

    async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
        """Return at once."""
        del task, environment, context
        return AgentOutcome()


def run_to(folder: Path, trials: int) -> None:
    """Run, or continue, the benchmark in `folder`."""
    with (folder.parent / "progress.txt").open("a", encoding="utf-8") as lines:
        environment = RunEnvironment(progress=PlainProgress(lines), agent_for=lambda *_: Idle())
        spec = RunSpec(agent="none", trials=trials)
        outcome = run_benchmark_sync(
            Trivial(), spec, folder, run_environment=environment, guard=True
        )
    assert outcome.remaining == 0  # noqa: S101  # a case that does less is no case


def make(folder: Path, results: int) -> None:
    """Write a run that lacks ten trials of so many: what trials leave in results and events, their files left out.

    The first trial of each task is run; the lines of all others are made from those that it left.
    """
    trials = results // TASKS
    run_to(folder, 1)
    with RunFolder.resume(folder, trials=trials, redactor=Redactor()) as run:
        keys = run.remaining()[:-LEFT]
        call = Spending(source="agent", usage=Usage(requests=9, input_tokens=1), cost_usd=0.1)
        run.event(Event(time=run.now(), kind="spend", task_id="-", attempt=1, data=call.model_dump(mode="json")))  # fmt: skip
        run.close()  # as if killed
    files = [LinesOf(folder / f"{name}.jsonl") for name in ("results", "events")]
    random = Random(f"large {results}")  # noqa: S311  # reproducible, not secret
    kinds = ("attempt_started", "spend", "attempt_finished")
    with files[0] as lines, files[1] as events:
        done = {each["task_id"]: each for each in lines.kept}
        of_kind = {each["kind"]: each for each in events.kept}
        for key in keys:
            tokens, success = random.randint(1_000, 90_000), random.random() < 0.4
            spent = call.model_dump(mode="json")
            spent["usage"] |= {"input_tokens": tokens, "output_tokens": tokens // 20}
            spent["cost_usd"] = round(tokens * 3e-6, 6)
            for kind in kinds:
                data = spent if kind == "spend" else of_kind[kind]["data"]
                more = {"task_id": key.task_id, "trial": key.trial, "data": data}
                events.add(of_kind[kind] | more)
            result = done[key.task_id]
            shown = {name: spent[name] for name in ("usage", "cost_usd")}
            (attempt,) = result["attempts"]
            more = {
                "trial": key.trial, "score": float(success), "success": success,
                "failure_mode": None if success else "wrong_answer", "steps": random.randint(2, 30),
                "spent": [spent], "attempts": [attempt | {"spent": [spent]}], "artifacts": [], **shown,
            }  # fmt: skip
            lines.add(result | more)
    RunFolder.resume(folder, redactor=Redactor()).finish("interrupted")


class LinesOf:
    """Adds lines to a file of a run, as its writer would."""

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self.kept: list[dict[str, Any]] = [*map(json.loads, path.read_bytes().splitlines())]
        self.count, self._last = len(self.kept), str(self.kept[-1]["checksum"])
        self._file = path.open("ab")

    def add(self, fields: dict[str, Any]) -> None:
        """Add a line that has these fields."""
        fields = {name: value for name, value in fields.items() if name != "checksum"}
        self.count += 1
        line = {"sequence": self.count, "previous": self._last[:16]}
        sealed = add_checksum(msgspec.json.encode(fields | line))
        self._last = checksum_in(sealed)
        self._file.write(sealed + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def plain(folder: Path) -> None:
    """Parse each line of the results and keep none: what all else is compared with."""
    with (folder / "results.jsonl").open("rb") as lines:
        for line in lines:
            json.loads(line)


def read(folder: Path) -> None:
    """Read the run: every line is checked."""
    read_run(folder)


def go_through(folder: Path) -> None:
    """Read the run and make a record of each result."""
    for result in read_run(folder).latest:
        assert result.score is not None  # noqa: S101  # made by `make`


def check(folder: Path) -> None:
    """Check everything in the folder, events included."""
    assert check_run(folder).problems == ()  # noqa: S101  # see above


def summary(folder: Path) -> None:
    """Read the run and compute its rates, intervals and costs."""
    run, ended = read_ended(folder)
    summarise(run.tasks, ended, trials=run.info.trials)


def go_on(folder: Path) -> None:
    """Run what is left: the same command again."""
    run_to(folder, read_info(folder).trials)


class Case(NamedTuple):
    """What is measured, and its bounds: times the peer's CPU, megabytes."""

    run: Callable[[Path], None]
    most_ratio: float | None = None
    most_mb: float | None = BOUND_MB


CASES = {
    "json.loads": Case(plain, most_mb=None),
    "read_run": Case(read, most_ratio=1.5),
    "all results": Case(go_through, most_ratio=2.0),  # a record is made of each
    "summary": Case(summary, most_ratio=1.5),
    "check": Case(check),
    "continue": Case(go_on, most_ratio=2.5),
}


def measure(name: str, folder: Path) -> Measured:
    """Run one case in this process."""
    began = time.process_time()
    CASES[name].run(folder)
    return Measured(time.process_time() - began, peak_mb())


def peak_mb() -> float:
    """Return the most memory that this process had; elsewhere than on Linux, its parent's counts, too."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_apart(name: str, folder: Path) -> Measured:
    """Run one case in a process of its own."""
    command = [sys.executable, sys.argv[0], "--case", name, "--keep", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # ourselves
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    """Print the table; return 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=int, default=RESULTS)
    parser.add_argument("--keep", type=Path, help="The run folder; made where it is missing.")
    parser.add_argument("--case", choices=CASES)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, options.keep)))
        return 0
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = options.keep or place / "run"
        if not folder.exists():
            make(folder, options.results)
        size = (folder / "results.jsonl").stat().st_size
        print(f"{options.results:,} results, lines of {size / options.results:.0f} bytes")
        kept = True
        peer = 0.0
        for name, case in CASES.items():
            found = measure_apart(name, folder)
            peer = peer or found.cpu_s
            good = (case.most_ratio is None or found.cpu_s <= case.most_ratio * peer) and (
                case.most_mb is None or found.memory_mb <= case.most_mb
            )
            kept = kept and good
            print(
                f"{'ok  ' if good else 'MISS'} {name:12} {found.cpu_s:7.2f} s CPU "
                f"{found.cpu_s / peer:5.2f} x {found.memory_mb:6.0f} MB"
                + (f"  (at most {case.most_ratio} x)" if case.most_ratio else ""),
                flush=True,
            )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
