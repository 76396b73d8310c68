"""Time in which a process was stopped, or its machine slept, is no time that a limit counts."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.processes import ProcessGroups
from bench_core.running_time import RunningTime, Suspension


@dataclass
class Machine:
    """Clocks that a test moves."""

    now: float = 100.0
    slept: float = 400.0
    computed: float = 3.0

    def running_time(self) -> RunningTime:
        return RunningTime(lambda: self.now, lambda: self.now + self.slept, lambda: self.computed)

    def run(self, seconds: float, computing: float = 0.0) -> None:
        self.computed += computing
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


class Stopped(ProcessGroups):
    """Groups of which a test says which leaders are stopped."""

    pids: tuple[int, ...] = ()

    def stopped(self) -> tuple[int, ...]:
        return self.pids


@given(steps=st.lists(st.tuples(st.booleans(), st.floats(2.0, 40.0)), max_size=8))
def test_exactly_the_gaps_are_left_out(steps: list[tuple[bool, float]]) -> None:
    machine = Machine()
    with machine.running_time() as running:
        began, expected = running.seconds(), 0.0
        for stopped, seconds in steps:
            if stopped:
                machine.run(seconds)
            else:
                for _ in range(int(seconds)):
                    machine.run(1.0)
                    running.beat()
                    expected += 1.0
            running.beat()
        assert running.seconds() - began == pytest.approx(expected)


@given(seconds=st.lists(st.floats(0.0, 100.0), max_size=30))
def test_it_never_runs_backwards(seconds: list[float]) -> None:
    machine = Machine()
    with machine.running_time() as running:
        seen = [running.seconds()]
        for each in seconds:
            machine.run(each)
            seen.append(running.seconds())
    machine.run(50.0)
    seen.append(running.seconds())
    assert seen == sorted(seen)


def test_what_computes_without_a_sign_is_not_stopped() -> None:
    machine = Machine()
    with machine.running_time() as running:
        began = running.seconds()
        machine.run(60.0, computing=59.0)
        assert running.seconds() - began == pytest.approx(60.0)


def test_a_gap_and_a_sleep_of_the_machine_are_told() -> None:
    machine = Machine()
    told: list[Suspension] = []
    running = machine.running_time()
    with running.listening(told.append):
        running.beat()
        machine.run(30.0)
        running.beat()
        machine.sleep(3600.0)
        running.beat()
    assert told == [Suspension(30.0, "stopped"), Suspension(3600.0, "asleep")]


def test_all_time_counts_where_no_one_gives_signs() -> None:
    machine = Machine()
    running = machine.running_time()
    began = running.seconds()
    machine.run(60.0)
    assert running.seconds() - began == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("stopped_s", "is_problem"), [(3.0, False), (4.0, True), (150.0, True)]
)  # what a trial can make good is less than four seconds
async def test_a_trial_cannot_make_good_a_long_stop(stopped_s: float, is_problem: bool) -> None:
    machine = Machine()
    running = machine.running_time()
    with running.watched(ProcessGroups()) as watch:
        machine.run(stopped_s)
        running.beat()
        assert (watch.problem is not None) == is_problem
        if is_problem:
            await asyncio.wait_for(watch.wait(), 30)


async def test_a_trial_cannot_make_good_a_stopped_process_of_its_own() -> None:
    machine, groups = Machine(), Stopped()
    running = machine.running_time()
    with running.watched(groups) as watch:
        for _ in range(9):
            machine.run(0.5)
            running.beat()
        assert watch.problem is None
        groups.pids = (4711,)
        for _ in range(3):
            machine.run(0.5)
            running.beat()
        assert watch.problem == "a process of the trial's (4711) was stopped by a signal"


LOOP = """
    import asyncio, time
    from bench_core.running_time import RUNNING_TIME, leave_out_gaps
    loop = leave_out_gaps(asyncio.new_event_loop())
    with RUNNING_TIME:
        began, real = loop.time(), time.monotonic()
        print("ready", flush=True)
        input()
        print(loop.time() - began, time.monotonic() - real)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing stops a process there")
def test_a_loop_of_a_stopped_process_leaves_the_stop_out() -> None:
    command = [sys.executable, "-c", textwrap.dedent(LOOP)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(3.0)
        child.send_signal(signal.SIGCONT)
        counted, real = map(float, child.communicate("\n", timeout=60)[0].split())
    assert counted < real - 2.5
