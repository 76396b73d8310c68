"""One attempt of browser-use at a task: start, deadline, and what the end means."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from bench_core.browser_use import ModelWatch, fan_out, without_signal_handlers
from bench_core.errors import BrowserError, BudgetExceededError, EnvironmentFaultError
from bench_core.models import published_prices
from bench_core.records import AgentOutcome, ErrorInfo, Status
from webarena_runner.agents.declaration import Declaration, instructions
from webarena_runner.agents.session import attached_session, browser_answers
from webarena_runner.agents.trajectory import Trajectory

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.protocols import BrowserHandle, TrialContext
    from bench_core.records import AgentTask
    from webarena_runner.agents.browser_use import AgentSettings

__all__ = ["Attempt"]

_CANCEL_S = 4.0
_STEP_S = 3600  # browser-use's own limits must not bite before ours


class Attempt:
    """Runs `browser_use.Agent` once; the browser stays with its owner."""

    def __init__(
        self,
        task: AgentTask,
        browser: BrowserHandle,
        context: TrialContext,
        chat: Any,
        settings: AgentSettings,
    ) -> None:
        self._task = task
        self._browser = browser
        self._context = context
        self._chat = chat
        self._settings = settings
        self._watch = ModelWatch(
            on_call=context.meter.spend,
            patience=getattr(chat, "patience", settings.patience),
            prices=published_prices(),
        )
        self._trajectory = Trajectory(context.folder, self._watch)
        self._deadline = time.monotonic() + self._time_limit_s

    async def run(self) -> AgentOutcome:
        """Let the agent work until it is done or out of limits, then say how it went."""
        self._watch.attach(self._chat)
        with fan_out(), without_signal_handlers():
            async with attached_session(self._browser) as session:
                agent = self._agent(session)
                ending = await self._work(agent)
        return await self._outcome(agent.history, ending)

    @property
    def _time_limit_s(self) -> float:
        given = (self._task.limits.time_limit_s, self._context.limits.time_limit_s)
        return min(
            (each for each in given if each is not None), default=self._settings.time_limit_s
        )

    @property
    def _max_steps(self) -> int:
        given = (self._task.limits.max_steps, self._context.limits.max_steps)
        return min((each for each in given if each is not None), default=self._settings.max_steps)

    @property
    def _instructions(self) -> str:
        sites: Any = self._task.inputs.get("sites") or ()
        return instructions(sites, self._browser.start_urls)

    def _agent(self, session: Any) -> Any:
        from browser_use import Agent, Tools  # noqa: PLC0415  # 1.5 s

        options: dict[str, Any] = {}
        if "enable_signal_handler" in inspect.signature(Agent.__init__).parameters:
            options["enable_signal_handler"] = False
        agent: Any = Agent(
            task=self._task.goal,
            llm=self._chat,
            browser_session=session,
            tools=Tools(exclude_actions=["search"]),  # it would ask a search engine outside
            output_model_schema=Declaration,
            extend_system_message=self._instructions,
            use_vision=self._settings.use_vision,
            use_judge=False,
            directly_open_url=False,
            calculate_cost=False,
            llm_timeout=_STEP_S,
            step_timeout=_STEP_S,
            **options,
        )
        agent.extraction_schema = None  # 0.11 would extract every page in the answer's format
        self._watch.stop_with(agent.stop)
        if hasattr(self._chat, "attach"):
            self._chat.attach(session)
        return agent

    async def _work(self, agent: Any) -> _Ending:
        """Run the agent until it ends or its time is up; a run that does not stop is left."""
        work = asyncio.ensure_future(
            agent.run(max_steps=self._max_steps, on_step_end=self._trajectory.note)
        )
        work.add_done_callback(_take_exception)
        try:
            await asyncio.wait({work}, timeout=self._deadline - time.monotonic())
            in_time = work.done()
            await self._end(work, agent)
        finally:
            work.cancel()
            shutil.rmtree(agent.agent_directory, ignore_errors=True)
        return _Ending(in_time, work.exception() if in_time else None)

    async def _end(self, work: asyncio.Future[Any], agent: Any) -> None:
        """Cut the run off if it still goes on, and note its last steps."""
        if not work.done():
            agent.stop()
            work.cancel()
            await asyncio.wait({work}, timeout=_CANCEL_S)
            await agent.eventbus.stop(clear=True, timeout=0)
        await self._trajectory.note(agent)

    async def _outcome(self, history: Any, ending: _Ending) -> AgentOutcome:
        fault = self._watch.fault
        if isinstance(fault, EnvironmentFaultError):
            raise fault
        if isinstance(fault, BudgetExceededError):
            return self._report(Status.BUDGET_EXCEEDED, error=fault)
        if history.is_done():
            return self._report(Status.COMPLETED, answer=_answer(history.final_result()))
        if not await browser_answers(self._browser.cdp_url):
            raise BrowserError(f"the browser at {self._browser.cdp_url} died during the trial")
        if not ending.in_time:
            return self._out_of_time()
        if self._trajectory.steps >= self._max_steps:
            return self._report(Status.STEP_LIMIT)
        return self._report(Status.AGENT_ERROR, error=fault or ending.crash or _last_error(history))

    def _out_of_time(self) -> AgentOutcome:
        if self._watch.never_answered:
            raise EnvironmentFaultError(
                f"the model server of {self._chat.provider}:{self._chat.model} did not answer once "
                f"in {self._time_limit_s:g} s"
            )
        return self._report(Status.TIME_LIMIT)

    def _report(
        self, status: Status, *, answer: JsonValue = None, error: BaseException | None = None
    ) -> AgentOutcome:
        problem = None
        if error is not None:
            problem = ErrorInfo(kind=type(error).__name__, message=str(error), phase="agent")
        return AgentOutcome(
            status=status,
            answer=answer,
            steps=self._trajectory.steps,
            usage=self._watch.usage,
            cost_usd=self._watch.cost_usd,
            model_reported=self._watch.model_reported,
            error=problem,
            details={"unusable_answers": len(self._watch.bad_answers)},
        )


class _Ending(NamedTuple):
    """How browser-use's run ended: in time or cut off, and with which error of its own."""

    in_time: bool
    crash: BaseException | None = None


class GaveUpError(Exception):
    """browser-use stopped by itself after too many failures in a row."""


def _last_error(history: Any) -> Exception:
    errors = [each for each in history.errors() if each]
    return GaveUpError(errors[-1] if errors else "browser-use stopped without saying why")


def _answer(final_result: str | None) -> JsonValue:
    """Return the declared answer, or the bare text when it does not fit the declaration."""
    if final_result is None:
        return None
    try:
        return Declaration.model_validate_json(final_result).as_response()
    except ValidationError:
        return final_result


def _take_exception(work: asyncio.Future[Any]) -> None:
    """Take the exception of a run nobody waits for, so that asyncio does not complain."""
    if not work.cancelled():
        work.exception()
