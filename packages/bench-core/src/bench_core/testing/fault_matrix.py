"""Tests of a benchmark against the table of faults."""

# ruff: noqa: S101  # these are tests, and pytest explains asserts

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from bench_core.budgets import AGENT, Budget
from bench_core.errors import EvaluationError
from bench_core.faults import HARNESS_ERROR, NOT_RETRIED
from bench_core.protocols import Agent
from bench_core.records import Limits, Spending, Task, TrialResult, Usage
from bench_core.records.vocabulary import meaning_of_flag
from bench_core.run_folder.artifacts import list_artifacts
from bench_core.run_folder.folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs.execute import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.testing.faults import (
    CALL,
    CALL_USD,
    FAULTS,
    IDLE,
    Fault,
    FaultyAgent,
    FaultyBenchmark,
    WatchedBenchmark,
)
from bench_core.trial import AgentLimits, Benchmark, rescore_trial
from bench_core.trial.agent_work import NOT_RELEASED
from bench_core.trial.results import NOT_CLOSED, USAGE_REPORTED

_OF_THE_CORE = {HARNESS_ERROR, NOT_CLOSED, NOT_RELEASED, NOT_RETRIED, USAGE_REPORTED}


class FaultMatrix:
    """The record of a trial names any fault in it, and loses nothing.

    Fixtures to give: `benchmark_under_test`; `task`, a task that an idle agent fails;
    `solver`, an agent that solves it and records its steps. To change: `spec`, how the trial is run, `own_flags`, the meaning of the
    benchmark's own flags, and `runs`, the function that runs it.

    Attributes:
        faults: The rows it is held to; fewer if each trial is expensive.
    """

    faults: ClassVar[tuple[Fault, ...]] = FAULTS
    _misread: ClassVar[dict[type, str]] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of each row."""
        if "fault" in metafunc.fixturenames:
            metafunc.parametrize("fault", self.faults, ids=lambda fault: fault.name)

    @pytest.fixture
    def benchmark_under_test(self) -> Benchmark:
        """Return the benchmark under test."""
        raise NotImplementedError

    @pytest.fixture
    def task(self, benchmark_under_test: Benchmark) -> Task:
        """Return a task."""
        return benchmark_under_test.tasks()[0]

    @pytest.fixture
    def solver(self) -> Agent:
        """Return an agent that solves the task."""
        raise NotImplementedError

    @pytest.fixture
    def spec(self) -> RunSpec:
        """Return how the trial is run; task, limits and budget are filled in."""
        return RunSpec(agent=FaultyAgent.name)

    @pytest.fixture
    def own_flags(self) -> Mapping[str, str]:
        """Return flags that the benchmark sets and their meanings."""
        return {}

    @pytest.fixture
    def runs(self) -> Callable[..., object]:
        """Return a substitute for `run_benchmark_sync`, say to keep a browser between runs."""
        return run_benchmark_sync

    @pytest.fixture
    def misread(
        self,
        benchmark_under_test: Benchmark,
        task: Task,
        solver: Agent,
        spec: RunSpec,
        runs: Callable[..., object],
        tmp_path: Path,
    ) -> str:
        """Return which hook finds a fault in a trial whose agent does nothing, empty for none; tried once."""
        if type(self) not in self._misread:
            said: list[str] = []
            watched = WatchedBenchmark(benchmark_under_test, IDLE, said)
            _run(IDLE, watched, task, solver, spec, runs, tmp_path / "idle")
            self._misread[type(self)] = "; ".join(dict.fromkeys(said))  # each try says it
        return self._misread[type(self)]

    def test_no_hook_finds_a_fault_where_there_is_none(self, misread: str) -> None:
        """Of an agent that does nothing, in an environment that works, no hook says that either is at fault."""
        assert not misread, misread

    def test_a_fault_is_recorded_as_the_table_says(
        self,
        fault: Fault,
        misread: str,
        benchmark_under_test: Benchmark,
        task: Task,
        solver: Agent,
        spec: RunSpec,
        own_flags: Mapping[str, str],
        runs: Callable[..., object],
        tmp_path: Path,
    ) -> None:
        """Status, score, flags, tries, cost, tokens, steps and artifacts are those of its row."""
        if misread:
            pytest.skip(misread)
        result, folder = _run(
            fault, benchmark_under_test, task, solver, spec, runs, tmp_path / "run"
        )
        assert (result.status, set(result.flags) & _OF_THE_CORE) == (fault.status, set(fault.flags))
        assert (result.error and result.error.fault) in {None, fault.kind}
        assert [each for each in result.flags if not _is_known(each, own_flags)] == []
        assert (result.score is not None) is fault.status.scored
        if fault.status.scored:
            assert result.success is fault.solved
        assert (result.failure_mode is None) is bool(result.success)
        if result.score is None:
            assert result.error is not None
            assert result.failure_mode == fault.status.value
        own = Spending(source=AGENT, usage=CALL, cost_usd=CALL_USD, reported=not fault.metered)
        spent = (own,) if fault.works else ()
        assert len(result.attempts) == fault.tries
        assert [attempt.spent for attempt in result.attempts] == [spent] * fault.tries
        assert result.spent == spent
        if fault.works:
            assert (result.usage, result.cost_usd) == (CALL, CALL_USD)
        else:
            assert (result.usage, result.cost_usd) == (Usage(), None)
        assert (result.steps > 0) is fault.works, (
            "the solver has to record its steps, as with `TrialArtifacts(context.folder).append_step(Step(step=1))`"
        )
        assert set(result.artifact_paths) == set(list_artifacts(folder))
        _check_scoring_again(result, fault, benchmark_under_test, task, folder)


def _run(
    fault: Fault,
    benchmark: Benchmark,
    task: Task,
    solver: Agent,
    spec: RunSpec,
    runs: Callable[..., object],
    out: Path,
) -> tuple[TrialResult, Path]:
    over: list[bool] = []
    run_environment = RunEnvironment(
        locks=NoLocks(),
        agent_for=lambda *_: FaultyAgent(fault, solver, lambda: bool(over)),
        agent_limits=AgentLimits(overtime_s=0.1, stop_s=0.5),
        policy=Policy(attempts=2, backoff=Backoff(first_s=0.0)),
    )
    asked = spec.model_copy(
        update={
            "tasks": TaskFilter(ids=(task.task_id,)),
            "limits": Limits(max_steps=80, time_limit_s=fault.limit_s),
            "budget": Budget(max_tokens=CALL.total_tokens if fault.out_of_budget else None),
        }
    )
    if not isinstance(benchmark, FaultyBenchmark):
        benchmark = FaultyBenchmark(benchmark, fault)
    try:
        runs(benchmark, asked, out, run_environment=run_environment)
    finally:
        over.append(True)
    view = read_run(out)
    (result,) = view.results.values()
    return result, view.trial_folder(result.key)


def _is_known(flag: str, own: Mapping[str, str]) -> bool:
    return flag in own or meaning_of_flag(flag) is not None


def _check_scoring_again(
    result: TrialResult, fault: Fault, benchmark: Benchmark, task: Task, folder: Path
) -> None:
    if fault.later == "no":
        with pytest.raises(EvaluationError):
            asyncio.run(rescore_trial(benchmark, task, result, folder))
        return
    again = asyncio.run(rescore_trial(benchmark, task, result, folder))
    if fault.later == "same":
        assert again == result
    else:
        assert again.success is fault.solved
