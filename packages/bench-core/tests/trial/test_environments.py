"""`run_trial`: environments that end, break or cannot be taken from their agent."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sum_trials import RIGHT, WRONG, Paper, Sums, gone

from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits, Status, Task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent


async def loop_forever(_: TrialContext) -> AgentOutcome:
    return await asyncio.Event().wait()  # type: ignore[return-value]


def test_an_environment_that_cannot_be_taken_from_an_agent_that_goes_on_is_not_scored(
    run: Any, tmp_path: Path
) -> None:
    async def go_on(_: TrialContext) -> AgentOutcome:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return await asyncio.Event().wait()  # type: ignore[return-value]

    limits = Limits(time_limit_s=0.01)
    context = TrialContext(run_id="r", folder=tmp_path, agent="scripted", limits=limits)
    result = run(go_on, context, release_error=EnvironmentFaultError("the VM is gone"))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_an_environment_that_cannot_be_taken_from_an_agent_that_ended_is_scored(run: Any) -> None:
    result = run(RIGHT, release_error=EnvironmentFaultError("the VM is gone"))
    assert result.score == 1.0
    assert "not_released" in result.flags


def test_what_the_capture_finds_is_in_the_ending_of_the_agents_part_too(run: Any) -> None:
    result = run(AgentOutcome(), capture_flag="left_the_apps")
    assert "left_the_apps" in result.flags
    assert "left_the_apps" in result.ending.flags


def test_an_environment_that_ended_by_itself_is_no_failure_of_the_agents(run: Any) -> None:
    result = run(loop_forever, **gone(gone_error=EnvironmentFaultError("Chromium was killed")))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_an_environment_that_the_agent_ended_is_its_failure(run: Any) -> None:
    result = run(loop_forever, **gone(act="the agent sent Browser.close"))
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error.message == "the agent sent Browser.close"


def test_an_environment_whose_end_nothing_explains_is_no_failure_of_the_agents(run: Any) -> None:
    result = run(loop_forever, **gone())
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_an_agent_may_report_after_its_environment_has_ended(run: Any) -> None:
    async def report(_: TrialContext) -> AgentOutcome:
        for _ in range(20):
            await asyncio.sleep(0)
        return RIGHT

    assert run(report, **gone()).score == 1.0


def test_what_an_agent_raises_because_its_environment_ended_is_not_its_failure(run: Any) -> None:
    result = run(ConnectionError("closed"), gone_error=EnvironmentFaultError("it was killed"))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_a_failure_where_the_environment_is_not_well_is_not_the_agents(run: Any) -> None:
    result = run(WRONG, check_error=EnvironmentFaultError("the site is gone"))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "not_retried" not in result.flags


def test_a_success_stands_whatever_became_of_the_environment(run: Any) -> None:
    result = run(RIGHT, check_error=EnvironmentFaultError("the site is gone"))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


def test_an_environment_that_cannot_be_opened_is_raised(run: Any) -> None:
    class Closed(Sums):
        @asynccontextmanager
        async def open(
            self, task: Task, context: TrialContext, agent: Agent
        ) -> AsyncIterator[Paper]:
            raise EnvironmentFaultError("the VM is down")
            yield

    with pytest.raises(EnvironmentFaultError, match="the VM is down"):
        run(RIGHT, benchmark=Closed())


def test_an_environment_that_breaks_before_the_agents_part_is_not_scored(run: Any) -> None:
    with pytest.raises(ValueError, match="inputs"):
        run(RIGHT, inputs={"page": object()})


def test_an_environment_that_does_not_close_leaves_the_score(run: Any) -> None:
    class Stuck(Sums):
        @asynccontextmanager
        async def open(
            self, task: Task, context: TrialContext, agent: Agent
        ) -> AsyncIterator[Paper]:
            async with super().open(task, context, agent) as environment:
                yield environment
            raise EnvironmentFaultError("the VM does not shut down")

    result = run(RIGHT, benchmark=Stuck())
    assert result.score == 1.0
    assert "not_closed" in result.flags
