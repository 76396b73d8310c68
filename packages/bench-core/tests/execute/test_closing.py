"""What a benchmark keeps is closed with its run, and what a trial held is free when it is over."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import pytest
from toy_benchmark import SPEC, Idle, Toy, run

from bench_core.errors import InputError, UnknownPluginError
from bench_core.records import AgentOutcome, Usage
from bench_core.runs import RunEnvironment, rescore_run_sync, run_benchmark_sync

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask
    from bench_core.trial import Evaluation, Evidence


class Spender(Idle):
    """Hears of its meter and of its environment, and spends."""

    contexts: list[weakref.ref[TrialContext]]

    def __init__(self) -> None:
        self.contexts = []

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        self.contexts.append(weakref.ref(context))
        context.meter.spend(Usage(input_tokens=1), cost_usd=0.0)
        return await super().run(task, environment, context)


def test_a_trial_that_is_over_takes_no_memory_until_the_garbage_collector_comes(out: Path) -> None:
    agent = Spender()
    with_ = RunEnvironment(agent_for=lambda *_: agent)
    gc.collect()
    gc.disable()
    try:
        run_benchmark_sync(Toy(), SPEC, out, run_environment=with_)
        assert [each() for each in agent.contexts] == [None] * 4
    finally:
        gc.enable()


class Kept(Toy):
    """Keeps something between trials, and ends it as it is told to."""

    def __init__(self, ending: str = "well") -> None:
        super().__init__()
        self._ending = ending
        self.closed: list[asyncio.AbstractEventLoop] = []

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        self.loop = asyncio.get_running_loop()
        return await super().evaluate(evidence)

    async def close(self) -> None:
        self.closed.append(asyncio.get_running_loop())
        if self._ending == "raises":
            raise OSError("it is gone already")
        if self._ending == "hangs":
            await asyncio.Event().wait()


@pytest.mark.parametrize("ending", ["well", "raises", "hangs"])
def test_what_a_benchmark_keeps_is_closed_in_the_loop_of_its_run(
    out: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.trial.hooks._CLOSE_S", 0.2)
    toy = Kept(ending)
    with_ = RunEnvironment(agent_for=lambda *_: Idle())
    outcome = run_benchmark_sync(toy, SPEC, out, run_environment=with_)
    assert outcome.succeeded == 4
    assert toy.closed == [toy.loop]


def test_what_a_benchmark_keeps_is_closed_where_a_run_cannot_begin(out: Path) -> None:
    toy = Kept()
    with pytest.raises(UnknownPluginError):
        run_benchmark_sync(toy, SPEC.model_copy(update={"agent": "nobody"}), out)
    assert len(toy.closed) == 1


@pytest.mark.parametrize("ending", ["well", "raises", "hangs"])
def test_what_a_benchmark_keeps_is_closed_in_the_loop_of_its_rescore(
    out: Path, ending: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bench_core.trial.hooks._CLOSE_S", 0.2)
    with_ = RunEnvironment(agent_for=lambda *_: Idle())
    run_benchmark_sync(Toy(), SPEC, out, run_environment=with_)
    toy = Kept(ending)
    assert rescore_run_sync(toy, out).rescored == 4
    assert toy.closed == [toy.loop]
    assert ("what the benchmark keeps" in caplog.text) is (ending != "well")
    with pytest.raises(InputError):
        rescore_run_sync(toy, out.parent / "none")
    assert len(toy.closed) == 2


async def test_a_run_in_a_loop_of_the_caller_leaves_the_benchmark_open(out: Path) -> None:
    toy = Kept()
    await run(toy, out)
    assert toy.closed == []
