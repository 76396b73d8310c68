"""One attempt at a trial: a deadline it cannot ignore, and a result whatever happens."""

from __future__ import annotations

import asyncio
import enum
import traceback
from typing import TYPE_CHECKING

from bench_core.errors import BudgetExceededError, EnvironmentFaultError, EvaluationError
from bench_core.records import ErrorInfo, Status, TrialResult

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from bench_core.planning import PlannedTrial
    from bench_core.protocols import TrialContext

__all__ = ["HARNESS_ERROR", "NOT_RETRIED", "RunningAttempt", "StopReason", "conclude"]

HARNESS_ERROR = "harness_error"
"""Flags results of trials that failed because of a defect in the harness or the benchmark."""

NOT_RETRIED = "not_retried"
"""Flags results whose fault came after the agent's paid work: another try would pay for it again."""


class StopReason(enum.Enum):
    """Why an attempt was told to stop before it was over."""

    DEADLINE = Status.ENVIRONMENT_ERROR
    CANCELLED = Status.CANCELLED
    BUDGET = Status.BUDGET_EXCEEDED


_KINDS = {
    StopReason.DEADLINE: "hard_deadline",
    StopReason.CANCELLED: "cancelled",
    StopReason.BUDGET: "budget_exceeded",
}


class RunningAttempt:
    """An attempt that runs as an asyncio task of its own.

    At its deadline, or when it is stopped, it is cancelled and may clean up for `cancel_grace_s`.
    After that it is abandoned: nobody waits for it any longer.
    """

    def __init__(
        self,
        work: Coroutine[Any, Any, TrialResult],
        *,
        deadline_s: float | None,
        cancel_grace_s: float,
        name: str | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._cancel_grace_s = cancel_grace_s
        self._settled: asyncio.Future[None] = self._loop.create_future()
        self._timers: list[asyncio.TimerHandle] = []
        self.stop_reason: StopReason | None = None
        self.task = asyncio.create_task(work, name=name)
        self.task.add_done_callback(self._settle)
        if deadline_s is not None:
            self.stop_later(deadline_s, StopReason.DEADLINE)

    @property
    def abandoned(self) -> bool:
        """Whether nobody waits for the attempt any longer although it is not over."""
        return self._settled.done() and not self.task.done()

    def stop(self, reason: StopReason) -> None:
        """Cancel the attempt; the first reason counts, and an attempt that is over stays over."""
        if self.task.done() or self.stop_reason is not None:
            return
        self.stop_reason = reason
        self.task.cancel()
        self._timers.append(self._loop.call_later(self._cancel_grace_s, self._settle))

    def stop_later(self, delay_s: float, reason: StopReason) -> None:
        """Stop the attempt after `delay_s` unless it is over by then."""
        self._timers.append(self._loop.call_later(delay_s, self.stop, reason))

    async def settled(self) -> None:
        """Wait until the attempt is over or abandoned."""
        await self._settled
        for timer in self._timers:
            timer.cancel()

    def _settle(self, task: asyncio.Task[TrialResult] | None = None) -> None:
        if task is not None and not task.cancelled():
            task.exception()  # looked at here, or asyncio complains about those nobody waits for
        if not self._settled.done():
            self._settled.set_result(None)


def conclude(
    attempt: RunningAttempt, trial: PlannedTrial, context: TrialContext, *, out_of_budget: bool
) -> TrialResult:
    """Return the result of an attempt that has settled.

    What an attempt returns after it was stopped, or after its meter told it that the budget is
    gone (`out_of_budget`), does not count: that may have spoilt it.
    """
    reason = attempt.stop_reason or (StopReason.BUDGET if out_of_budget else None)
    if reason is not None:
        error = _stopped(reason, context, abandoned=attempt.abandoned)
        return _unscored(trial, context, reason.value, error)
    if attempt.task.cancelled():
        error = ErrorInfo(
            kind="CancelledError", message="the trial cancelled itself", phase="harness"
        )
        return _harness_error(trial, context, error)
    raised = attempt.task.exception()
    if raised is not None:
        return _result_of_error(raised, trial, context)
    return _checked(attempt.task.result(), trial, context)


def _stopped(reason: StopReason, context: TrialContext, *, abandoned: bool) -> ErrorInfo:
    message = {
        StopReason.DEADLINE: "hard deadline: the trial did not end by itself"
        + _limit_in_words(context),
        StopReason.CANCELLED: "the run was stopped",
        StopReason.BUDGET: "the run's budget is spent",
    }[reason]
    if abandoned:
        message += "; it ignored its cancellation and was abandoned"
    return ErrorInfo(kind=_KINDS[reason], message=message)


def _limit_in_words(context: TrialContext) -> str:
    limit = context.limits.time_limit_s
    return "" if limit is None else f" after its time limit of {limit:g} s"


def _result_of_error(
    raised: BaseException, trial: PlannedTrial, context: TrialContext
) -> TrialResult:
    statuses = (
        (EnvironmentFaultError, Status.ENVIRONMENT_ERROR),
        (EvaluationError, Status.EVALUATION_ERROR),
        (BudgetExceededError, Status.BUDGET_EXCEEDED),
    )
    error = ErrorInfo(
        kind=type(raised).__name__,
        message=str(raised) or type(raised).__name__,
        traceback="".join(traceback.format_exception(type(raised), raised, raised.__traceback__)),
    )
    for kind, status in statuses:
        if isinstance(raised, kind):
            return _unscored(trial, context, status, error)
    # a bare KeyError says no more than its key
    message = f"{error.kind}: {error.message}"
    return _harness_error(
        trial, context, error.model_copy(update={"phase": "harness", "message": message})
    )


def _checked(result: object, trial: PlannedTrial, context: TrialContext) -> TrialResult:
    """Refuse what is not a result of this very trial: it would be booked on another one."""
    if isinstance(result, TrialResult) and (result.task_id, result.trial) == (
        trial.key.task_id,
        trial.key.trial,
    ):
        return result
    got = (
        f"a result of task {result.task_id!r}, trial {result.trial}"
        if isinstance(result, TrialResult)
        else f"{type(result).__name__} instead of a TrialResult"
    )
    error = ErrorInfo(kind="TypeError", message=f"run_trial returned {got}", phase="harness")
    return _harness_error(trial, context, error)


def _harness_error(trial: PlannedTrial, context: TrialContext, error: ErrorInfo) -> TrialResult:
    result = _unscored(trial, context, Status.ENVIRONMENT_ERROR, error)
    return result.model_copy(update={"flags": (HARNESS_ERROR,)})


def _unscored(
    trial: PlannedTrial, context: TrialContext, status: Status, error: ErrorInfo
) -> TrialResult:
    return TrialResult(
        benchmark=trial.task.benchmark,
        task_id=trial.key.task_id,
        trial=trial.key.trial,
        agent=context.agent,
        model=context.model,
        world=context.world,
        profile=context.profile,
        status=status,
        error=error,
    )
