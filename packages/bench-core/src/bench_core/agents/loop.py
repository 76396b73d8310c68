"""The loop that turns something that decides one step at a time into an `Agent`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Protocol

from bench_core.agents.ending import answer_from_text, answer_problem
from bench_core.agents.environment import Environment
from bench_core.agents.handles import Connect, connect
from bench_core.agents.records import (
    AIMED,
    EARLIER_FAILED,
    Action,
    ActionResult,
    Decision,
    Done,
    Fail,
    Observation,
    Screenshot,
    by_place,
    unseen,
)
from bench_core.budgets import TRIAL_METER, Spent
from bench_core.errors import AgentError, BenchError
from bench_core.faults import FaultEvidence, fault_of
from bench_core.models.records import ImagePart, picture_bytes
from bench_core.protocols import EnvironmentHandle, Meter, TrialContext
from bench_core.records import (
    AgentOutcome,
    AgentTask,
    ErrorInfo,
    SeenElement,
    Status,
    Step,
    StepView,
    Usage,
)
from bench_core.run_folder.artifacts import TrialArtifacts
from bench_core.trial.agent_work import awaitable_of, error_info
from bench_core.trial.results import USAGE_REPORTED

DEFAULT_STEPS = 30
_KEPT_ELEMENTS = 500
_KEPT_TEXT = 20_000
"""A page of a shop has thousands of links; the kept text of a step stays smaller than its picture."""
_NO_FAIL = "this task has no such ending: call `done` and say in its answer what could not be done"
_MOST_REFUSED = 3
"""So often an ending of another form than the benchmark asks for is refused; then it counts."""


class StepAgent(Protocol):
    """Decides on the next actions; one object works on one trial.

    If it has a method `enter(environment)`, that is awaited once, before the first observation.
    Its dictionary `details`, if any, is kept in the trial's record.
    """

    async def act(self, observation: Observation) -> Decision:
        """Look at `observation` and decide.

        Raises:
            ModelError: The model's provider failed; the trial is not scored.
            AgentError: The agent failed; the end state is scored.
        """
        ...


class LoopAgent:
    """Observes, asks a `StepAgent`, acts, until it is done or out of steps or time.

    Each step is a line of `trajectory.jsonl` with its screenshot in a file.

    Args:
        name: The agent's name in results.
        begin: Makes the `StepAgent` of one trial.
        connect: Turns the handle into an environment.
    """

    def __init__(
        self,
        name: str,
        begin: Callable[[AgentTask, TrialContext], StepAgent],
        *,
        connect: Connect = connect,
    ) -> None:
        self.name = name
        self._begin = begin
        self._connect = connect

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task` until done or out of limits; see `bench_core.protocols.Agent`."""
        meter = _StepMeter(context.meter)
        context = context.with_meter(meter)
        TRIAL_METER.set(meter)  # of the task that the agent works in
        async with self._connect(environment) as live:
            # who decides must know how often, also where neither the run nor the task says it
            most = context.limits.max_steps or task.limits.max_steps or DEFAULT_STEPS
            limits = task.limits.model_copy(update={"max_steps": most})
            limited = task.model_copy(update={"limits": limits})
            trial = _Trial(self._begin(limited, context), live, limited, context, meter)
            try:
                await asyncio.wait_for(trial.loop(), context.limits.time_limit_s)
            except asyncio.TimeoutError:
                trial.status = Status.TIME_LIMIT
            # The agent is foreign code: its exceptions are recorded, unless they are not the agent's fault.
            except Exception as error:
                kind = fault_of(FaultEvidence(error, budget_spent=True))
                if not kind.scored:
                    raise
                own = {"traceback": None} if isinstance(error, BenchError) else {}
                info = error_info(error, "agent").model_copy(update={"fault": kind.name, **own})
                trial.status, trial.error = kind.status, info
            return trial.outcome()


