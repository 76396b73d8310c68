"""`run_trial`: whatever an agent does, the record says what happened."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import signal
from typing import TYPE_CHECKING, Any

import pytest
from sum_trials import RIGHT, WRONG, Sums

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import (
    AgentError,
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
    InputError,
)
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits, Status, Step, Usage
from bench_core.records.vocabulary import FailureMode
from bench_core.run_folder import TrialArtifacts

if TYPE_CHECKING:
    from pathlib import Path


CALL = Usage(requests=1, input_tokens=100)


def test_a_right_answer_scores_and_has_no_failure_mode(run: Any) -> None:
    result = run(RIGHT)
    assert (result.status, result.score, result.failure_mode) == (Status.COMPLETED, 1.0, None)
    assert (result.agent, result.benchmark, result.machine) == ("scripted", "sums", "paper-1")
    assert result.flags == ("from_environment",)
    assert set(result.timings_s) == {"environment", "agent", "capture", "evaluation", "total"}


def test_the_agent_loses_its_environment_before_what_it_left_is_captured(run: Any) -> None:
    benchmark = Sums()
    run(WRONG, benchmark=benchmark)
    assert benchmark.environment.log == ["release", "capture", "check", "closed"]


def test_every_file_is_listed_with_size_and_digest(run: Any, tmp_path: Path) -> None:
    listed = {each.path: each for each in run(RIGHT).artifacts}
    assert listed["answer.json"].size == (tmp_path / "answer.json").stat().st_size
    assert len(listed["answer.json"].sha256 or "") == 64


async def cancel_itself(_: TrialContext) -> AgentOutcome:
    raise asyncio.CancelledError


async def interrupt_as_python_does(_: TrialContext) -> AgentOutcome:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio.run puts its own there
    raise KeyboardInterrupt


class MuteError(Exception):
    """Has no text that could be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "does",
    [
        pytest.param(ValueError("bug"), id="exception"),
        pytest.param(SystemExit(3), id="sys-exit"),
        pytest.param(GeneratorExit(), id="generator-exit"),
        pytest.param(MuteError(), id="unreadable-exception"),
        pytest.param(AgentError("lost"), id="agent-error"),
        pytest.param(EvaluationError("mine"), id="evaluation-error"),
        pytest.param(BudgetExceededError("so it says"), id="budget-that-is-not-spent"),
        pytest.param(cancel_itself, id="cancelled-itself"),
        pytest.param(None, id="no-outcome"),
        pytest.param({"status": "completed"}, id="dictionary"),
        pytest.param(AgentOutcome(status=Status.ENVIRONMENT_ERROR), id="claims-environment-error"),
        pytest.param(AgentOutcome(status=Status.BUDGET_EXCEEDED), id="claims-spent-budget"),
        pytest.param(AgentOutcome(status=Status.CANCELLED), id="claims-cancellation"),
    ],
)
def test_what_an_agent_does_wrong_is_its_failure_and_its_end_state_is_scored(
    run: Any, does: Any
) -> None:
    result = run(does)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.failure_mode is FailureMode.AGENT_ERROR
    assert result.error is not None
    assert result.error.phase == "agent"
    assert "answer.json" in result.artifact_paths


