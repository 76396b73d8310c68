"""A run whose own folders, limits, processes and clock fail while trials are under way, as a program.

Half of its agents solve their task and half raise an error. Each has a process of its own or shares that of the
run. Nothing is replaced in the program: the file system, limits, signals and sockets alone fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.budgets import AGENT
from bench_core.records import AgentOutcome, Limits, Status, Step, Task
from bench_core.run_folder import TrialArtifacts, read_json, read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.testing.faults import CALL, CALL_USD
from bench_core.trial import Evaluation, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentEnding, AgentTask, TrialResult
    from bench_core.trial import Evidence

TRIALS = 6
_FULL_BYTES, _INODES = 1 << 20, 40


class Worker:
    """Takes a step, makes a call, waits a little, and solves its task or raises an error."""

    name = "worker"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        TrialArtifacts(context.folder).append_step(Step(step=1))
        context.meter.spend(CALL, CALL_USD)
        await asyncio.sleep(0.3)
        if task.task_id.startswith("fails"):
            raise ValueError("a bug of its own")
        return AgentOutcome(answer=4, steps=1)


class Answers(TrialEnvironment):
    """Keeps what the agent answers."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._artifacts = TrialArtifacts(folder)

    async def capture(self, ending: AgentEnding) -> None:
        self._artifacts.write_json("answer.json", ending.answer)


class Benchmark:
    """Tasks that are solved and tasks that are not; while the drawn one is under way, something fails."""

    name = "own-faults"

    def __init__(self, fault: Callable[[], Callable[[], object]] | None, seed: int) -> None:
        drawn = random.Random(f"own {seed}")  # noqa: S311  # no secret
        self._fault = fault
        self._at = drawn.randrange(TRIALS)
        self._delay_s, self._for_s = drawn.uniform(0.0, 0.5), drawn.uniform(0.5, 2.0)
        self._opened = 0

    def tasks(self) -> list[Task]:
        names = [f"{'fails' if n % 2 else 'solves'}-{n}" for n in range(TRIALS)]
        limits = Limits(time_limit_s=120)
        return [Task(benchmark=self.name, task_id=n, goal="2 + 2?", limits=limits) for n in names]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        if self._opened == self._at and self._fault is not None:
            asyncio.get_running_loop().call_later(self._delay_s, self._strike, self._fault)
        self._opened += 1
        yield Answers(context.folder)

    def _strike(self, fault: Callable[[], Callable[[], object]]) -> None:
        asyncio.get_running_loop().call_later(self._for_s, fault())

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=float(read_json(evidence.folder / "answer.json") == 4))


def _removed(folder: Path) -> Callable[[], object]:
    shutil.rmtree(folder, ignore_errors=True)
    return lambda: folder.mkdir(exist_ok=True)


def _replaced(folder: Path) -> Callable[[], object]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.touch()

    def mend() -> None:
        folder.unlink()
        folder.mkdir()

    return mend


def _read_only(folder: Path) -> Callable[[], object]:
    folder.chmod(0o500)
    return lambda: folder.chmod(0o700)


def _mounted(folder: Path, options: str) -> Callable[[], object]:
    """Put a file system that takes no more over a folder; the process has mounts of its own."""
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    subprocess.run(command, check=True)
    with contextlib.suppress(OSError):
        for number in range(_INODES):
            (folder / f"filler-{number}").write_bytes(b"x" * _FULL_BYTES)
    return lambda: subprocess.run(["umount", "-l", str(folder)], check=True)


def _limited(kind: int, most: int) -> Callable[[], object]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    return lambda: resource.setrlimit(kind, before)


def _few_descriptors() -> Callable[[], object]:
    return _limited(resource.RLIMIT_NOFILE, len(list(Path("/proc/self/fd").iterdir())) + 1)


def _no_threads() -> Callable[[], object]:
    """Leave no room for the stack of a thread; what the interpreter has already, it may use."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return _limited(resource.RLIMIT_AS, pages * resource.getpagesize() + (4 << 20))


def _of_forks() -> Iterator[int]:
    """Yield the children of this process that agents are forked from."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
            if (
                int(parent) == os.getpid()
                and b"forkserver" in (stat.parent / "cmdline").read_bytes()
            ):
                yield int(stat.parent.name)


