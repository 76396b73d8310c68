"""One attempt of browser-use at a task: start, deadline, and the meaning of the end."""

from __future__ import annotations

import asyncio
import inspect
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from bench_core.browser_use.cdp_handlers import fan_out
from bench_core.browser_use.fitted_agent import PromptFilter, agent_class
from bench_core.browser_use.session import (
    PageWatch,
    attached_session,
    browser_answers,
    focused_target,
    watched_pages,
)
from bench_core.browser_use.settings import import_browser_use
from bench_core.browser_use.signals import without_signal_handlers
from bench_core.browser_use.trajectory import Trajectory
from bench_core.browser_use.watch import ModelWatch, Patience
from bench_core.budgets import TRIAL_METER
from bench_core.dialogs import ANSWER_DIALOG
from bench_core.errors import BrowserError
from bench_core.faults import FaultEvidence, fault_of
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import owned_name
from bench_core.records import AgentOutcome, ErrorInfo, Limits, Status
from bench_core.running_time import RUNNING_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.models.prices import Prices
    from bench_core.protocols import BrowserHandle, TrialContext

_CANCEL_S = 4.0
_STEP_S = 3600  # browser-use's own limits must not bite before ours
_STEPS = 30
_DEFAULT_PATIENCE = Patience()


class Attempt:
    """Lets `browser_use.Agent` work once; the browser is not closed.

    Args:
        chat: browser-use's `llm`: `ModelChat`, one of browser-use's own chat classes,
            or a script.
        browser: The browser to work in; the tab of the first start URL is in front.
        context: The trial it works for: its folder gets a trajectory, its meter counts the calls.
        limits: Steps, 30 by default, and seconds from now on.
        patience: Time that a model server is given, unless the chat says so itself.
        prices: Prices calls that do not report their cost.
    """

    def __init__(
        self,
        chat: Any,
        browser: BrowserHandle,
        context: TrialContext,
        *,
        limits: Limits,
        patience: Patience = _DEFAULT_PATIENCE,
        prices: Prices | None = None,
    ) -> None:
        self._chat = chat
        self._browser = browser
        self._meter = context.meter
        self._watch = ModelWatch(
            on_call=context.meter.spend,
            patience=getattr(chat, "patience", patience),
            prices=prices,
            latest=getattr(context.meter, "latest", None),
        )
        self._trajectory = Trajectory(context.folder, self._watch)
        self._max_steps = limits.max_steps or _STEPS
        self._time_limit_s = limits.time_limit_s
        self._began = RUNNING_TIME.seconds()

    async def run(
        self, goal: str, *, exclude_actions: Sequence[str] = (), **options: Any
    ) -> AgentOutcome:
        """Let the agent work until it is done or out of limits, then report how it ended.

        Args:
            goal: The goal, in words; the outcome's answer is its final result.
            exclude_actions: browser-use's actions that it may not take.
            options: Further arguments of `browser_use.Agent`.

        Raises:
            EnvironmentFaultError: The model server failed.
            BrowserError: The browser cannot be reached, or died.
        """
        import_browser_use()
        TRIAL_METER.set(self._meter)
        self._watch.attach(self._chat)
        with fan_out(), without_signal_handlers():
            async with watched_pages(self._browser.cdp_url) as pages:
                self._trajectory.pages = pages
                async with attached_session(self._browser) as session:
                    agent = self._agent(session, pages, goal, exclude_actions, options)
                    pages.stop_with(agent.stop)
                    ending = await self._work(agent)
                    focused = focused_target(session)
                # not before: a run that was cut off goes on as long as its session does
                if not agent.history.is_done() and pages.lost is None:
                    await pages.find_silent(focused)
        return await self._outcome(agent.history, ending, pages.lost)

    def _agent(
        self,
        session: Any,
        pages: PageWatch,
        goal: str,
        exclude_actions: Sequence[str],
        options: dict[str, Any],
    ) -> Any:
        from browser_use import Agent, Tools  # 1.5 s

        if "enable_signal_handler" in inspect.signature(Agent.__init__).parameters:
            options = {**options, "enable_signal_handler": False}
        options = {
            "register_new_step_callback": self._trajectory.see,
            # It would ask for a plan in each step from the fifth on, whether or not one is needed.
            "planning_exploration_limit": 0,
            **options,
        }
        tools: Any = Tools(exclude_actions=list(exclude_actions))

        @tools.action(ANSWER_DIALOG)  # type: ignore[untyped-decorator]  # browser-use's are not typed
        async def answer_dialog(accept: bool, text: str | None = None) -> str:
            return pages.dialogs.answer_next(accept=accept, text=text)

        # browser-use takes its own tool away where every step has a picture, or none has.
        absent = {"screenshot"} if options.get("use_vision", True) != "auto" else set()
        prompts = PromptFilter(
            [*exclude_actions, *absent], str(options.get("extend_system_message") or "")
        )
        agent: Any = agent_class(prompts)(
            task=goal,
            # It becomes part of the name of the folder that browser-use makes: a later start removes
            # that where this process is killed.
            task_id=f"{owned_name('proctor')}-{secrets.token_hex(4)}",
            llm=self._chat,
            browser_session=session,
            tools=tools,
            # On by default, and one more model call per trial.
            use_judge=False,
            # On by default, and opens any URL that the goal mentions.
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
            await asyncio.wait({work}, timeout=self._seconds_left())
            in_time = work.done()
            await self._end(work, agent)
        finally:
            work.cancel()
            # browser-use leaves a folder of its own in the temporary one for each agent.
            remove_folder(agent.agent_directory)
        finished = in_time and not work.cancelled()
        return _Ending(in_time, work.exception() if finished else None)

    def _seconds_left(self) -> float | None:
        if self._time_limit_s is None:
            return None
        return self._began + self._time_limit_s - RUNNING_TIME.seconds()

    async def _end(self, work: asyncio.Future[Any], agent: Any) -> None:
        """Cancel the run if it is still going, and note its last steps."""
        if not work.done():
            agent.stop()
            work.cancel()
            # browser-use may wait for a page that never answers, cancelled or not.
            await asyncio.wait({work}, timeout=_CANCEL_S)
            await agent.eventbus.stop(clear=True, timeout=0)
        await self._trajectory.note(agent)

    async def _outcome(self, history: Any, ending: _Ending, lost: str | None) -> AgentOutcome:
        fault = self._watch.fault
        kind = fault_of(FaultEvidence(fault, budget_spent=True))
        if fault is not None and kind.status is Status.BUDGET_EXCEEDED:
            return self._report(kind.status, error=fault)
        if fault is not None and not kind.scored:
            raise fault
        if history.is_done():
            gave_up = ("gave_up",) if history.is_successful() is False else ()
            return self._report(Status.COMPLETED, answer=history.final_result(), flags=gave_up)
        # Asked last: a browser that is closed after the answer takes nothing from it.
        if not await browser_answers(self._browser.cdp_url):
            raise BrowserError(f"the browser at {self._browser.cdp_url} died during the trial")
        if lost is not None:
            raise BrowserError(lost, fault="page_crashed")
        refused = fault or self._watch.refused
        if refused is not None:
            kind = fault_of(FaultEvidence(refused))
            return self._report(kind.status, error=refused, fault=kind.name)
        return self._at_its_end(history, ending)

    def _at_its_end(self, history: Any, ending: _Ending) -> AgentOutcome:
        """Report an agent that never declared itself done although its browser and model were available."""
        if not ending.in_time:
            return self._report(Status.TIME_LIMIT)
        if self._trajectory.steps >= self._max_steps:
            return self._report(Status.STEP_LIMIT)
        error = ending.crash or _last_error(history)
        kind = fault_of(FaultEvidence(error))
        if not kind.scored:
            raise error
        return self._report(kind.status, error=error, fault=kind.name)

    def _report(
        self,
        status: Status,
        *,
        answer: str | None = None,
        error: BaseException | None = None,
        fault: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> AgentOutcome:
        problem = None
        if error is not None:
            problem = ErrorInfo(
                kind=type(error).__name__, message=str(error), phase="agent", fault=fault
            )
        return AgentOutcome(
            status=status,
            answer=answer,
            steps=self._trajectory.steps,
            usage=self._watch.usage,
            cost_usd=self._watch.cost_usd,
            model_reported=self._watch.model_reported,
            error=problem,
            flags=(*flags, *(("actions_left_out",) if self._trajectory.left_out else ())),
            details={
                "unusable_answers": len(self._watch.bad_answers),
                "retried_calls": self._watch.retries,
            },
        )


class AgentGaveUpError(Exception):
    """browser-use stopped by itself after too many failures in a row."""


class _Ending(NamedTuple):
    """The end of browser-use's run: in time or cut off, and its own error."""

    in_time: bool
    crash: BaseException | None = None


def _last_error(history: Any) -> Exception:
    errors = [each for each in history.errors() if each]
    return AgentGaveUpError(errors[-1] if errors else "browser-use stopped without saying why")


def _take_exception(work: asyncio.Future[Any]) -> None:
    """Take the exception of a run that is no longer awaited, so that asyncio does not log it."""
    if not work.cancelled():
        work.exception()
