"""The agent's part of a trial: its limits, its end, and who caused that."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from bench_core.budgets import TRIAL_METER
from bench_core.errors import (
    AgentError,
    EnvironmentFaultError,
)
from bench_core.faults import FaultEvidence, fault_of
from bench_core.protocols import AgentProcessError, LatestCall
from bench_core.records import AgentOutcome, ErrorInfo, Status
from bench_core.records.vocabulary import flags_from_agent
from bench_core.source_lines import own_line
from bench_core.trial.hooks import TrialEnvironment
from bench_core.trial.own_accord import bordered

if TYPE_CHECKING:
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentTask
    from bench_core.running_time import SuspensionWatch

T = TypeVar("T")

NOT_RELEASED = "not_released"
"""Flags results whose environment could not be taken from an agent that had ended by then."""

ENVIRONMENT_CLOSED = "EnvironmentClosed"
"""Kind of the error of an agent that ended its environment."""

_UNSCORED = AgentOutcome(status=Status.ENVIRONMENT_ERROR)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentLimits:
    """How patient a trial is with its agent, in seconds.

    Attributes:
        overtime_s: How long after its time limit it may take to end by itself, whose report says
            more than a cut-off does.
        stop_s: How long it may take to end after it was asked to.
        fallback_s: Its time if the trial has no time limit; None means no limit, and in a run that of
            its timeouts.
    """

    overtime_s: float = 10.0
    stop_s: float = 5.0
    fallback_s: float | None = None


@dataclass(frozen=True)
class AgentWork:
    """How the agent's part ended.

    Attributes:
        outcome: The agent's report, or the one recorded in its place.
        fault: Why the trial has no score although the agent worked; None if it has one.
        claimed: Whether the agent itself raised that.
    """

    outcome: AgentOutcome
    fault: Exception | None = None
    claimed: bool = False


async def run_agent(
    agent: Agent,
    task: AgentTask,
    environment: TrialEnvironment,
    context: TrialContext,
    limits: AgentLimits,
    suspended: SuspensionWatch | None = None,
) -> AgentWork:
    """Let `agent` work on `task` until it ends, its time is over or the environment is gone.

    A failure is the agent's only if its own act shows: its exception, its report, or that
    it ended the environment. The environment is taken from an agent before it is cancelled.
    Suspended work is ended early: it is tried again in any case.
    """
    limit = context.limits.time_limit_s
    time_s = limits.fallback_s if limit is None else limit + limits.overtime_s
    work = asyncio.create_task(_run(agent, task, environment, context))
    gone = _ending_of(environment)
    halt = [] if suspended is None else [asyncio.create_task(suspended.wait())]
    fault: Exception | None = None
    try:
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait([work, *gone, *halt], timeout=time_s, return_when=first)
        latest = replace(_latest(context))  # ending it may take until there is an answer
        if not work.done() and any(each.done() for each in gone):
            # its own report says more than that its environment is gone
            await asyncio.wait([work], timeout=limits.stop_s)
        ended, lost = work.done(), [each for each in gone if each.done()]
    finally:
        for each in [*halt, *gone]:
            await _end(each, limits.stop_s)
        try:
            await bordered(environment.release, "the benchmark's `release`")
        except Exception as error:  # noqa: BLE001  # a plugin's; the agent's acts are recorded all the same
            fault = error
        await _end(work, limits.stop_s)
        await _finish(context)
    done = _reported(work, context) if ended else settled(_out_of_time(work), latest)
    if fault is not None and not work.done():
        return AgentWork(done.outcome, fault)  # it may go on, and change the state that is captured
    if fault is not None:
        _log.warning("the environment could not be taken from the agent", exc_info=fault)
        environment.flags[NOT_RELEASED] = None
    try:
        for each in lost:
            each.result()
        reported = ended and not work.cancelled() and work.exception() is None
        act = await bordered(
            lambda: environment.why_gone(reported=reported), "the benchmark's `why_gone`"
        )
    except Exception as error:  # noqa: BLE001  # as above; no failure of the agent's shows
        return AgentWork(done.outcome, error)
    if act is not None:
        return AgentWork(_failed(ENVIRONMENT_CLOSED, act, "environment_ended"))
    if lost and not ended:
        unseen = EnvironmentFaultError("the environment ended, and nothing says whose doing it was")
        return AgentWork(done.outcome, unseen)
    return done


def _ending_of(environment: TrialEnvironment) -> list[asyncio.Task[None]]:
    """Watch for the end of an environment, if it can end."""
    # Most environments cannot end by themselves: no task for those.
    if getattr(environment.gone, "__func__", None) is TrialEnvironment.gone:
        return []
    return [asyncio.create_task(bordered(environment.gone, "the benchmark's `gone`"))]


async def _run(
    agent: Agent,
    task: AgentTask,
    environment: TrialEnvironment,
    context: TrialContext,
) -> AgentOutcome:
    def begin() -> Awaitable[AgentOutcome]:
        TRIAL_METER.set(context.meter)  # in a task of its own
        return awaitable_of(agent, agent.run(task, environment.handle, context))

    return await bordered(begin, "the agent", AgentError)


async def _end(task: asyncio.Task[object], grace_s: float) -> None:
    """Cancel a task and wait a while; one that ignores it is left alone."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=grace_s)
    if task.done() and not task.cancelled():
        task.exception()  # looked at here, or asyncio complains


