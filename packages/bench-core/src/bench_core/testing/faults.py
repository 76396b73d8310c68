"""Faults that may happen in a trial of any benchmark, and the record that each must leave.

The table is data: `FaultMatrix` holds every benchmark to it, and the documentation prints it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from bench_core.errors import (
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
    InputError,
)
from bench_core.faults import FAULTS as KINDS
from bench_core.faults import FaultKind
from bench_core.protocols import Agent, TrialContext
from bench_core.records import AgentOutcome, AgentTask, Status, Step, Task, Usage
from bench_core.run_folder.artifacts import TrialArtifacts
from bench_core.trial import Benchmark, Evaluation, Evidence, TrialEnvironment
from bench_core.trial.agent_work import NOT_RELEASED
from bench_core.trial.results import NOT_CLOSED, USAGE_REPORTED

__all__ = ["CALL", "CALL_USD", "FAULTS", "Fault", "Hook"]

CALL = Usage(requests=1, input_tokens=100, output_tokens=10)
"""The one model call each faulty agent makes, and reports to the meter, before its fault."""
CALL_USD = 0.25

Hook = Literal["open", "gone", "why_gone", "release", "capture", "close", "evaluate", "check"]
"""The parts of a trial in which a benchmark's own code runs."""

Later = Literal["same", "scored", "no"]
"""The result of scoring the trial again: the same record, a new score, or nothing."""


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, and the row of the table.

    Attributes:
        name: In words with hyphens.
        what: The fault in a sentence.
        kind: The row of `bench_core.faults.FAULTS` that the trial is recorded by; None if it completes.
        flag: A flag of the record in addition to that row's flag; a benchmark may add its own.
        later: The result of scoring again.
        deed: The agent's act after a step and a model call; None: it solves the task.
        metered: Whether the agent reports its call to the meter.
        hook: Which part of the benchmark fails; None: none does.
        error: The error that this part raises; None: it returns `result`.
        result: The value that this part returns instead.
        limit_s: The agent's time.
        out_of_budget: Whether the call spends the run's budget.
    """

    name: str
    what: str
    kind: str | None = None
    flag: str | None = None
    later: Later = "same"
    deed: Callable[[], Awaitable[object]] | None = None
    metered: bool = True
    hook: Hook | None = None
    error: Exception | None = None
    result: object = None
    limit_s: float = 120.0
    out_of_budget: bool = False

    @property
    def row(self) -> FaultKind | None:
        """The fault's row in the table of faults; None if the trial completes."""
        return None if self.kind is None else KINDS[self.kind]

    @property
    def status(self) -> Status:
        """How the trial ends; the status says whether it has a score."""
        return Status.COMPLETED if self.row is None else self.row.status

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the core that the record carries."""
        own = None if self.row is None else self.row.flag
        return tuple(each for each in (self.flag, own) if each)

    @property
    def tries(self) -> int:
        """The number of attempts, 1 or 2, in a run that allows two."""
        return 1 + (self.row is not None and self.row.retry)

    @property
    def solved(self) -> bool:
        """Whether the agent solves the task."""
        return self.deed is None

    @property
    def works(self) -> bool:
        """Whether the agent gets to work."""
        return self.hook != "open"


class FaultyAgent:
    """Makes a model call, then solves its task or acts out a fault.

    Args:
        fault: The fault to act out.
        solver: Solves the task.
        over: Set at the end of the run, to end faults that would not end by themselves.
    """

    name = "faulty"

    def __init__(self, fault: Fault, solver: Agent, over: Callable[[], bool]) -> None:
        self.in_process = getattr(solver, "in_process", False)
        self._fault = fault
        self._solver = solver
        self._over = over

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        """Work on `task`."""
        fault = self._fault
        if fault.deed is None:
            if self._fault.metered:
                context.meter.spend(CALL, CALL_USD)
            outcome = await self._solver.run(task, environment, context)
            own = {} if self._fault.metered else {"usage": CALL, "cost_usd": CALL_USD}
            return outcome.model_copy(update=own)
        TrialArtifacts(context.folder).append_step(Step(step=1))
        context.meter.spend(CALL, CALL_USD)
        if fault.deed is _ignore_cancellation:
            await _ignore_cancellation(self._over)
        return await fault.deed()  # type: ignore[return-value]  # garbage is one of the faults


class FaultyBenchmark:
    """A benchmark one of whose hooks fails.

    Args:
        benchmark: Does everything else.
        fault: Which hook fails and how.
    """

    def __init__(self, benchmark: Benchmark, fault: Fault) -> None:
        self._benchmark = benchmark
        self._fault = fault
        self.name = benchmark.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    def tasks(self) -> Sequence[Task]:
        """Return the benchmark's tasks."""
        return self._benchmark.tasks()

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Open the environment, which fails where the fault says so."""
        fault = self._fault
        if fault.hook == "open":
            await self._fail()
        async with AsyncExitStack() as stack:
            environment = await stack.enter_async_context(
                self._benchmark.open(task, context, agent)
            )
            if fault.hook in {"gone", "why_gone", "release", "capture", "check"}:
                self._spoil(environment, fault.hook)
            yield environment
        if fault.hook == "close":
            await self._fail()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score the trial, or fail."""
        if self._fault.hook == "evaluate":
            return await self._fail()  # type: ignore[no-any-return]
        return await self._benchmark.evaluate(evidence)

    def _spoil(self, environment: TrialEnvironment, hook: str) -> None:
        own, why_gone = getattr(environment, hook), environment.why_gone

        async def why_gone_with_own(*, reported: bool) -> str | None:
            # `why_gone` may ask `check`, which fails only afterwards
            setattr(environment, hook, own)
            found = await why_gone(reported=reported)
            setattr(environment, hook, failing)
            return found

        async def failing(*arguments: Any, **named: Any) -> Any:
            if hook in {"release", "capture"}:  # its own resources are still released
                await own(*arguments, **named)
            return await self._fail()

        environment.why_gone = why_gone_with_own  # type: ignore[method-assign]
        setattr(environment, hook, failing)
        if hook == "why_gone":  # its agent waits until the environment is gone
            environment.gone = _at_once  # type: ignore[method-assign]

    async def _fail(self) -> Any:
        if self._fault.error is not None:
            raise self._fault.error
        return self._fault.result


