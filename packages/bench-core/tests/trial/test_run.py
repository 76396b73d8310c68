"""`run_trial`: whatever agent, environment and evaluator do, the record says what happened."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import math
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.budgets import Budget, RunBudget
from bench_core.errors import (
    AgentError,
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
    InputError,
)
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, ErrorInfo, Limits, Status, Step, Task, Usage
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.trial import (
    AgentLimits,
    Evaluation,
    Evidence,
    TrialEnvironment,
    rescore_trial,
    run_trial,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from bench_core.protocols import Agent, EnvironmentHandle
    from bench_core.records import AgentEnding, AgentTask, TrialResult

QUICK = AgentLimits(overtime_s=0.05, stop_s=0.05)
CALL = Usage(requests=1, input_tokens=100)


class Paper(TrialEnvironment):
    """Keeps what the agent answers; faults are set from outside."""

    capture_error: Exception | None = None
    capture_flag: str | None = None
    check_error: Exception | None = None
    ended: asyncio.Event | None = None
    act: str | None = None
    gone_error: Exception | None = None
    release_error: Exception | None = None
    folder: Path
    log: list[str]

    async def gone(self) -> None:
        await (self.ended or asyncio.Event()).wait()

    async def why_gone(self, *, reported: bool) -> str | None:
        if self.gone_error is not None:
            raise self.gone_error
        return self.act

    async def release(self) -> None:
        self.log.append("release")
        if self.release_error is not None:
            raise self.release_error

    async def capture(self, ending: AgentEnding) -> None:
        self.log.append("capture")
        if self.capture_flag is not None:
            self.flags[self.capture_flag] = None
        TrialArtifacts(self.folder).write_json("answer.json", ending.answer)
        if self.capture_error is not None:
            raise self.capture_error

    async def check(self) -> None:
        self.log.append("check")
        if self.check_error is not None:
            raise self.check_error


class Sums:
    """One task, whose answer is 4."""

    name = "sums"

    def __init__(self, **faults: Any) -> None:
        self.environment = Paper(flags={"from_environment": None}, machine="paper-1")
        self.environment.log = []
        self.evaluation: Evaluation | Exception | None = None
        for name, value in faults.items():
            setattr(self if name == "evaluation" else self.environment, name, value)

    def tasks(self) -> list[Task]:
        return [Task(benchmark="sums", task_id="2+2", goal="What is 2 + 2?")]

    @asynccontextmanager
    async def open(self, task: Task, context: TrialContext, agent: Agent) -> AsyncIterator[Paper]:
        self.environment.folder = context.folder
        yield self.environment
        self.environment.log.append("closed")

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        if isinstance(self.evaluation, Exception):
            raise self.evaluation
        right = read_json(evidence.folder / "answer.json") == 4
        return self.evaluation or Evaluation(score=float(right), method="equality")


class Scripted:
    """Does what it is given: returns it, or raises it."""

    name = "scripted"

    def __init__(self, does: Any) -> None:
        self._does = does

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        if callable(self._does):
            return await self._does(context)  # type: ignore[no-any-return]
        if isinstance(self._does, BaseException):
            raise self._does
        return self._does  # type: ignore[no-any-return]


RIGHT = AgentOutcome(answer=4, steps=2)
WRONG = AgentOutcome(answer=5, steps=2)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., TrialResult]:
    def run(does: Any, context: TrialContext | None = None, **faults: Any) -> TrialResult:
        benchmark = faults.pop("benchmark", None) or Sums(**faults)
        (task,) = benchmark.tasks()
        context = context or TrialContext(run_id="r", folder=tmp_path, agent="scripted")
        return asyncio.run(run_trial(benchmark, task, context, Scripted(does), limits=QUICK))

    return run


def test_a_right_answer_scores_and_has_no_failure_mode(run: Any) -> None:
    result = run(RIGHT)
    assert (result.status, result.score, result.failure_mode) == (Status.COMPLETED, 1.0, None)
    assert (result.agent, result.benchmark, result.machine) == ("scripted", "sums", "paper-1")
    assert result.flags == ("from_environment",)
    assert set(result.timings_s) == {"environment", "agent", "capture", "evaluation", "total"}


def test_the_agent_loses_its_environment_before_what_it_left_is_captured(run: Any) -> None:
    benchmark = Sums()
    run(WRONG, benchmark=benchmark)
    assert benchmark.environment.log == ["release", "capture", "closed", "check"]


def test_every_file_is_listed_with_size_and_digest(run: Any, tmp_path: Path) -> None:
    listed = {each.path: each for each in run(RIGHT).artifacts}
    assert listed["answer.json"].size == (tmp_path / "answer.json").stat().st_size
    assert len(listed["answer.json"].sha256 or "") == 64


async def loop_forever(_: TrialContext) -> AgentOutcome:
    return await asyncio.Event().wait()  # type: ignore[return-value]


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


def gone(**how: Any) -> dict[str, Any]:
    ended = asyncio.Event()
    ended.set()
    return {"ended": ended, **how}


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


@pytest.mark.parametrize(
    ("error", "status", "flag"),
    [
        (EnvironmentFaultError("no HAR"), Status.ENVIRONMENT_ERROR, "not_retried"),
        (KeyError("bug"), Status.ENVIRONMENT_ERROR, "harness_error"),
        (EvaluationError("undecided"), Status.EVALUATION_ERROR, None),
    ],
    ids=["fault", "bug", "undecided"],
)
def test_a_fault_of_the_capture_is_never_a_score_and_not_paid_for_twice(
    run: Any, error: Exception, status: Status, flag: str | None
) -> None:
    result = run(RIGHT, capture_error=error)
    assert (result.status, result.score, result.steps) == (status, None, 2)
    assert flag is None or flag in result.flags
    assert result.error.phase == "capture"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EnvironmentFaultError("evaluator gone"), Status.ENVIRONMENT_ERROR),
        (EvaluationError("undecided"), Status.EVALUATION_ERROR),
        (KeyError("bug of the evaluator"), Status.EVALUATION_ERROR),
        (BudgetExceededError("the judge spent it"), Status.BUDGET_EXCEEDED),
    ],
    ids=["gone", "undecided", "bug", "budget"],
)
def test_a_fault_of_the_evaluation_is_never_a_score(
    run: Any, error: Exception, status: Status
) -> None:
    result = run(RIGHT, evaluation=error)
    assert (result.status, result.score) == (status, None)
    assert result.ending.answer == 4
    assert ("not_retried" in result.flags) is isinstance(error, EnvironmentFaultError)


def test_an_evaluation_without_score_is_undecided(run: Any) -> None:
    result = run(RIGHT, evaluation=Evaluation(score=None))
    assert (result.status, result.failure_mode) == (
        Status.EVALUATION_ERROR, FailureMode.EVALUATION_ERROR,
    )  # fmt: skip


@pytest.mark.parametrize(
    "score", [math.nan, -math.inf, 1e308], ids=["nan", "infinite", "too large"]
)
def test_an_evaluation_with_what_is_no_score_is_undecided(run: Any, score: float) -> None:
    class Wrong(Sums):
        async def evaluate(self, evidence: Evidence) -> Evaluation:
            return Evaluation(score=score)

    result = run(RIGHT, benchmark=Wrong())
    assert (result.status, result.score) == (Status.EVALUATION_ERROR, None)
    assert "which is no score" in result.error.message


@pytest.mark.parametrize("does", [WRONG, ValueError("bug")], ids=["wrong", "crashed"])
def test_a_fault_that_the_evidence_shows_takes_the_place_of_the_ending(run: Any, does: Any) -> None:
    fault = ErrorInfo(kind="LoginExpired", message="signed out", phase="agent")
    evaluation = Evaluation(score=None, status=Status.ENVIRONMENT_ERROR, error=fault)
    result = run(does, evaluation=evaluation)
    assert (result.status, result.score, result.error) == (Status.ENVIRONMENT_ERROR, None, fault)


def test_a_trial_without_score_is_no_suspect(run: Any) -> None:
    evaluation = Evaluation(score=None, suspect=(SuspectCause.SITE_ERROR,))
    assert run(WRONG, evaluation=evaluation).suspect == ()


@pytest.mark.parametrize(
    ("answer", "suspect"), [(5, (SuspectCause.ENVIRONMENT_FAULT,)), (4, ())], ids=["wrong", "right"]
)
def test_a_failure_whose_agent_claims_a_fault_is_a_suspect(
    run: Any, answer: int, suspect: tuple[SuspectCause, ...]
) -> None:
    claims = AgentOutcome(status=Status.AGENT_ERROR, answer=answer, flags=("agent_claims_fault",))
    assert run(claims).suspect == suspect


def test_a_failure_where_the_environment_is_not_well_is_not_the_agents(run: Any) -> None:
    result = run(WRONG, check_error=EnvironmentFaultError("the site is gone"))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "not_retried" not in result.flags


def test_a_success_stands_whatever_became_of_the_environment(run: Any) -> None:
    result = run(RIGHT, check_error=EnvironmentFaultError("the site is gone"))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)


@pytest.mark.parametrize(
    ("steps", "mode"), [(0, FailureMode.NOT_ATTEMPTED), (1, FailureMode.UNCLASSIFIED)]
)
def test_a_failure_nobody_classified_says_whether_anything_was_done(
    run: Any, steps: int, mode: FailureMode
) -> None:
    assert run(AgentOutcome(answer=5, steps=steps)).failure_mode is mode


def test_a_suspect_keeps_its_score(run: Any) -> None:
    evaluation = Evaluation(
        score=0.0, suspect=(SuspectCause.SITE_ERROR,), failure_mode=FailureMode.SITE_ERROR
    )
    result = run(WRONG, evaluation=evaluation)
    assert (result.score, result.suspect) == (0.0, (SuspectCause.SITE_ERROR,))
    assert result.failure_mode is FailureMode.SITE_ERROR


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


@pytest.mark.parametrize(
    "does", [RIGHT, WRONG, ValueError("bug"), AgentOutcome(status=Status.STEP_LIMIT, answer=4)],
    ids=["right", "wrong", "crashed", "out-of-steps"],
)  # fmt: skip
def test_scoring_again_gives_the_same_result_law(run: Any, tmp_path: Path, does: Any) -> None:
    first = run(does)
    again = asyncio.run(rescore_trial(Sums(), Sums().tasks()[0], first, tmp_path))
    assert again == first


def test_newer_rules_change_score_and_checks_and_nothing_else(run: Any, tmp_path: Path) -> None:
    first = run(WRONG)
    newer = Sums(evaluation=Evaluation(score=1.0, method="newer", profile="fixed"))
    again = asyncio.run(rescore_trial(newer, newer.tasks()[0], first, tmp_path))
    assert (again.score, again.method, again.profile) == (1.0, "newer", "fixed")
    assert (again.failure_mode, again.steps, again.artifacts) == (None, 2, first.artifacts)


def test_usage_that_nobody_metered_is_marked_when_scored_again(run: Any, tmp_path: Path) -> None:
    first = run(RIGHT)
    first = first.model_copy(update={"flags": (*first.flags, "usage_reported")})
    again = asyncio.run(rescore_trial(Sums(), Sums().tasks()[0], first, tmp_path))
    assert again.flags == first.flags


def test_a_trial_whose_agent_never_ended_cannot_be_scored_again(run: Any, tmp_path: Path) -> None:
    first = run(EnvironmentFaultError("the site is down"))
    with pytest.raises(EvaluationError, match="no end state"):
        asyncio.run(rescore_trial(Sums(), Sums().tasks()[0], first, tmp_path))


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
