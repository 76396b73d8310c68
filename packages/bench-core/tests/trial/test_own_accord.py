"""What ends programs ends a run only where a signal or the run itself sent it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import AgentOutcome, Status, Step, Task
from bench_core.run_folder import TrialArtifacts, read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

ENDINGS: tuple[Callable[[], BaseException], ...] = (
    KeyboardInterrupt, lambda: SystemExit(3), GeneratorExit, asyncio.CancelledError,
)  # fmt: skip
HOOKS = ("open", "gone", "release", "why_gone", "capture", "check", "evaluate", "close")
UNSCORED = {
    "open": ("harness_error",), "gone": ("harness_error",), "why_gone": ("harness_error",),
    "capture": ("harness_error",), "check": ("harness_error",), "evaluate": ("harness_error",),
}  # fmt: skip


class Benchmark:
    """Two tasks; a hook raises in the first, and all agents fail."""

    name = "endings"

    def __init__(self, hook: str, error: Callable[[], BaseException]) -> None:
        self._hook = hook
        self._error = error

    def tasks(self) -> list[Task]:
        return [Task(benchmark=self.name, task_id=each, goal="Do it.") for each in ("a", "b")]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Any
    ) -> AsyncIterator[TrialEnvironment]:
        hook = self._hook if task.task_id == "a" else ""

        async def fail(*_: object, **__: object) -> None:
            raise self._error()

        if hook == "open":
            await fail()
        environment = TrialEnvironment()
        if hook in {"gone", "release", "why_gone", "capture", "check"}:
            setattr(environment, hook, fail)
        yield environment
        if hook == "close":
            await fail()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        if self._hook == "evaluate" and evidence.task.task_id == "a":
            raise self._error()
        return Evaluation(score=0.0)


class Idle:
    name = "idle"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        await asyncio.sleep(0.05)  # what watches the environment may begin
        return AgentOutcome(steps=1)


class Raising:
    name = "raising"

    def __init__(self, error: Callable[[], BaseException]) -> None:
        self._error = error

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        TrialArtifacts(context.folder).append_step(Step(step=1))  # it could begin
        raise self._error()


def results_of(benchmark: Benchmark, agent: Any, out: Path) -> dict[str, Any]:
    spec = RunSpec(agent=agent.name, attempts=1)
    environment = RunEnvironment(locks=NoLocks(), agent_for=lambda *_: agent)
    run_benchmark_sync(benchmark, spec, out, run_environment=environment)
    return {key.task_id: each for key, each in read_run(out).results.items()}


@pytest.mark.parametrize("error", ENDINGS, ids=lambda each: type(each()).__name__)
@pytest.mark.parametrize("hook", HOOKS)
def test_a_benchmark_that_raises_what_ends_programs_ends_no_run(
    hook: str, error: Callable[[], BaseException], tmp_path: Path
) -> None:
    results = results_of(Benchmark(hook, error), Idle(), tmp_path / "run")
    assert results["b"].score == 0.0
    first = results["a"]
    if sys.version_info < (3, 11) and error is asyncio.CancelledError:
        return  # there the whole attempt counts as one that cancelled itself
    if hook in UNSCORED:
        assert (first.status, first.score) == (Status.ENVIRONMENT_ERROR, None)
        assert set(UNSCORED[hook]) <= set(first.flags)
    else:  # what is scored was captured before, or is captured all the same
        assert first.score == 0.0
    assert (first.steps == 1) == (hook != "open")


@pytest.mark.parametrize("error", ENDINGS, ids=lambda each: type(each()).__name__)
def test_an_agent_that_raises_what_ends_programs_has_failed(
    error: Callable[[], BaseException], tmp_path: Path
) -> None:
    results = results_of(Benchmark("", error), Raising(error), tmp_path / "run")
    assert [(each.status, each.score) for each in results.values()] == [
        (Status.AGENT_ERROR, 0.0),
        (Status.AGENT_ERROR, 0.0),
    ]


@pytest.mark.parametrize("where", ["agent", "benchmark"])
def test_the_users_own_ctrl_c_ends_the_run(where: str, tmp_path: Path) -> None:
    def interrupt() -> BaseException:
        os.kill(os.getpid(), signal.SIGINT)
        return ValueError("too late")

    benchmark = Benchmark("evaluate" if where == "benchmark" else "", interrupt)
    agent: Any = Idle() if where == "benchmark" else Raising(interrupt)
    # a shell's background jobs ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            results_of(benchmark, agent, tmp_path / "run")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