class _StepMeter:
    """The trial's meter, which also adds up the cost of one step."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._calls: list[Spent] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_meter"], name)

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        self._calls.append(Spent.call(usage, cost_usd))
        self._meter.spend(usage, cost_usd)

    def of(self, source: str) -> Meter:
        return self._meter.of(source)

    def counted(self, decision: Decision) -> Decision:
        """Return a decision with its cost; calls that only the agent itself knows of are spent now."""
        calls, self._calls = self._calls, []
        spent = sum(calls, Spent())
        if not calls:
            if decision.usage == Usage() and decision.cost_usd is None:
                return decision
            self._meter.spend(decision.usage, decision.cost_usd)
            return decision.model_copy(update={"flags": (*decision.flags, USAGE_REPORTED)})
        cost_usd = None if spent.unpriced_calls else spent.cost_usd
        return decision.model_copy(update={"usage": spent.usage, "cost_usd": cost_usd})


class _Trial:
    """One trial under way: its status, its steps, its cost."""

    def __init__(
        self,
        stepper: StepAgent,
        live: Environment,
        task: AgentTask,
        context: TrialContext,
        meter: _StepMeter,
    ) -> None:
        self.status = Status.STEP_LIMIT
        self.error: ErrorInfo | None = None
        self._stepper = stepper
        self._live = live
        self._task = task
        self._meter = meter
        self._limit = task.limits.max_steps or DEFAULT_STEPS
        self._artifacts = TrialArtifacts(context.folder)
        self._decisions: list[Decision] = []
        self._answer: Any = None
        self._flags: list[str] = []
        self._refused = 0

    async def loop(self) -> None:
        results: tuple[ActionResult, ...] = ()
        enter = getattr(self._stepper, "enter", None)
        if enter is not None:
            await enter(self._live)
        for number in range(1, self._limit + 1):
            started, clock = datetime.now(timezone.utc), time.monotonic()
            observation = (await self._live.observe()).model_copy(update={"results": results})
            decision: Any = await awaitable_of(self._stepper, self._stepper.act(observation), "act")
            if not isinstance(decision, Decision):  # foreign code may have got it wrong
                raise AgentError(
                    f"`act` of {type(self._stepper).__name__} returned {type(decision).__name__} instead of "
                    "a Decision: write `return Decision(actions=(...,))`"
                )
            decision = self._meter.counted(decision)
            self._decisions.append(decision)
            results, ended = await self._perform(decision)
            self._record(number, started, time.monotonic() - clock, observation, decision, results)
            if ended:
                self.status = Status.COMPLETED
                return

    async def _perform(self, decision: Decision) -> tuple[tuple[ActionResult, ...], bool]:
        """Carry out a decision, with a result for each action, until one ends the task or the turn."""
        results: list[ActionResult] = []
        stopped, asked = "", False
        for action in decision.actions:
            aimed = isinstance(action, AIMED) and (not asked or by_place(action))
            if stopped == EARLIER_FAILED or (stopped and aimed):
                results.append(ActionResult(ok=False, error=stopped, carried_out=False))
            elif isinstance(action, Done | Fail):
                problem = self._end(action)
                if problem is None:
                    return tuple(results), True
                results.append(ActionResult(ok=False, error=problem))
            else:
                results.append(await self._act(action))
            if not results[-1].ok and results[-1].carried_out:
                stopped = EARLIER_FAILED
            elif results[-1].changed:
                # ids and keys mean the tab that the agent itself chose, as long as nothing else has changed
                stopped, asked = unseen(results[-1].changed), results[-1].asked
        return tuple(results), False

    def _end(self, action: Done | Fail) -> str | None:
        """Take an ending, or return the reason why it is refused."""
        if isinstance(action, Done):
            answer = action.answer
            if isinstance(answer, str):
                answer = answer_from_text(self._task, answer)
            problem = answer_problem(self._task, answer)
        else:
            answer = {"gave_up": action.reason}
            problem = None if self._task.can_fail else _NO_FAIL
        if problem is not None:
            self._refused += 1
            if self._refused < _MOST_REFUSED and len(self._decisions) < self._limit:
                return problem
            self._flags.append("malformed_ending")
        if isinstance(action, Fail):
            self._flags.append("gave_up")
        self._answer = answer
        return None

    async def _act(self, action: Action) -> ActionResult:
        if not isinstance(action, Screenshot) or action.tab:
            return await self._live.act(action)
        seen = await self._live.observe()
        if seen.screenshot is None:
            return ActionResult(ok=False, error="there is no screenshot of this environment")
        return ActionResult(image=seen.screenshot, tabs=seen.open_tabs)

    def _record(
        self,
        number: int,
        started: datetime,
        duration_s: float,
        observation: Observation,
        decision: Decision,
        results: tuple[ActionResult, ...],
    ) -> None:
        errors = [each.reason for each in decision.refused]
        errors += [result.error for result in results if result.error]
        for place, result in enumerate(results, 1):
            if result.image is not None:
                self._keep(f"step-{number:03d}-action-{place}", result.image)
        if observation.marked is not None:
            self._keep(f"step-{number:03d}-marked", observation.marked)
        picture = observation.screenshot
        if observation.elements or observation.text or observation.size or observation.notices:
            self._artifacts.append_view(
                StepView(
                    step=number,
                    size=observation.size,
                    tabs=observation.tabs,
                    active_tab=observation.active_tab,
                    elements=tuple(
                        SeenElement(**each.model_dump(exclude={"window"}))
                        for each in observation.elements[:_KEPT_ELEMENTS]
                    ),
                    text=observation.text and observation.text[:_KEPT_TEXT],
                    notices=observation.notices,
                )
            )
        self._artifacts.append_step(
            Step(
                step=number,
                started=started,
                duration_s=duration_s,
                url=observation.url,
                title=observation.title,
                screenshot=picture and self._keep(f"step-{number:03d}", picture),
                thought=decision.thought,
                actions=tuple(a.model_dump(mode="json") for a in decision.actions),
                results=tuple(_recorded(result) for result in results),
                refused=decision.refused,
                error="; ".join(errors) or None,
                usage=decision.usage,
            )
        )

    def _keep(self, name: str, picture: ImagePart) -> str:
        file = f"screenshots/{name}.{picture.media_type.rpartition('/')[2]}"
        return self._artifacts.write_bytes(file, picture_bytes(picture.data))

    def outcome(self) -> AgentOutcome:
        decisions = self._decisions
        costs = [d.cost_usd for d in decisions if d.usage != Usage() or d.cost_usd is not None]
        known = [cost for cost in costs if cost is not None]
        reported = [d.model_reported for d in decisions if d.model_reported]
        flags = dict.fromkeys([*self._flags, *(flag for d in decisions for flag in d.flags)])
        return AgentOutcome(
            status=self.status,
            answer=self._answer,
            steps=len(decisions),
            usage=sum((d.usage for d in decisions), Usage()),
            cost_usd=sum(known) if known and len(known) == len(costs) else None,
            model_reported=reported[-1] if reported else None,
            flags=tuple(flags),
            error=self.error,
            details=dict(getattr(self._stepper, "details", {})),
        )


def _recorded(result: ActionResult) -> str:
    if result.error:
        return result.text or result.error
    return "; ".join(filter(None, (result.text, result.changed)))