def test_an_interrupt_that_an_agent_raises_is_its_failure_where_the_run_takes_ctrl_c_itself(
    run: Any,
) -> None:
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        result = run(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error is not None
    assert "the agent raised KeyboardInterrupt" in result.error.message


def test_an_interrupt_that_may_be_the_users_ends_the_run(run: Any) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(interrupt_as_python_does)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_agent_that_failed_after_doing_the_task_keeps_its_score(run: Any) -> None:
    outcome = AgentOutcome(status=Status.AGENT_ERROR, answer=4, steps=1)
    assert run(outcome).score == 1.0


def test_an_agent_out_of_time_is_cut_off_and_scored(run: Any, tmp_path: Path) -> None:
    async def take_long(_: TrialContext) -> AgentOutcome:
        await asyncio.sleep(20)
        return RIGHT

    limits = Limits(time_limit_s=0.01)
    context = TrialContext(run_id="r", folder=tmp_path, agent="scripted", limits=limits)
    result = run(take_long, context)
    assert (result.status, result.score) == (Status.TIME_LIMIT, 0.0)
    assert result.failure_mode is FailureMode.TIME_LIMIT


def test_an_agent_out_of_time_loses_its_environment_before_it_is_cancelled(
    run: Any, tmp_path: Path
) -> None:
    benchmark = Sums()

    async def tidy_up(_: TrialContext) -> AgentOutcome:
        try:
            return await asyncio.Event().wait()  # type: ignore[return-value]
        finally:
            benchmark.environment.log.append("cancelled")

    limits = Limits(time_limit_s=0.01)
    context = TrialContext(run_id="r", folder=tmp_path, agent="scripted", limits=limits)
    run(tidy_up, context, benchmark=benchmark)
    assert benchmark.environment.log[:2] == ["release", "cancelled"]


@pytest.mark.parametrize(
    "fault", [EnvironmentFaultError("the site is down"), InputError("no key")], ids=["site", "key"]
)
def test_a_fault_that_is_not_the_agents_leaves_no_score_but_all_that_was_done(
    run: Any, tmp_path: Path, fault: Exception
) -> None:
    async def work(context: TrialContext) -> AgentOutcome:
        TrialArtifacts(context.folder).append_step(Step(step=1, usage=CALL))
        raise fault

    result = run(work)
    assert (result.status, result.score, result.steps) == (Status.ENVIRONMENT_ERROR, None, 1)
    assert result.failure_mode is FailureMode.ENVIRONMENT_ERROR
    assert ("harness_error" in result.flags) is isinstance(fault, InputError)
    assert "not_retried" not in result.flags
    assert {"answer.json", "trajectory.jsonl"} <= set(result.artifact_paths)


def test_a_lasting_fault_is_not_tried_again_and_sets_its_flag(run: Any) -> None:
    class MismatchError(EnvironmentFaultError):
        lasting = True
        flag = "model_mismatch"

    assert {"not_retried", "model_mismatch"} <= set(run(MismatchError("other model")).flags)


@pytest.mark.parametrize(
    ("steps", "mode"), [(0, FailureMode.NOT_ATTEMPTED), (1, FailureMode.UNCLASSIFIED)]
)
def test_a_failure_nobody_classified_says_whether_anything_was_done(
    run: Any, steps: int, mode: FailureMode
) -> None:
    assert run(AgentOutcome(answer=5, steps=steps)).failure_mode is mode


def test_a_spent_budget_leaves_no_score(run: Any, tmp_path: Path) -> None:
    meter = RunBudget(Budget(max_tokens=1)).meter()
    context = TrialContext(run_id="r", folder=tmp_path, agent="scripted").with_meter(meter)

    async def spend(context: TrialContext) -> AgentOutcome:
        context.meter.spend(CALL)
        return RIGHT

    result = run(spend, context)
    assert (result.status, result.score) == (Status.BUDGET_EXCEEDED, None)


def test_an_agent_may_report_a_budget_that_is_spent(run: Any, tmp_path: Path) -> None:
    meter = RunBudget(Budget(max_tokens=1)).meter()
    context = TrialContext(run_id="r", folder=tmp_path, agent="scripted").with_meter(meter)

    async def spend(context: TrialContext) -> AgentOutcome:
        with contextlib.suppress(BudgetExceededError):
            context.meter.spend(CALL)
        return AgentOutcome(status=Status.BUDGET_EXCEEDED)

    result = run(spend, context)
    assert (result.status, result.score) == (Status.BUDGET_EXCEEDED, None)


def test_log_lines_of_a_trial_are_in_its_folder(run: Any, tmp_path: Path) -> None:
    run(ValueError("bug"))
    assert "the agent ended: agent_error" in (tmp_path / "log.txt").read_text()


def test_a_trial_that_has_nothing_to_tell_leaves_no_log(run: Any, tmp_path: Path) -> None:
    run(RIGHT)
    assert not (tmp_path / "log.txt").exists()


def test_what_an_agent_left_behind_logs_into_no_trials_file(run: Any, tmp_path: Path) -> None:
    left: list[contextvars.Context] = []

    async def leave(_: TrialContext) -> AgentOutcome:
        left.append(contextvars.copy_context())
        return RIGHT

    assert run(leave).score == 1.0
    left[0].run(logging.getLogger("bench_core.late").warning, "after the end")
    assert not (tmp_path / "log.txt").exists()
