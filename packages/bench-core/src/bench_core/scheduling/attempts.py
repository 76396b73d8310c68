"""One attempt at a trial: a deadline it cannot ignore, and a result whatever happens."""

from __future__ import annotations

import asyncio
import enum
from typing import TYPE_CHECKING

from bench_core.faults import FAULTS
from bench_core.records import ErrorInfo, TrialResult
from bench_core.trial.results import conditions, fault_fields, kind_fields, unscored_result

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from bench_core.protocols import TrialContext
    from bench_core.run_spec import PlannedTrial

__all__ = ["RunningAttempt", "StopReason", "conclude"]


class StopReason(enum.Enum):
    """Why an attempt had to stop before it was over; each is a row of `bench_core.faults.FAULTS`."""

    DEADLINE = "hard_deadline"
    CANCELLED = "cancelled"
    BUDGET = "budget_exceeded"
    LEASE_LOST = "lease_lost"


_RULES = frozenset({"profile", "timing"})
"""Conditions of a result that an evaluation may decide."""


class RunningAttempt:
    """An attempt that runs as an asyncio task of its own.

    At its deadline, or when it is stopped, it is cancelled and may clean up for `cancel_grace_s`.
    After that it is abandoned: nothing waits for it any longer.
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
        """Whether the attempt was given up although it is not over."""
        return self._settled.done() and not self.task.done()

    @property
    def reported(self) -> bool:
        """Whether the attempt is over and has returned a result."""
        return self.task.done() and not self.task.cancelled() and self.task.exception() is None

    def stop(self, reason: StopReason) -> None:
        """Cancel the attempt; the first reason counts, and an attempt that is over stays over."""
        if self.task.done() or self.stop_reason is not None:
            return
        self.stop_reason = reason
        self.task.cancel()
        # A task can swallow its cancellation: after the grace it is abandoned instead of awaited.
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
            task.exception()  # looked at here, or asyncio logs those that are never awaited
        if not self._settled.done():
            self._settled.set_result(None)


def conclude(
    attempt: RunningAttempt, trial: PlannedTrial, context: TrialContext, *, out_of_budget: bool
) -> TrialResult:
    """Return the result of an attempt that has settled.

    The result of an attempt after it was stopped, or after its meter refused a call because the budget is
    gone (`out_of_budget`), does not count: that may have spoilt it.
    """
    reason = attempt.stop_reason or (StopReason.BUDGET if out_of_budget else None)
    if reason is not None:
        limit = context.limits.time_limit_s
        message = {
            StopReason.DEADLINE: "hard deadline: the trial did not end by itself"
            + ("" if limit is None else f" after its time limit of {limit:g} s"),
            StopReason.CANCELLED: "the run was stopped",
            StopReason.BUDGET: "the run's budget is spent",
            StopReason.LEASE_LOST: "what the trial held in the cluster may be another's by now: its lease "
            "could not be renewed",
        }[reason]
        if attempt.abandoned:
            message += "; it ignored its cancellation and was abandoned"
        fields = kind_fields(FAULTS[reason.value], ErrorInfo(kind=reason.value, message=message))
        return unscored_result(trial.task, context, fields)
    if attempt.task.cancelled():
        return _harness_error(trial, context, RuntimeError("the trial cancelled itself"))
    raised = attempt.task.exception()
    if raised is not None:
        fault = raised if isinstance(raised, Exception) else RuntimeError(repr(raised))
        found = fault_fields(fault, "environment", after_work=False)
        return unscored_result(trial.task, context, found)
    return _checked(attempt.task.result(), trial, context)


def _checked(result: object, trial: PlannedTrial, context: TrialContext) -> TrialResult:
    """Refuse any object but a result of this very trial: it would be counted for another one."""
    if not isinstance(result, TrialResult):
        # Foreign benchmarks may return anything; a wrong type is their defect, not the agent's.
        problem = f"run_trial returned {type(result).__name__} instead of a TrialResult"
        return _harness_error(trial, context, TypeError(problem))
    wrong = [
        f"{name} {got!r} instead of {wanted!r}"
        for name, wanted in conditions(trial.task, context).items()
        if name not in _RULES and (got := getattr(result, name)) != wanted
    ]
    if not wrong:
        return result
    problem = f"run_trial returned a result of {', '.join(wrong)}"
    return _harness_error(trial, context, TypeError(problem))


def _harness_error(trial: PlannedTrial, context: TrialContext, error: Exception) -> TrialResult:
    fields = fault_fields(error, "harness", after_work=False)
    return unscored_result(trial.task, context, fields)
