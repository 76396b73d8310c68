"""Whether large folders of trials reach the run, or an object store, as a whole and with little memory of the run's process.

Trials leave folders of so many megabytes. They go each of three ways: by a file system that workers share with the
run folder, in pieces over the workers' pipes, and to a server of S3 on this machine, which now and then refuses a
request. What arrived is compared with its digests and deleted at once, so that little disk is used.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "packages" / "bench-core" / "tests" / "workers"
sys.path[:0] = [str(HERE), str(TESTS)]

from bench_core.child_process import decode_line, encode_line  # noqa: E402  # needs the path above
from bench_core.records import Task, TrialResult  # noqa: E402  # as above
from bench_core.run_folder import (  # noqa: E402  # as above
    changed_artifacts,
    changed_objects,
    read_lines,
    trial_path,
)
from bench_core.run_spec import ExecutorSpec, RunSpec  # noqa: E402  # as above
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, run_benchmark_sync  # noqa: E402  # as above
from bench_core.scheduling import Backoff, NoLocks, Policy  # noqa: E402  # as above
from bench_core.trial import Evaluation, Evidence, TrialEnvironment  # noqa: E402  # as above
from bench_core.workers import PipeTransport, Recipe  # noqa: E402  # as above

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from bench_core.protocols import Agent, TrialContext
    from bench_core.workers import WorkerProcess

WAYS = ("shared", "pieces", "store")
MOST_GROWTH_MB = 64
"""So much the memory of the run's process may grow after the first trials, whatever they leave."""
FIRST = 3
_MB = 1 << 20


class Heavy:
    """Trials that leave folders of so many megabytes, in one large file and several small ones."""

    name = "heavy"

    def __init__(self, count: int, megabytes: int) -> None:
        self._count = count
        self._megabytes = megabytes

    def tasks(self) -> list[Task]:
        """Return the tasks."""
        return [
            Task(benchmark="heavy", task_id=str(number), goal="Leave much")
            for number in range(self._count)
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Leave files; what is in them differs from trial to trial."""
        del task, agent
        block = random.Random(context.seed).randbytes(_MB)  # not cryptography
        (context.folder / "screenshots").mkdir()
        with (context.folder / "video.bin").open("wb") as file:
            for number in range(max(1, self._megabytes - 4)):
                file.write(number.to_bytes(8, "big") + block[8:])
        for number in range(8):
            picture = context.folder / "screenshots" / f"{number}.png"
            picture.write_bytes(block[number : _MB // 2 + number])
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score all alike."""
        del evidence
        return Evaluation(score=1.0)


@contextmanager
def prepare(options: Mapping[str, Any], purpose: Purpose) -> Iterator[PreparedRun]:
    """Prepare the trials in a worker."""
    del purpose
    heavy = Heavy(options["count"], options["megabytes"])
    yield PreparedRun(heavy, RunSpec(agent="do-nothing"), Path(options["out"]))


class Apart(PipeTransport):
    """Workers that do not see the run folder, as they would on another machine."""

    async def open(
        self, slot: int, folder: Path, labels: frozenset[str] = frozenset()
    ) -> WorkerProcess:
        """Start a worker that is not told how to find out."""
        process = await super().open(slot, folder, labels)
        send = process.send

        def send_without(line: bytes) -> None:
            frame = decode_line(line)
            kind = frame.pop("type")
            send(encode_line(kind, **{**frame, "probe": ""}) if kind == "build" else line)

        process.send = send_without
        return process


class Eater(threading.Thread):
    """Compares what has arrived with its digests and deletes it, while the run goes on."""

    def __init__(self, run: Path) -> None:
        super().__init__(daemon=True)
        self._run = run
        self.over = threading.Event()
        self.broken: list[str] = []
        self.eaten = 0
        self.first_kb = 0

    def run(self) -> None:
        """Eat until the run is over and all is eaten."""
        while True:
            last = self.over.is_set()
            self._eat()
            if last:
                return
            time.sleep(0.2)

    def _eat(self) -> None:
        lines = read_lines(self._run / "results.jsonl", TrialResult)
        for result in lines.records[self.eaten :]:
            self.eaten += 1
            if self.eaten == FIRST:
                self.first_kb = peak_kb()
            if result.score is None:
                continue
            folder = trial_path(self._run, result.key)
            if result.stored is None:
                self.broken += changed_artifacts(folder, result.artifacts)
                shutil.rmtree(folder)
            else:
                self.broken += changed_objects(result.stored, result.artifacts)
                delete(result.stored.url)


def delete(url: str) -> None:
    """Delete a trial's folder of the store."""
    import boto3  # brought by moto, which only this way needs

    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    client = boto3.client("s3")
    listed = client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())
    keys = [{"Key": each["Key"]} for each in listed]
    client.delete_objects(Bucket=bucket, Delete={"Objects": keys})


