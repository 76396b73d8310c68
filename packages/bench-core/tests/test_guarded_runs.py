"""Whole runs in processes of their own, interrupted by real signals or by their own trials."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.records import Status, TrialKey
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import run_benchmark_sync, spent_before
from bench_core.scheduling.interrupts import SIGNALS, Interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Never

    from bench_core.protocols import TrialContext
    from bench_core.run_folder import RunView

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

RUNNER = Path(__file__).with_name("toy_runner.py")
PATIENCE_S = 60


def temporary_of(folder: Path) -> Path:
    temporary = folder.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    return temporary


class Run:
    """A run in a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, str(RUNNER), "run", "--out", str(folder), *arguments]
        self.folder = folder
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # a group of its own, as a shell gives it: nothing here reaches the test's own group
            start_new_session=True,
            env={
                **os.environ,
                "PROCTOR_LOCK_DIR": str(folder.parent / "locks"),
                "TMPDIR": str(temporary_of(folder)),
                "PYTHONPATH": str(RUNNER.parent / "helpers"),
            },
        )
        self._patience = threading.Timer(PATIENCE_S, self._kill_processes)
        self._patience.start()

    def wait_for(self, text: str) -> str:
        """Return the first line of output that holds `text`, read before or now."""
        assert self.process.stdout is not None
        seen = iter(list(self.lines))
        for line in itertools.chain(seen, iter(self.process.stdout.readline, "")):
            if line not in self.lines:
                self.lines.append(line)
            if text in line:
                return line
        raise AssertionError(f"{text!r} never came: {self.lines}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def exit_code(self) -> int:
        rest, _ = self.process.communicate(timeout=PATIENCE_S)
        self._patience.cancel()
        self.lines.append(rest)
        return self.process.returncode

    def results(self) -> dict[str, Status]:
        return {key.task_id: result.status for key, result in self.view().results.items()}

    def view(self) -> RunView:
        return read_run(self.folder)

    def outcome(self) -> str:
        return self.view().info.sessions[-1].outcome

    def kill(self) -> None:
        """End the run and what its trials started."""
        self._patience.cancel()
        self._kill_processes()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _kill_processes(self) -> None:
        pids = [int(line.split()[1]) for line in self.lines if line.startswith("pid ")]
        for pid in (self.process.pid, *pids):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start_run(*arguments: str) -> Run:
        runs.append(Run(tmp_path / "run", *arguments))
        return runs[-1]

    yield start_run
    for run in runs:
        run.kill()


def has_ended(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_writes_down_what_was_cancelled_and_leaves_a_resumable_run(
    start: Callable[..., Run], number: signal.Signals
) -> None:
    run = start("--task", "quick-1,hang-1,quick-2", "--workers", "1")
    run.wait_for("begin hang-1")
    run.send(number)
    assert run.exit_code() == 130
    assert run.results() == {"quick-1": Status.COMPLETED, "hang-1": Status.CANCELLED}
    assert run.outcome() == "interrupted"
    assert [key.task_id for key in run.view().remaining()] == ["hang-1", "quick-2"]


@pytest.mark.parametrize(
    ("number", "gap_s"),
    [
        (signal.SIGINT, 0.0),
        (signal.SIGINT, 0.02),
        (signal.SIGINT, 0.2),
        (signal.SIGTERM, 0.02),
        (signal.SIGTERM, 0.2),
    ],
)
def test_quick_signals_end_with_the_code_of_an_interrupted_run(
    start: Callable[..., Run], number: signal.Signals, gap_s: float
) -> None:
    run = start("--task", "quick-1,hang-1")
    run.wait_for("begin hang-1")
    for _ in range(8):
        run.send(number)
        time.sleep(gap_s)
    assert run.exit_code() == 130
    assert run.results()["quick-1"] is Status.COMPLETED
    assert "Traceback" not in "".join(run.lines)
    assert not list(temporary_of(run.folder).glob("proctor-*"))


@pytest.mark.parametrize("by", ["the API", "a command", "a command without a run"])
def test_whoever_goes_on_after_an_interruption_has_its_handlers_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    toys = runpy.run_path(str(RUNNER))
    at_the_end = []

    async def stop(self: object, context: TrialContext) -> None:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(PATIENCE_S)

    async def close(self: object) -> None:
        at_the_end.append(signal.getsignal(signal.SIGTERM))

    def interrupt(self: object) -> Never:
        raise KeyboardInterrupt

    benchmark = toys["ToyBenchmark"]
    monkeypatch.setattr(benchmark, "hang", stop)
    monkeypatch.setattr(benchmark, "close", close, raising=False)
    before = [signal.signal(number, signal.SIG_DFL) for number in SIGNALS]
    try:
        if by == "the API":
            spec = RunSpec(tasks=TaskFilter(ids=("hang-1",)), agent="do-nothing")
            outcome = run_benchmark_sync(benchmark(), spec, tmp_path / "run", guard=True)
            assert outcome.outcome == "interrupted"
        else:
            if by == "a command without a run":
                monkeypatch.setattr(benchmark, "tasks", interrupt)
            words = ["run", "--task", "hang-1", "--out", str(tmp_path / "run")]
            assert CliRunner().invoke(toys["main"], words).exit_code == 130
        assert [signal.getsignal(number) for number in SIGNALS] == [signal.SIG_DFL] * len(SIGNALS)
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)
    # a second signal must not end the process, as it would by default, before the benchmark is closed
    assert by == "a command without a run" or signal.SIG_DFL not in at_the_end


@pytest.mark.parametrize("signals", [0, 1])
def test_after_a_signal_none_ends_the_process_at_once(signals: int) -> None:
    before, calls = [signal.signal(number, signal.SIG_DFL) for number in SIGNALS], []
    try:
        with Interrupts(lambda: calls.append("first"), lambda: calls.append("again")):
            for _ in range(signals):
                signal.raise_signal(signal.SIGTERM)
        assert (signal.getsignal(signal.SIGTERM) is signal.SIG_DFL) is (signals == 0)
        if signals:
            signal.raise_signal(signal.SIGTERM)
        assert calls == ["first", "again"][: 2 * signals]
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


def test_a_process_whose_command_is_interrupted_ends_by_no_late_signal(tmp_path: Path) -> None:
    code = (
        "import atexit, runpy, signal, sys\n"
        # a shell's background jobs ignore it
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "atexit.register(signal.raise_signal, signal.SIGTERM)\n"
        f"toys = runpy.run_path({str(RUNNER)!r})\n"
        "toys['ToyBenchmark'].tasks = lambda self: signal.raise_signal(signal.SIGINT)\n"
        f"sys.argv = ['toy-runner', 'run', '--out', {str(tmp_path / 'run')!r}]\n"
        "toys['main']()\n"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(RUNNER.parent / "helpers")}
    ended = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert ended.returncode == 130, ended.stderr.decode()


def test_a_terminal_that_is_closed_ends_a_run_in_order(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    # the terminal is to be that of its session, as a shell's is
    own = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    words = ["run", "--out", str(tmp_path / "run"), "--task", "hang-1"]
    command = [sys.executable, "-c", own, str(RUNNER), *words]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "PROCTOR_LOCK_DIR": str(tmp_path / "locks"), "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    os.close(theirs)
    try:
        seen = b""
        while b"begin hang-1" not in seen:
            seen += os.read(ours, 1 << 16)
        os.close(ours)
        assert process.wait(PATIENCE_S) == 130
    finally:
        process.kill()
        process.wait()
    assert read_run(tmp_path / "run").info.sessions[-1].outcome == "interrupted"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["locks", "run"]


def test_the_same_command_continues_and_runs_nothing_twice(start: Callable[..., Run]) -> None:
    first = start("--task", "quick-1,hang-1,quick-2")
    first.wait_for("begin hang-1")
    first.send(signal.SIGINT)
    assert first.exit_code() == 130
    second = start("--task", "quick-1,hang-1,quick-2")
    second.wait_for("begin hang-1")
    second.send(signal.SIGINT)
    assert second.exit_code() == 130
    assert not any("begin quick-1" in line for line in second.lines)
    attempts = second.view().results[TrialKey(task_id="hang-1")].attempts
    assert [(a.number, a.status) for a in attempts] == [
        (1, Status.CANCELLED),
        (2, Status.CANCELLED),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="owners are known by /proc")
def test_what_a_killed_run_left_among_temporary_files_is_gone_after_the_next_start(
    start: Callable[..., Run],
) -> None:
    first = start("--task", "litter-1,quick-1")
    first.wait_for("littered")
    first.process.kill()
    first.process.wait()
    temporary = temporary_of(first.folder)
    (left,) = temporary.iterdir()
    assert len(list(left.iterdir())) == 2
    second = start("--task", "litter-1,quick-1", "--skip-task", "litter-1")
    assert second.exit_code() == 1
    assert list(temporary.iterdir()) == []


def test_a_second_signal_stops_at_once_and_kills_what_trials_started(
    start: Callable[..., Run],
) -> None:
    run = start("--task", "deaf-1", "--cancel-grace", "600")
    pid = int(run.wait_for("pid ").split()[1])
    run.send(signal.SIGINT)
    run.wait_for("Ctrl-C again stops now")
    run.send(signal.SIGINT)
    assert run.exit_code() == 130
    assert run.outcome() == "interrupted"
    assert run.view().events[-1].kind == "stopped_now"
    assert has_ended(pid)
    assert list(temporary_of(run.folder).iterdir()) == []


def test_a_second_signal_stops_a_blocked_loop_too(start: Callable[..., Run]) -> None:
    run = start("--task", "block-1")
    run.wait_for("begin block-1")
    run.send(signal.SIGINT)
    time.sleep(2)  # two that come before the process has seen the first are one
    run.send(signal.SIGINT)
    assert run.exit_code() == 130
    assert run.outcome() == "interrupted"


def test_a_trial_that_blocks_the_loop_aborts_the_run_resumably(start: Callable[..., Run]) -> None:
    run = start("--task", "quick-1,block-1,quick-2", "--loop-block", "3")
    assert run.exit_code() == 75
    assert run.results() == {"quick-1": Status.COMPLETED}
    assert run.outcome() == "aborted"
    event = run.view().events[-1]
    assert event.kind == "loop_blocked"
    assert event.data["in_flight"] == ["block-1 #1"]
    stacks = run.folder / str(event.data["stacks"])
    assert "in block" in stacks.read_text()
    assert "the same command continues the run" in "".join(run.lines)


UNREADY = ("--agent", "keyless_agent:Keyless", "--agent-process", "shared", "--workers", "1")


def test_a_run_whose_agent_cannot_begin_ends_with_the_code_of_one_that_stopped(
    start: Callable[..., Run],
) -> None:
    run = start("--task", "quick-1,wrong-1,quick-2,wrong-2", *UNREADY)
    assert run.exit_code() == 75
    assert "no key for this provider" in "".join(run.lines)
    assert run.outcome() == "aborted"
    assert {each.score for each in run.view().results.values()} == {None}
    assert len(run.view().remaining()) == 4


def test_what_is_held_when_a_run_is_interrupted_is_done_again(start: Callable[..., Run]) -> None:
    run = start("--task", "quick-1,wrong-1,hang-1", *UNREADY)
    run.wait_for("begin hang-1")  # the two before have failed and are held
    run.send(signal.SIGINT)
    assert run.exit_code() == 130
    assert run.outcome() == "interrupted"
    assert {each.score for each in run.view().results.values()} == {None}
    assert len(run.view().remaining()) == 3
    again = start("--task", "quick-1,wrong-1,hang-1", "--skip-task", "hang-1", *UNREADY)
    assert again.exit_code() == 75
    assert {each.score for each in again.view().results.values()} == {None}


def test_a_trial_that_never_lets_go_of_the_interpreter_is_ended_too(
    start: Callable[..., Run],
) -> None:
    run = start("--task", "quick-1,gil-1", "--loop-block", "3")
    assert run.exit_code() == -signal.SIGVTALRM
    assert run.results() == {"quick-1": Status.COMPLETED}
    (stacks,) = run.folder.glob("stacks-*.txt")
    assert "in gil" in stacks.read_text()


def test_a_run_that_was_never_blocked_leaves_no_stacks(start: Callable[..., Run]) -> None:
    run = start("--task", "quick-1")
    assert run.exit_code() == 0
    assert list(run.folder.glob("stacks-*")) == []


def test_an_abandoned_trial_does_not_keep_the_process_from_ending(
    start: Callable[..., Run],
) -> None:
    run = start(
        "--task", "stubborn-1,quick-2", "--time-limit", "4", "--evaluation-grace", "0",
        "--cancel-grace", "0.2", "--attempts", "1",
    )  # fmt: skip
    assert run.exit_code() == 1
    assert run.results() == {
        "stubborn-1": Status.ENVIRONMENT_ERROR,
        "quick-2": Status.COMPLETED,
    }


def test_processes_of_a_trial_past_its_deadline_are_killed(start: Callable[..., Run]) -> None:
    run = start(
        "--task", "browser-1", "--time-limit", "4", "--evaluation-grace", "0", "--attempts", "1"
    )
    pid = int(run.wait_for("pid ").split()[1])
    assert run.exit_code() == 1
    assert has_ended(pid)
    kinds = [event.kind for event in run.view().events]
    assert [kind for kind in kinds if kind in {"processes_left", "freed"}] == [
        "processes_left",
        "freed",
    ]


def test_a_second_process_on_the_folder_is_refused(start: Callable[..., Run]) -> None:
    first = start("--task", "hang-1")
    first.wait_for("begin hang-1")
    second = start("--task", "hang-1")
    assert second.exit_code() == 2
    assert second.lines[0].startswith("Error: ")
    assert "Traceback" not in "".join(second.lines)


def test_a_trial_that_ends_its_process_runs_last_alone_and_is_given_up(
    start: Callable[..., Run],
) -> None:
    command = ("--task", "exit-1,exit-2,quick-1,quick-2,hang-1", "--workers", "2", "--time-limit", "1",
               "--evaluation-grace", "0")  # fmt: skip
    codes = []
    while not codes or codes[-1] in {11, 12}:
        run = start(*command)
        codes.append(run.exit_code())
        assert len(codes) < 9
    assert codes == [11, 11, 11, 11, 1]  # each of the two once beside others and once alone
    results = run.view().results
    quick = [each for key, each in results.items() if key.task_id.startswith("quick")]
    assert [each.score for each in quick] == [1.0, 1.0]
    for task_id in ("exit-1", "exit-2"):
        lost = results[TrialKey(task_id=task_id)]
        assert (lost.status, lost.score) == (Status.ENVIRONMENT_ERROR, None)
        assert lost.flags == ("process_ended",)
        assert lost.error is not None
        assert f"ended {len(lost.attempts)} times while it ran" in lost.error.message
        assert len(lost.attempts) >= 2
    assert "2 trials are given up" in "".join(run.lines)
    events = [each for each in run.view().events if each.kind == "attempt_started"]
    assert [each.data["alone"] for each in events if str(each.task_id).startswith("exit")][
        -1
    ] is True


def test_a_process_that_ends_before_its_run_never_says_that_all_is_well(
    start: Callable[..., Run],
) -> None:
    command = ("--task", "quick-1,zero-1", "--workers", "1")
    assert [start(*command).exit_code() for _ in range(3)] == [75, 75, 1]


def test_a_trial_that_was_given_up_is_tried_again_when_asked(start: Callable[..., Run]) -> None:
    command = ("--task", "exit-1", "--workers", "1")
    assert [start(*command).exit_code() for _ in range(4)] == [11, 11, 1, 1]
    assert start(*command, "--attempts", "3").exit_code() == 11
    last = start(*command, "--attempts", "3")
    assert last.exit_code() == 1
    (result,) = last.view().latest
    assert [each.number for each in result.attempts] == [1, 2, 3]


def test_one_end_of_the_process_gives_nobody_up(start: Callable[..., Run]) -> None:
    command = ("--task", "hang-1,quick-1", "--attempts", "1", "--workers", "2", "--time-limit", "3",
               "--evaluation-grace", "0")  # fmt: skip
    first = start(*command)
    first.wait_for("begin hang-1")
    first.send(signal.SIGKILL)
    first.exit_code()
    second = start(*command)
    assert second.exit_code() == 1
    hung = second.view().results[TrialKey(task_id="hang-1")]
    assert hung.error is not None
    assert hung.error.kind == "hard_deadline"


def test_what_a_process_spent_before_it_died_counts(start: Callable[..., Run]) -> None:
    command = ("--task", "spree-1", "--max-cost", "6", "--model", "toy:cheap")
    first = start(*command)
    assert first.exit_code() == 12
    assert spent_before(first.view()).cost_usd == pytest.approx(200 * 0.05)
    second = start(*command)
    assert (second.exit_code(), second.outcome()) == (1, "budget_exceeded")
    assert not any("begin spree-1" in line for line in second.lines)
