"""What a trial spent is what its meter counted, on every ending."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import EnvironmentFaultError
from bench_core.records import AgentOutcome, Spending, Task, Usage
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask, TrialResult

CALL = Usage(requests=1, input_tokens=100)


class Judged:
    """One task whose evaluation asks a judge, too."""

    name = "judged"

    def tasks(self) -> list[Task]:
        return [Task(benchmark="judged", task_id="1", goal="")]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        evidence.context.meter.of("judge").spend(CALL, 0.5)
        return Evaluation(score=1.0)


class Spender:
    """Makes two calls, then ends as it is told."""

    name = "spender"

    def __init__(self, ending: Any, calls: int = 2) -> None:
        self._ending = ending
        self._calls = calls

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        for _ in range(self._calls):
            context.meter.spend(CALL, 0.25)
        if isinstance(self._ending, Exception):
            raise self._ending
        return self._ending  # type: ignore[no-any-return]


async def result_of(agent: Agent, out: Path) -> TrialResult:
    with_ = RunEnvironment(
        locks=NoLocks(),
        agent_for=lambda *_: agent,
        policy=Policy(attempts=2, backoff=Backoff(first_s=0.0)),
    )
    await run_benchmark(Judged(), RunSpec(agent="spender"), out, run_environment=with_)
    (result,) = read_run(out).results.values()
    return result


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(AgentOutcome(), id="reports-nothing"),
        pytest.param(AgentOutcome(usage=Usage(requests=9), cost_usd=99.0), id="reports-otherwise"),
        pytest.param(ValueError("bug"), id="fails"),
        pytest.param(EnvironmentFaultError("down"), id="is-interrupted"),
    ],
)
async def test_usage_and_cost_are_what_the_meter_counted(ending: Any, tmp_path: Path) -> None:
    result = await result_of(Spender(ending), tmp_path / "run")
    assert (result.usage, result.cost_usd) == (CALL + CALL, 0.5)


async def test_what_a_judge_spent_is_told_apart(tmp_path: Path) -> None:
    result = await result_of(Spender(AgentOutcome()), tmp_path / "run")
    assert result.spent == (
        Spending(source="agent", usage=CALL + CALL, cost_usd=0.5),
        Spending(source="judge", usage=CALL, cost_usd=0.5),
    )


async def test_every_attempt_keeps_what_it_spent(tmp_path: Path) -> None:
    result = await result_of(Spender(EnvironmentFaultError("down")), tmp_path / "run")
    own = Spending(source="agent", usage=CALL + CALL, cost_usd=0.5)
    assert [attempt.spent for attempt in result.attempts] == [(own,), (own,)]
    assert len({attempt.token for attempt in result.attempts}) == 2


@pytest.mark.parametrize(
    ("usage", "cost_usd"),
    [
        pytest.param(CALL, 0.1, id="usage-and-cost"),
        pytest.param(CALL, None, id="usage"),
        pytest.param(Usage(), 0.1, id="cost"),
    ],
)
async def test_a_report_nobody_metered_is_marked_as_such(
    usage: Usage, cost_usd: float | None, tmp_path: Path
) -> None:
    outcome = AgentOutcome(usage=usage, cost_usd=cost_usd)
    result = await result_of(Spender(outcome, calls=0), tmp_path / "run")
    assert result.spent == (
        Spending(source="agent", usage=usage, cost_usd=cost_usd, reported=True),
        Spending(source="judge", usage=CALL, cost_usd=0.5),
    )
    assert (result.usage, result.cost_usd) == (usage, cost_usd)
    assert "usage_reported" in result.flags
