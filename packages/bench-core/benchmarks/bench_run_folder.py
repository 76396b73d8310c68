"""Measures writing and reading run folders beside plain JSON Lines, SQLite and inspect_ai.

Run it with `nox -s bench` or `python bench_run_folder.py [--records 10000 100000]`. Each case runs in
a process of its own; times are CPU time. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.redaction import Redactor
from bench_core.run_folder import RunFolder, describe_run, read_run
from bench_core.testing import make_results, make_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bench_core.records import Task, TrialResult

TRIALS = 20
BOUND_WRITE_US = 200.0
BOUND_READ_US = 100.0
BOUND_GROWTH = 2.0
SMALL_CASES = 10_000
INSPECT_SAMPLES = 1_000


@dataclass(frozen=True)
class Measured:
    """What one case cost: microseconds of CPU per record, seconds of wall time, megabytes."""

    records: int
    write_us: float
    write_wall_s: float
    read_us: float
    disk_mb: float
    memory_mb: float


def proctor(folder: Path, tasks: Sequence[Task], results: list[TrialResult]) -> Iterator[None]:
    """Write and read a run folder: redacted, locked, synced in groups, validated when read."""
    secrets = {"A_API_KEY": "sk-planted-0123456789abcdef", "B_TOKEN": "token/with+odd=chars"}
    info = describe_run(benchmark="demo", agent="a", tasks=tasks, trials=TRIALS)
    redactor = Redactor.from_environment(secrets)
    with RunFolder.create(folder / "run", info, tasks, redactor=redactor) as run:
        for result in results:
            run.append(result)
    yield
    view = read_run(folder / "run")
    groups = defaultdict(list)
    slices = {task.task_id: task.groups["site"] for task in view.tasks}
    for result in view.results.values():
        if result.score is not None:
            groups[slices[result.task_id]].append(result.score)
    yield


def plain_jsonl(folder: Path, tasks: Sequence[Task], results: list[TrialResult]) -> Iterator[None]:
    """Write JSON Lines with a sync per line; read them without any check."""
    with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        for result in results:
            file.write(json.dumps(result.model_dump(mode="json")) + "\n")
            file.flush()
            os.fsync(file.fileno())
    yield
    rows = map(json.loads, (folder / "results.jsonl").read_text(encoding="utf-8").splitlines())
    _group(((row["task_id"], row["score"]) for row in rows), tasks)
    yield


def sqlite_wal(folder: Path, tasks: Sequence[Task], results: list[TrialResult]) -> Iterator[None]:
    """Write JSON into SQLite (WAL), a commit per row; read and parse all rows."""
    with sqlite3.connect(folder / "results.db", isolation_level=None) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute(
            "CREATE TABLE results (task_id, trial, body, PRIMARY KEY (task_id, trial))"
        )
        for result in results:
            row = (result.task_id, result.trial, result.model_dump_json())
            database.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", row)
    yield
    with sqlite3.connect(folder / "results.db") as database:
        rows = (json.loads(body) for (body,) in database.execute("SELECT body FROM results"))
        _group(((row["task_id"], row["score"]) for row in rows), tasks)
    yield


def inspect_eval(folder: Path, tasks: Sequence[Task], results: list[TrialResult]) -> Iterator[None]:
    """Write and read an inspect_ai log whose samples hold what the results hold."""
    from inspect_ai.log import (  # may be absent
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalSample,
        EvalSpec,
        read_eval_log,
        write_eval_log,
    )
    from inspect_ai.scorer import Score

    spec = EvalSpec(created="2026-03-01T09:00:00+00:00", task="demo", dataset=EvalDataset(),
                    model="mockllm/model", config=EvalConfig())  # fmt: skip
    samples = [
        EvalSample(id=result.task_id, epoch=result.trial, input="", target="",
                   scores={"s": Score(value=result.score or 0.0)},
                   metadata=result.model_dump(mode="json"))
        for result in results
    ]  # fmt: skip
    write_eval_log(EvalLog(eval=spec, samples=samples), str(folder / "log.eval"))
    yield
    log = read_eval_log(str(folder / "log.eval"))
    _group(((str(each.id), each.metadata["score"]) for each in log.samples or []), tasks)
    yield


def _group(rows: Iterable[tuple[str, float | None]], tasks: Sequence[Task]) -> None:
    slices = {task.task_id: task.groups["site"] for task in tasks}
    groups = defaultdict(list)
    for task_id, score in rows:
        if score is not None:
            groups[slices[task_id]].append(score)


CASES: dict[str, Callable[[Path, Sequence[Task], list[TrialResult]], Iterator[None]]] = {
    "run folder": proctor,
    "json + fsync per line": plain_jsonl,
    "sqlite WAL": sqlite_wal,
    "inspect_ai .eval": inspect_eval,
}


def measure(name: str, records: int) -> Measured:
    """Run one case in this process."""
    tasks = make_tasks(records // TRIALS)
    results = list(make_results(tasks, trials=TRIALS))
    with tempfile.TemporaryDirectory() as place:
        stages = CASES[name](Path(place), tasks, results)
        begin, wall = time.process_time(), time.perf_counter()
        next(stages)
        written, wall = time.process_time(), time.perf_counter() - wall
        results.clear()  # their memory is not what reading costs
        next(stages)
        read = time.process_time()
        disk = sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file())
    return Measured(
        records=records,
        write_us=(written - begin) / records * 1e6,
        write_wall_s=wall,
        read_us=(read - written) / records * 1e6,
        disk_mb=disk / 1e6,
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def measure_apart(name: str, records: int) -> Measured:
    """Run one case in a process of its own."""
    command = [sys.executable, __file__, "--case", name, "--records", str(records)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(**json.loads(done.stdout))


def broken_bounds(ours: Sequence[Measured]) -> list[str]:
    """Return what is slower than it may be."""
    small, large = ours[0], ours[-1]
    growth = max(large.write_us / small.write_us, large.read_us / small.read_us)
    checks = {
        f"writing a record takes {large.write_us:.0f} us": large.write_us <= BOUND_WRITE_US,
        f"reading a record takes {large.read_us:.0f} us": large.read_us <= BOUND_READ_US,
        f"the cost per record grows by {growth:.1f}": growth <= BOUND_GROWTH,
    }
    return [what for what, held in checks.items() if not held]


def plan_of(records: Sequence[int]) -> list[tuple[str, int]]:
    """Return the cases to run: ours at every size, peers where they take seconds, not minutes."""
    cases = [("run folder", count) for count in records]
    cases += [(name, min(*records, SMALL_CASES)) for name in list(CASES)[1:3]]
    if importlib.util.find_spec("inspect_ai"):
        cases += [("inspect_ai .eval", INSPECT_SAMPLES), ("inspect_ai .eval", 4 * INSPECT_SAMPLES)]
    return cases


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--case", choices=CASES)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(vars(measure(options.case, options.records[0]))))
        return
    head = f"{'':<24}{'records':>9}{'write us':>10}{'wall s':>8}{'read us':>9}{'disk MB':>9}{'RSS MB':>8}"
    print(head)
    ours = []
    for name, records in plan_of(options.records):
        found = measure_apart(name, records)
        if name == "run folder":
            ours.append(found)
        print(
            f"{name:<24}{records:>9}{found.write_us:>10.1f}{found.write_wall_s:>8.2f}"
            f"{found.read_us:>9.1f}{found.disk_mb:>9.1f}{found.memory_mb:>8.0f}",
            flush=True,
        )
    broken = broken_bounds(ours)
    for what in broken:
        print(f"bound broken: {what}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
