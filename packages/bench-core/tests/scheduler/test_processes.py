"""Processes that trials start end with them or are killed; in virtual time."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from scheduled import TIMEOUTS, World, planned, scored, spending, stubborn, succeed

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import RunFolderError
from bench_core.records import Limits, Resource, Status, Task, TrialResult
from bench_core.scheduling import Policy

if TYPE_CHECKING:
    from bench_core.protocols import TrialContext
    from bench_core.records import Event

grouped = pytest.mark.skipif(
    sys.platform == "win32", reason="processes have no groups there, which trials report"
)
DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); input()"


class Browser:
    """A process in a group of its own that ends when it is told so or killed."""

    def __init__(self, context: TrialContext, code: str = "input()") -> None:
        command = [sys.executable, "-c", code]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        context.processes.own(self._process.pid)

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def was_killed(self) -> bool:
        """Let it end by itself and return whether it was killed before."""
        self._process.communicate(b"\n")
        return self._process.returncode == -signal.SIGKILL


@grouped
@pytest.mark.parametrize("abandoned", [False, True], ids=["running", "abandoned"])
def test_a_process_that_a_trial_reported_can_be_killed_at_once(
    world: World, abandoned: object
) -> None:
    browsers: list[Browser] = []

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            browsers.append(Browser(context, DEAF))
            browsers[0].wait_until_ready()
            return await stubborn(task, context)
        return await succeed(task, context)

    async def kill() -> None:
        scheduler = await world.at(91 if abandoned else 1)
        assert bool(scheduler.abandoned) is abandoned
        scheduler.kill_processes()
        assert browsers[0].was_killed()

    trials = [planned("0", limits=Limits(time_limit_s=60)), *map(planned, "123")]
    world.run(trial, trials=trials, policy=Policy(timeouts=TIMEOUTS), meanwhile=kill)


@grouped
def test_a_process_that_ignores_sigterm_is_killed_before_the_next_uses_its_site(
    world: World,
) -> None:
    browsers: list[Browser] = []

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            browsers.append(Browser(context, DEAF))
            browsers[0].wait_until_ready()
        else:
            assert browsers[0].was_killed()
        return scored(task)

    site = (Resource(name="gitlab"),)
    trials = [planned("0", resources=site), planned("1", resources=site)]
    sink = world.run(trial, trials=trials, policy=Policy(abandoned_patience_s=120))
    assert sink.last("1").status is Status.COMPLETED


@grouped
def test_processes_of_trials_do_not_outlive_a_run_that_cannot_go_on(world: World) -> None:
    browsers: list[Browser] = []

    async def trial(task: Task, context: TrialContext) -> TrialResult:
        if task.task_id == "0":
            browsers.append(Browser(context))
            return await stubborn(task, context)
        return await spending(1)(task, context)

    def refuse(event: Event) -> None:
        if event.kind == "budget_exceeded":
            raise RunFolderError("the disk is full")

    world.sink.event = refuse  # type: ignore[method-assign]
    with pytest.raises(RunFolderError):
        world.run(
            trial,
            trials=[*map(planned, "012")],
            policy=Policy(workers=2),
            budget=RunBudget(Budget(max_cost_usd=1)),
        )
    assert browsers[0].was_killed()
