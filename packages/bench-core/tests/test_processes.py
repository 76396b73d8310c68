"""Process groups of trials, with real processes."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.processes import ProcessGroups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")

SLEEP = "import time; time.sleep(600)"
IGNORE_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in 60 s"
        time.sleep(0.02)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    processes = []

    def start_process(code: str, **variables: str) -> subprocess.Popen[bytes]:
        command, env = [sys.executable, "-c", code], {**os.environ, **variables}
        processes.append(
            subprocess.Popen(command, env=env, start_new_session=True, stdout=subprocess.PIPE)
        )
        return processes[-1]

    yield start_process
    for process in processes:
        process.kill()
        process.communicate()


def test_a_group_lives_until_it_is_terminated(
    start: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    groups = ProcessGroups()
    process = start(SLEEP)
    groups.own(process.pid)
    assert groups.alive() == (process.pid,)
    groups.terminate()
    wait_until(lambda: groups.alive() == ())


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="marks are found in /proc")
def test_what_has_a_mark_lives_until_it_is_forgotten_or_killed(
    start: Callable[..., subprocess.Popen[bytes]],
) -> None:
    groups = ProcessGroups(mark=("PROCTOR_TESTED", "one"))
    one, again = (start(SLEEP, PROCTOR_TESTED="one") for _ in range(2))
    start(SLEEP, PROCTOR_TESTED="one more")
    start(SLEEP)
    wait_until(lambda: set(groups.alive()) == {one.pid, again.pid})
    groups.disown(again.pid)
    assert groups.alive() == (one.pid,)
    groups.kill()
    wait_until(lambda: groups.alive() == ())
    assert (one.wait(), again.poll()) == (-signal.SIGKILL, None)
    groups.own(again.pid)
    assert groups.alive() == (again.pid,)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="marks are found in /proc")
def test_who_has_a_mark_itself_does_not_end_itself() -> None:
    program = """
import os
from bench_core.processes import ProcessGroups
groups = ProcessGroups(mark=("PROCTOR_TESTED", "two"))
groups.kill()
print(groups.alive())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PROCTOR_TESTED": "two"},
        stdout=subprocess.PIPE, check=False, start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"()\n")


def test_a_zombie_nobody_waited_for_is_dead(
    start: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    groups = ProcessGroups()
    groups.own(start("pass").pid)
    wait_until(lambda: groups.alive() == ())


def test_a_process_that_ignores_sigterm_is_killed(
    start: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    groups = ProcessGroups()
    process = start(IGNORE_TERM)
    groups.own(process.pid)
    assert process.stdout is not None
    process.stdout.readline()
    groups.terminate()
    time.sleep(0.1)
    assert groups.alive() == (process.pid,)
    groups.kill()
    wait_until(lambda: groups.alive() == ())


def test_grandchildren_count_after_their_leader_has_gone(
    start: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}])"
    process = start(code)
    groups = ProcessGroups()
    groups.own(process.pid)
    process.wait()
    assert groups.alive() == (process.pid,)
    groups.kill()
    wait_until(lambda: groups.alive() == ())


def test_a_disowned_group_is_left_alone(start: Callable[[str], subprocess.Popen[bytes]]) -> None:
    process = start(SLEEP)
    groups = ProcessGroups()
    groups.own(process.pid)
    groups.disown(process.pid)
    groups.kill()
    assert process.poll() is None


def test_an_id_that_was_given_to_a_new_leader_is_another_group(
    start: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    process = start(SLEEP)
    groups = ProcessGroups({process.pid: "a start time long ago"})
    groups.kill()
    assert groups.alive() == ()
    assert process.poll() is None


def test_the_scheduler_s_own_group_is_refused() -> None:
    with pytest.raises(ValueError, match="start_new_session=True"):
        ProcessGroups().own(os.getpgrp())


def test_groups_survive_pickling(start: Callable[[str], subprocess.Popen[bytes]]) -> None:
    process = start(SLEEP)
    groups = ProcessGroups()
    groups.own(process.pid)
    assert pickle.loads(pickle.dumps(groups)).alive() == (process.pid,)  # noqa: S301  # made here