async def _finish(context: TrialContext) -> None:
    while context.afterwards:
        await context.afterwards.pop()()


def _out_of_time(work: asyncio.Task[AgentOutcome]) -> AgentOutcome:
    """Return the record of an agent that was cut off, with the reason it had to be ended for."""
    raised = work.exception() if work.done() and not work.cancelled() else None
    hung = raised.info if isinstance(raised, AgentProcessError) else None
    return AgentOutcome(status=Status.TIME_LIMIT, error=hung)


def _reported(work: asyncio.Task[AgentOutcome], context: TrialContext) -> AgentWork:
    """Return the record of an agent that ended by itself."""
    if work.cancelled():
        return AgentWork(_failed("CancelledError", "the agent cancelled itself"))
    error = work.exception()
    if error is None:
        return settled(_checked(work.result(), context), _latest(context))
    if not isinstance(error, Exception):
        raise error
    kind = fault_of(FaultEvidence(error, budget_spent=_budget_is_spent(context)))
    if kind.status is Status.BUDGET_EXCEEDED:
        return AgentWork(AgentOutcome(status=kind.status))
    if not kind.scored:
        return AgentWork(_UNSCORED, error, claimed=True)
    if isinstance(error, AgentProcessError):
        outcome = AgentOutcome(status=kind.status, error=error.info, flags=error.flags)
    else:
        info = error_info(error, "agent").model_copy(update={"fault": kind.name})
        outcome = AgentOutcome(status=kind.status, error=info)
    return settled(outcome, _latest(context))


def settled(outcome: AgentOutcome, latest: LatestCall) -> AgentWork:
    """Return how an agent's part ended, which may have been the doing of its model's provider."""
    out_of_time = outcome.status is Status.TIME_LIMIT
    unserved = latest.waited_for if out_of_time else latest.unserved
    if unserved is None or outcome.status is Status.COMPLETED or not outcome.status.scored:
        return AgentWork(outcome)
    error = outcome.error or ErrorInfo(kind=outcome.status.value, message=outcome.status.value)
    said = AgentError(fault=error.fault)
    kind = fault_of(FaultEvidence(said, ended=outcome.status, unserved=unserved))
    if not kind.scored:
        why = f"the model's provider failed ({unserved}), and then the agent: {error.message}"
        return AgentWork(outcome, EnvironmentFaultError(why, fault=kind.name), claimed=True)
    if outcome.error is not None or kind.name != outcome.status.value:
        named = error.model_copy(update={"fault": kind.name})
        outcome = outcome.model_copy(update={"error": named})
    return AgentWork(outcome)


def _latest(context: TrialContext) -> LatestCall:
    latest: LatestCall | None = getattr(context.meter, "latest", None)  # foreign meters may lack it
    return latest or LatestCall()


def _checked(outcome: object, context: TrialContext) -> AgentOutcome:
    """Refuse reports that agents must not make: they would take a failure out of the rate."""
    if not isinstance(outcome, AgentOutcome):
        kind = type(outcome).__name__
        return _failed("TypeError", f"the agent returned {kind} instead of an AgentOutcome")
    outcome = outcome.model_copy(update={"flags": flags_from_agent(outcome.flags)})
    if outcome.status.scored:
        return outcome
    if outcome.status is Status.BUDGET_EXCEEDED and _budget_is_spent(context):
        return outcome
    problem = f"the agent reported {outcome.status.value!r}, which is not for an agent to say"
    failed = _failed("AgentError", problem)
    return outcome.model_copy(update={"status": failed.status, "error": failed.error})


def _budget_is_spent(context: TrialContext) -> bool:
    return bool(getattr(context.meter, "stopped", False))


def _failed(kind: str, message: str, fault: str = "agent_error") -> AgentOutcome:
    error = ErrorInfo(kind=kind, message=message, phase="agent", fault=fault)
    return AgentOutcome(status=Status.AGENT_ERROR, error=error)


def awaitable_of(agent: object, work: Awaitable[T] | object, method: str = "run") -> Awaitable[T]:
    """Return the work that an agent's method began.

    Raises:
        AgentError: It has begun none: the method is not an `async def`.
    """
    if isinstance(work, Awaitable):
        return work
    kind = type(agent).__name__
    raise AgentError(
        f"`{method}` of {kind} returned {type(work).__name__} at once: write `async def {method}`"
    )


def error_info(error: BaseException, phase: str | None = None) -> ErrorInfo:
    """Describe an exception, even one whose text cannot be had."""
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        return _nothing_next(error.__cause__, phase)
    kind = type(error).__name__
    try:
        message = str(error) or kind
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception as broken:  # noqa: BLE001  # foreign code runs in __str__
        message, trace = f"{kind}, whose text raises {type(broken).__name__}", None
    return ErrorInfo(kind=kind, message=message, phase=phase, traceback=trace)


def _nothing_next(error: StopIteration, phase: str | None) -> ErrorInfo:
    """Describe a `next` that found nothing; Python reports that a coroutine raised StopIteration."""
    where = own_line(error)
    return ErrorInfo(
        kind="StopIteration",
        message=f"nothing was left for `next`{f' in {where}' if where else ''}; "
        "`next(..., None)` gives None then",
        phase=phase,
        traceback="".join(traceback.format_exception(error)),
    )