def peak_kb() -> int:
    """Return the most memory that this process has had, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_one_way(way: str, place: Path, asked: argparse.Namespace) -> int:
    """Run all trials in this process and return the exit code."""
    out = place / "runs" / way
    spec = RunSpec(
        agent="do-nothing", workers=asked.workers, sealing="off", attempts=3,
        executor=ExecutorSpec(artifacts=os.environ.get("CAMPAIGN_STORE")),
    )  # fmt: skip
    policy = Policy(
        workers=asked.workers, attempts=3, timeouts=spec.timeouts, backoff=Backoff(first_s=0.0),
        max_consecutive_faults=None,
    )  # fmt: skip
    options = {"count": asked.count, "megabytes": asked.megabytes}
    with_ = RunEnvironment(
        locks=NoLocks(),
        policy=policy,
        recipe=Recipe(prepare="campaign_artifacts:prepare", options=options),
        transport=Apart() if way == "pieces" else PipeTransport(),
    )
    eater = Eater(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    starting = threading.Timer(0.0, eater.start)
    starting.start()
    outcome = run_benchmark_sync(
        Heavy(asked.count, asked.megabytes), spec, out, run_environment=with_
    )
    eater.over.set()
    eater.join()
    growth = (peak_kb() - eater.first_kb) >> 10 if asked.count > FIRST else 0
    broken = [*eater.broken]
    if outcome.scored != asked.count:
        broken.append(f"{asked.count - outcome.scored} of {asked.count} trials are not done")
    if growth > MOST_GROWTH_MB:
        broken.append(f"the memory of the run's process grew by {growth} MB")
    for each in broken:
        print(f"broken: {way}: {each}")
    retried = sum(
        len(each.attempts) - 1 for each in read_lines(out / "results.jsonl", TrialResult).records
    )
    print(
        f"{way}: {outcome.scored} folders of {asked.megabytes} MB in {time.monotonic() - began:.0f} s, peak "
        f"{peak_kb() >> 10} MB, {growth} MB more than after {FIRST}, {retried} attempts tried again"
    )
    return 1 if broken else 0


@contextmanager
def store(every: int) -> Iterator[dict[str, str]]:
    """Serve S3 in this process, refuse one of so many requests that write, and yield a client's environment."""
    from s3_server import s3_server  # needs moto, for this way alone

    chance = random.Random(every)  # not cryptography
    with s3_server() as server:
        if every:
            server.refuse = lambda method, path: (
                method == "PUT" and "/probes/" not in path and chance.randrange(every) == 0
            )
        yield {**server.variables, "CAMPAIGN_STORE": f"{server.url}/campaign",
               "AWS_DEFAULT_REGION": server.variables["AWS_REGION"]}  # fmt: skip


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="folders for each way")
    parser.add_argument("--megabytes", type=int, default=50, help="in each")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument(
        "--refuse", type=int, default=500, help="the store refuses one write of so many; 0 none"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        return run_one_way(asked.one, asked.place, asked)
    path = os.pathsep.join(filter(None, [str(HERE), str(TESTS), os.environ.get("PYTHONPATH")]))
    failed = 0
    for way in asked.ways:
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(tempfile.TemporaryDirectory())
            more = stack.enter_context(store(asked.refuse)) if way == "store" else {}
            # each in a process of its own, so that its peak is its own
            command = [sys.executable, __file__, *sys.argv[1:], "--one", way, "--place", place]
            variables = {**os.environ, "PYTHONPATH": path, **more}
            failed += subprocess.run(command, env=variables, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