def _killed() -> Callable[[], object]:
    for pid in _of_forks():
        os.kill(pid, signal.SIGKILL)
    return lambda: None


def _halted() -> Callable[[], object]:
    pids = list(_of_forks())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)

    def go_on() -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    return go_on


def _unreachable() -> Callable[[], object]:
    """End the connections that agents' processes are ordered over."""
    for each in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(each.name))) as own:
            if own.type & socket.SOCK_SEQPACKET == socket.SOCK_SEQPACKET:
                own.shutdown(socket.SHUT_RDWR)
    return lambda: None


CALLS: dict[str, tuple[int, ...]] = {
    "openat": (errno.ENOSPC, errno.EMFILE, errno.EACCES, errno.EIO, errno.ENOENT, errno.ELOOP),
    "mkdir": (errno.ENOSPC, errno.EACCES),
    "write": (errno.ENOSPC, errno.EIO, errno.EDQUOT),
    "read": (errno.EIO,),
    "rename": (errno.EIO, errno.EXDEV),
    "unlink": (errno.EBUSY, errno.EROFS),
    "unlinkat": (errno.EBUSY,),
    "fsync": (errno.EIO,),
    "fdatasync": (errno.EIO,),
    "flock": (errno.ENOLCK,),
    "fchmod": (errno.EPERM,),
    "newfstatat": (errno.EIO, errno.ESTALE, errno.EACCES),
    "getdents64": (errno.EIO,),
    "readlink": (errno.EINVAL,),
    "socketpair": (errno.EMFILE,),
    "socket": (errno.EMFILE,),
    "sendmsg": (errno.ENOBUFS, errno.ENOMEM),
    "sendto": (errno.ENOBUFS, errno.ENOMEM),
    "recvmsg": (errno.ENOMEM,),
    "recvfrom": (errno.ENOMEM,),
    "pipe2": (errno.EMFILE,),
    "clone": (errno.EAGAIN,),
    "clone3": (errno.EAGAIN, errno.ENOMEM),
    "vfork": (errno.EAGAIN,),
    "execve": (errno.ENOMEM,),
    "mmap": (errno.ENOMEM,),
    "brk": (errno.ENOMEM,),
    "kill": (errno.EPERM, errno.ESRCH),
    "wait4": (errno.ECHILD,),
    "waitid": (errno.ECHILD,),
    "epoll_wait": (errno.EINTR, errno.EBADF),
    "getrandom": (errno.EINTR,),
}
"""Calls of the system that a run, its threads and its agents' processes make, and how each may fail.

EPIPE and ECONNRESET are no faults of a system: they say that the other end is gone, here an agent's process.
"""
_LATEST_CALL = 40


def _one_call(call: str, error: int, nth: int) -> Callable[[], object]:
    """Fail one call of each thread of this process and of its children: the nth from now on."""
    name = errno.errorcode[error]
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(os.getpid()),
         "-e", f"trace={call}", "-e", f"inject={call}:error={name}:when={nth}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def let_go() -> None:
        tracer.terminate()
        tracer.wait()

    return let_go


def faults(
    temporary: Path, out: Path, seed: int = 0
) -> dict[str, Callable[[], Callable[[], object]]]:
    """Return what may fail, by name; each makes it fail and returns what mends it."""
    nth = random.Random(f"call {seed}").randint(1, _LATEST_CALL)  # noqa: S311  # no secret
    calls = {
        f"{call}-{errno.errorcode[error]}": partial(_one_call, call, error, nth)
        for call, errors in CALLS.items()
        for error in errors
    }
    return {
        **calls,
        "temporary-removed": lambda: _removed(temporary),
        "temporary-replaced": lambda: _replaced(temporary),
        "temporary-read-only": lambda: _read_only(temporary),
        "temporary-full": lambda: _mounted(temporary, f"size={_FULL_BYTES}"),
        "temporary-no-inodes": lambda: _mounted(temporary, "nr_inodes=8"),
        "trials-removed": lambda: _removed(out / "trials"),
        "trials-full": lambda: _mounted(out / "trials", f"size={_FULL_BYTES}"),
        "trials-no-inodes": lambda: _mounted(out / "trials", "nr_inodes=8"),
        "no-descriptors": _few_descriptors,
        "no-threads": _no_threads,
        "no-processes": lambda: _limited(resource.RLIMIT_NPROC, 1),
        "no-file-size": lambda: _limited(resource.RLIMIT_FSIZE, 0),
        "forks-killed": _killed,
        "forks-halted": _halted,
        "forks-unreachable": _unreachable,
    }