class WatchedBenchmark(FaultyBenchmark):
    """A benchmark that reports to `said` which hook finds a fault, and the remedy."""

    def __init__(self, benchmark: Benchmark, fault: Fault, said: list[str]) -> None:
        super().__init__(benchmark, fault)
        self._said = said

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Open the environment and watch its hooks."""
        async with AsyncExitStack() as stack:
            try:
                opening = self._benchmark.open(task, context, agent)
                environment = await stack.enter_async_context(opening)
            except Exception as error:
                self._raised("open", error)
                raise
            for hook in ("why_gone", "release", "capture", "check"):
                setattr(environment, hook, self._watched(hook, getattr(environment, hook)))
            yield environment

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score the trial."""
        return await self._watched("evaluate", self._benchmark.evaluate)(evidence)  # type: ignore[no-any-return]

    def _watched(self, hook: Hook, own: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        async def watched(*arguments: Any, **named: Any) -> Any:
            try:
                found = await own(*arguments, **named)
            except Exception as error:
                self._raised(hook, error)
                raise
            if hook == "why_gone" and found is not None:
                self._said.append(
                    f"`why_gone` returned {found!r} although the environment was there: it is called in every "
                    "trial, and returns None unless the environment is gone"
                )
            return found

        return watched

    def _raised(self, hook: Hook, error: Exception) -> None:
        self._said.append(
            f"`{hook}` raised {type(error).__name__} in a trial whose agent did nothing and ended: {error}"
        )


async def _at_once() -> None:
    await asyncio.sleep(0.05)  # the agent has begun


class _MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class _MismatchError(EnvironmentFaultError):
    lasting = True


def _raises(error: BaseException) -> Callable[[], Awaitable[object]]:
    async def deed() -> object:
        raise error

    return deed


def _returns(value: object) -> Callable[[], Awaitable[object]]:
    async def deed() -> object:
        return value

    return deed


def _claims(status: Status) -> Callable[[], Awaitable[object]]:
    return _returns(AgentOutcome(status=status))


async def _wait() -> object:
    return await asyncio.Event().wait()


async def _ignore_cancellation(over: Callable[[], bool] = lambda: True) -> object:
    while not over():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
    return await _wait()


def _agents(name: str, what: str, deed: Callable[[], Awaitable[object]]) -> Fault:
    return Fault(name, f"the agent {what}", "agent_error", deed=deed)


def _harness(name: str, what: str, hook: Hook, *, later: Later = "no", **more: Any) -> Fault:
    """A defect of the benchmark's own code: it is not tried again."""
    return Fault(
        name, what, "harness_error", later=later, hook=hook, error=KeyError("bug"), **more,
    )  # fmt: skip


_DOWN = EnvironmentFaultError("the site is down")
_QUIET_S = 0.5

IDLE = Fault("idle", "nothing: the agent ends at once", deed=_returns(AgentOutcome()))
"""No fault at all: a hook's complaint here is a misreading."""

FAULTS: tuple[Fault, ...] = (
    Fault("nothing-fails", "nothing: the agent solves the task"),
    _agents("agent-raises", "raises an error", _raises(ValueError("bug"))),
    _agents("agent-raises-without-text", "raises an error without a text", _raises(_MuteError())),
    _agents("agent-raises-as-evaluator", "raises an `EvaluationError`", _raises(EvaluationError("mine"))),
    _agents("agent-raises-as-budget", "says that the budget is spent, which it is not", _raises(BudgetExceededError("so it says"))),
    _agents("agent-exits", "calls `sys.exit`", _raises(SystemExit(3))),
    _agents("agent-ends-generator", "raises `GeneratorExit`", _raises(GeneratorExit())),
    _agents("agent-cancels-itself", "cancels itself", _raises(asyncio.CancelledError())),
    _agents("agent-returns-nothing", "returns nothing", _returns(None)),
    _agents("agent-returns-dictionary", "returns something else than an outcome", _returns({"status": "completed"})),
    _agents("agent-claims-environment-error", "reports an `environment_error`", _claims(Status.ENVIRONMENT_ERROR)),
    _agents("agent-claims-evaluation-error", "reports an `evaluation_error`", _claims(Status.EVALUATION_ERROR)),
    _agents("agent-claims-cancellation", "reports that it was cancelled", _claims(Status.CANCELLED)),
    _agents("agent-claims-spent-budget", "reports a spent budget, which it is not", _claims(Status.BUDGET_EXCEEDED)),
    Fault(
        "agent-ends-environment", "the agent ends its environment (a command of its own shows it)",
        "environment_ended", deed=_wait, hook="why_gone", result="the agent closed it",
    ),
    Fault("agent-out-of-steps", "the agent uses all its steps", "step_limit", deed=_claims(Status.STEP_LIMIT)),
    Fault("agent-out-of-time", "the agent uses all its time", "time_limit", deed=_wait, limit_s=_QUIET_S),
    Fault(
        "agent-ignores-cancellation", "the agent uses all its time and ignores its cancellation",
        "time_limit", deed=_ignore_cancellation, limit_s=_QUIET_S,
    ),
    Fault(
        "agent-is-not-metered", "the agent's calls are not metered", flag=USAGE_REPORTED, metered=False,
    ),
    Fault(
        "budget-is-spent", "the run's budget is spent while the agent works", "budget_exceeded",
        deed=_wait, out_of_budget=True, later="no",
    ),
    Fault(
        "model-fails", "the agent's model provider fails", "server",
        deed=_raises(EnvironmentFaultError("status 500", fault="server")), later="no",
    ),
    Fault(
        "model-is-another", "the fault would only be met again (another model answers)",
        "lasting", deed=_raises(_MismatchError("another")), later="no",
    ),
    Fault(
        "input-is-unusable", "what the user gave cannot be used (a key is missing)",
        "input", deed=_raises(InputError("no key")), later="no",
    ),
    Fault(
        "environment-does-not-open", "the environment cannot be opened", "environment",
        hook="open", error=_DOWN, later="no",
    ),
    _harness("opening-has-a-bug", "the code that opens the environment has a bug", "open"),
    Fault(
        "environment-ends", "the environment ends while the agent works", "environment",
        deed=_wait, hook="why_gone", error=EnvironmentFaultError("it died"), later="no",
    ),
    Fault(
        "environment-ends-unseen", "it ends, and nothing says whose doing that was",
        "environment", deed=_wait, hook="why_gone", later="no",
    ),
    _harness("watching-has-a-bug", "the code that watches the environment has a bug", "gone", deed=_wait),
    _harness("blaming-has-a-bug", "the code that says why it ended has a bug", "why_gone", deed=_wait),
    Fault(
        "environment-is-not-released", "it cannot be taken from the agent, which has ended",
        flag=NOT_RELEASED, hook="release", error=_DOWN,
    ),
    Fault(
        "releasing-has-a-bug", "the code that takes it from the agent, which has ended, has a bug",
        flag=NOT_RELEASED, hook="release", error=KeyError("bug"),
    ),
    Fault(
        "environment-is-kept", "it cannot be taken from the agent, which goes on",
        "environment", deed=_ignore_cancellation, hook="release", error=_DOWN,
        limit_s=_QUIET_S, later="no",
    ),
    Fault(
        "capture-fails", "what the agent left cannot be captured", "after_work",
        hook="capture", error=_DOWN, later="scored",
    ),
    Fault(
        "capture-is-undecided", "what it left cannot be scored", "evaluation_error",
        hook="capture", error=EvaluationError("torn"), later="scored",
    ),
    _harness("capture-has-a-bug", "the code that captures has a bug", "capture", later="scored"),
    Fault(
        "environment-does-not-close", "the environment cannot be closed afterwards",
        flag=NOT_CLOSED, hook="close", error=_DOWN,
    ),
    Fault(
        "closing-has-a-bug", "the code that closes it has a bug", flag=NOT_CLOSED,
        hook="close", error=KeyError("bug"),
    ),
    Fault(
        "evaluator-is-down", "the evaluator cannot be reached", "evaluator_down",
        hook="evaluate", error=_DOWN, later="scored",
    ),
    Fault(
        "evaluator-is-undecided", "the evaluator cannot decide", "evaluation_error",
        hook="evaluate", error=EvaluationError("undecided"), later="scored",
    ),
    Fault(
        "evaluator-says-nothing", "the evaluator gives no score and no reason",
        "evaluation_error", hook="evaluate", result=Evaluation(score=None), later="scored",
    ),
    Fault(
        "evaluator-has-a-bug", "the evaluator has a bug", "evaluation_error", hook="evaluate",
        error=KeyError("bug"), later="scored",
    ),
    Fault(
        "judge-spends-the-budget", "the budget is spent while the trial is judged",
        "budget_exceeded", hook="evaluate", error=BudgetExceededError("spent"), later="scored",
    ),
    Fault(
        "environment-was-not-well", "the agent failed, and then the environment is out of order",
        "environment", deed=_returns(AgentOutcome()), hook="check", error=_DOWN,
        later="scored",
    ),
    _harness(
        "checking-has-a-bug", "the agent failed, and the code that looks at it then has a bug",
        "check", deed=_returns(AgentOutcome()), later="scored",
    ),
)  # fmt: skip
"""Every fault of which a benchmark needs to know nothing."""
