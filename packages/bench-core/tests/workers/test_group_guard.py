"""What a worker has started ends with it, also where nobody is left who could end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.processes import ProcessGroups
from bench_core.workers.group_guard import new_mark

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")

WORKER = """
import os, signal, subprocess, sys, time
from bench_core.workers.group_guard import GroupGuard

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
guard = GroupGuard()
started = [subprocess.Popen(SLEEP, start_new_session=True).pid for _ in range(4)]
for each in started[1:]:  # the worker ends before it could report the first
    guard.note(each)
guard.note(-started[3])
forked = [] if sys.argv[1] == "killed alone" else [os.fork()]  # which keeps the pipe open
if forked == [0]:
    os.setsid()
    time.sleep(600)
print(*started, *forked, flush=True)
if sys.argv[1] == "closed":
    guard.close()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    command = [sys.executable, "-c", WORKER, request.param]
    variables = {**os.environ, **dict([new_mark()])}
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as worker:
        assert worker.stdout is not None
        pids = [int(each) for each in worker.stdout.readline().split()]
        yield pids
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # one that has closed its guard ends by itself
        assert worker.wait() == (0 if request.param == "closed" else -signal.SIGKILL)


def alive(started: list[int]) -> set[int]:
    groups = ProcessGroups()
    for each in started:
        groups.own(each)
    return set(groups.alive())


@pytest.mark.parametrize("started", ["killed", "killed alone", "closed"], indirect=True)
def test_what_a_worker_has_started_ends_with_it_but_for_what_it_has_given_up(
    started: list[int],
) -> None:
    unreported, _, _, given_up, *forked = started
    # where /proc is missing, no one knows of what was not reported
    stays = {given_up} if Path("/proc").is_dir() else {given_up, unreported, *forked}
    deadline = time.monotonic() + 30
    while alive(started) - stays and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(started) == stays