FAULTS = tuple(faults(Path(), Path()))
NEEDS_MOUNTS = frozenset(
    {"temporary-full", "temporary-no-inodes", "trials-full", "trials-no-inodes"}
)
NO_ROOT = frozenset({"temporary-read-only", "no-processes"})
"""What does not hold for the superuser."""


def main() -> None:
    """Run the run that standard input describes."""
    order = json.load(sys.stdin)
    out, temporary = Path(order["out"]), Path(order["temporary"])
    temporary.mkdir(exist_ok=True)
    tempfile.tempdir = str(temporary)
    fault = faults(temporary, out, order["seed"]).get(order["fault"])
    spec = RunSpec(
        agent="integration_tests.own_faults:Worker", attempts=2, workers=2,
        agent_process=AgentProcessSpec(process=order["process"]),
    )  # fmt: skip
    policy = Policy(workers=2, attempts=2, backoff=Backoff(first_s=0.1))
    environment = RunEnvironment(locks=NoLocks(), policy=policy)
    run_benchmark_sync(Benchmark(fault, order["seed"]), spec, out, run_environment=environment)


def can_fail(fault: str) -> bool:
    """Whether this system lets a program make that fail."""
    if fault in NO_ROOT:
        return os.geteuid() != 0
    if fault.partition("-")[0] in CALLS:
        return shutil.which("strace") is not None
    if fault not in NEEDS_MOUNTS:
        return True
    with tempfile.TemporaryDirectory() as folder:
        command = [*_MOUNTS, "mount", "-t", "tmpfs", "none", folder]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


_MOUNTS = ["unshare", "--map-root-user", "--mount"] if os.geteuid() else ["unshare", "--mount"]


def run_with(fault: str, process: str, seed: int, folder: Path) -> Iterator[str]:
    """Run a run that meets a fault, go on with it when all is well, and yield what is wrong with its records."""
    for session in (fault, "none"):
        order = {"out": str(folder / "run"), "temporary": str(folder / "tmp"), "fault": session,
                 "process": process, "seed": seed}  # fmt: skip
        (folder / "run").mkdir(exist_ok=True)
        if (folder / "tmp").is_file():
            (folder / "tmp").unlink()
        elif (folder / "tmp").exists():  # the run may have ended before it was mended
            (folder / "tmp").chmod(0o700)
        command = [sys.executable, "-m", "integration_tests.own_faults"]
        done = subprocess.run(
            [*_MOUNTS, *command] if session in NEEDS_MOUNTS else command, input=json.dumps(order),
            capture_output=True, text=True, timeout=300, check=False,
            cwd=Path(__file__).parents[1],
        )  # fmt: skip
        if session == "none" and done.returncode != 0:
            yield f"the run did not go on: {done.stderr[-2000:]}"
            return
        results = read_run(folder / "run").results if (folder / "run/run.json").exists() else {}
        for result in results.values():
            yield from _breaches(result, last=session == "none")
    if len(results) != TRIALS:
        yield f"{len(results)} results of {TRIALS}"


def _breaches(result: TrialResult, *, last: bool) -> Iterator[str]:
    name = f"{result.task_id}: {result.status.value} {result.score} {result.error and result.error.message}"
    fails = result.task_id.startswith("fails")
    right = (Status.AGENT_ERROR, 0.0) if fails else (Status.COMPLETED, 1.0)
    if result.status.scored and (result.status, result.score) != right:
        yield f"scored although it was not the agent's: {name}"
    # what only evaluating failed at is kept, and `rescore` evaluates it
    if last and not result.status.scored and result.status is not Status.EVALUATION_ERROR:
        yield f"no score although all was well: {name}"
    own = [(each.usage, each.cost_usd) for each in result.spent if each.source == AGENT]
    if result.status.scored and own != [(CALL, CALL_USD)]:
        yield f"counted {len(own)} times: {name}"


if __name__ == "__main__":
    main()
