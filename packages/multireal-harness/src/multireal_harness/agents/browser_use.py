"""browser-use as an agent: attached to a Chromium of ours, with the settings that compare pinned."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import tempfile
import time
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.artifacts import TrialArtifacts
from bench_core.browser import websocket_url
from bench_core.browser_use import (
    ModelWatch,
    fan_out,
    import_browser_use,
    release_session,
    without_signal_handlers,
)
from bench_core.errors import BrowserError, BudgetExceededError, EnvironmentFaultError, InputError
from bench_core.protocols import BrowserHandle
from bench_core.records import AgentOutcome, ErrorInfo, Status, Step, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentTask

__all__ = ["BrowserUseAgent"]

_ATTACH_S = 30.0
_CANCEL_S = 4.0
_STEP_S = 3600  # browser-use's own limits must not bite before ours
_STEPS = 30
# Scripts in the page could write the state itself; a search or a file is no part of any app.
_EXCLUDED = ["search", "evaluate", "write_file", "read_file", "replace_file", "upload_file"]
_HINT = """
The apps of the task are open in one tab each; use one tab per app. Work only with what the apps show.
"""


class BrowserUseAgent:
    """Runs `browser_use.Agent` with one action per step.

    Args:
        chat: What it calls its `llm`: `bench_core.browser_use.ModelChat`, one of browser-use's own
            chat classes, or a script.
        use_vision: Whether the model sees screenshots.
    """

    name = "browser-use"

    def __init__(self, chat: Any, *, use_vision: bool = True) -> None:
        self._chat = chat
        self._use_vision = use_vision

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on the task; see `bench_core.protocols.Agent`.

        Raises:
            InputError: There is no model, or browser-use is not installed.
            EnvironmentFaultError: The model server failed or the browser is gone.
        """
        if not isinstance(environment, BrowserHandle):
            raise InputError(f"the agent {self.name!r} needs a browser, not a {environment.kind}")
        if self._chat is None:
            raise InputError(f"the agent {self.name!r} needs a model: pass --model")
        import_browser_use()
        watch = ModelWatch(on_call=context.meter.spend, **_patience_of(self._chat))
        watch.attach(self._chat)
        try:
            with fan_out(), without_signal_handlers():
                async with _session(environment) as session:
                    attempt = _Attempt(self._agent(task, session, watch), watch, task, context)
                    return await attempt.run()
        finally:
            if hasattr(self._chat, "aclose"):
                await self._chat.aclose()

    def _agent(self, task: AgentTask, session: Any, watch: ModelWatch) -> Any:
        from browser_use import Agent, Tools  # noqa: PLC0415  # 1.5 s

        options: dict[str, Any] = {}
        if "enable_signal_handler" in inspect.signature(Agent.__init__).parameters:
            options["enable_signal_handler"] = False
        apps = "\n".join(f"{name}: {url}" for name, url in _apps(task).items())
        agent: Any = Agent(
            task=f"{task.goal}\n\nApps:\n{apps}",
            llm=self._chat,
            browser_session=session,
            tools=Tools(exclude_actions=_EXCLUDED),
            extend_system_message=_HINT,
            use_vision=self._use_vision,
            use_judge=False,
            directly_open_url=False,
            calculate_cost=False,
            max_actions_per_step=1,
            llm_timeout=_STEP_S,
            step_timeout=_STEP_S,
            **options,
        )
        watch.stop_with(agent.stop)
        if hasattr(self._chat, "attach"):
            self._chat.attach(session)
        return agent


class _Attempt:
    """One run of browser-use: its deadline, its steps on disk, and what its end means."""

    def __init__(
        self, agent: Any, watch: ModelWatch, task: AgentTask, context: TrialContext
    ) -> None:
        self._agent = agent
        self._watch = watch
        self._artifacts = TrialArtifacts(context.folder)
        self._time_s = context.limits.time_limit_s or task.limits.time_limit_s
        self._most_steps = context.limits.max_steps or task.limits.max_steps or _STEPS
        self._noted = 0
        self._steps = 0
        self._counted = Usage()

    async def run(self) -> AgentOutcome:
        work = asyncio.ensure_future(
            self._agent.run(max_steps=self._most_steps, on_step_end=self._note)
        )
        began = time.monotonic()
        try:
            await asyncio.wait({work}, timeout=self._time_s)
            in_time = work.done()
            if not in_time:
                self._agent.stop()
                work.cancel()
                await asyncio.wait({work}, timeout=_CANCEL_S)
                await self._agent.eventbus.stop(clear=True, timeout=0)
            await self._note(self._agent)
        finally:
            work.cancel()
            shutil.rmtree(self._agent.agent_directory, ignore_errors=True)
        crash = work.exception() if work.done() and not work.cancelled() else None
        return self._outcome(crash, in_time=in_time, seconds=time.monotonic() - began)

    def _outcome(
        self, crash: BaseException | None, *, in_time: bool, seconds: float
    ) -> AgentOutcome:
        fault, history = self._watch.fault, self._agent.history
        if isinstance(fault, EnvironmentFaultError):
            raise fault
        if isinstance(fault, BudgetExceededError):
            return self._report(Status.BUDGET_EXCEEDED, fault)
        if history.is_done():
            return self._report(Status.COMPLETED, answer=history.final_result())
        if not in_time:
            if self._watch.never_answered:
                raise EnvironmentFaultError(f"the model did not answer once in {seconds:.0f} s")
            return self._report(Status.TIME_LIMIT)
        if self._steps >= self._most_steps:
            return self._report(Status.STEP_LIMIT)
        errors = [each for each in history.errors() if each]
        said = errors[-1] if errors else "browser-use stopped without saying why"
        return self._report(Status.AGENT_ERROR, fault or crash or _GaveUpError(said))

    def _report(
        self, status: Status, error: BaseException | None = None, answer: str | None = None
    ) -> AgentOutcome:
        problem = None
        if error is not None:
            problem = ErrorInfo(kind=type(error).__name__, message=str(error), phase="agent")
        return AgentOutcome(
            status=status,
            answer=answer,
            steps=self._steps,
            usage=self._watch.usage,
            cost_usd=self._watch.cost_usd,
            model_reported=self._watch.model_reported,
            error=problem,
            details={"unusable_answers": len(self._watch.bad_answers)},
        )

    async def _note(self, agent: Any) -> None:
        """Write what the history has gained; browser-use calls it after each step."""
        items = agent.history.history
        for item in items[self._noted :]:
            if item.metadata is not None:  # it ends a run out of steps with a bare error
                self._steps += 1
                self._artifacts.append_step(self._step(item))
        self._noted = len(items)

    def _step(self, item: Any) -> Step:
        output, times = item.model_output, item.metadata
        errors = [each.error for each in item.result if each.error]
        actions = tuple(
            each.model_dump(mode="json", exclude_unset=True)
            for each in (output.action if output else ())
        )
        return Step(
            step=self._steps,
            started=datetime.fromtimestamp(times.step_start_time, timezone.utc),
            duration_s=max(0.0, times.duration_seconds),
            url=item.state.url or None,
            title=item.state.title or None,
            screenshot=self._screenshot(item.state.screenshot_path),
            thought=(output.next_goal or None) if output else None,
            actions=actions,
            results=tuple(each.extracted_content for each in item.result if each.extracted_content),
            error="; ".join(errors) or None,
            usage=self._usage_since(),
        )

    def _screenshot(self, taken: str | None) -> str | None:
        if not taken or not Path(taken).is_file():
            return None
        name = f"screenshots/step-{self._steps:03d}.png"
        return self._artifacts.write_bytes(name, Path(taken).read_bytes())

    def _usage_since(self) -> Usage:
        now, before = self._watch.usage, self._counted
        self._counted = now
        fields = type(now).model_fields
        return Usage(**{each: getattr(now, each) - getattr(before, each) for each in fields})


class _GaveUpError(Exception):
    """browser-use stopped by itself."""


@asynccontextmanager
async def _session(handle: BrowserHandle) -> AsyncIterator[Any]:
    """Attach to the browser with the first app's tab in front, and let go of it at the end."""
    from browser_use import BrowserProfile, BrowserSession  # noqa: PLC0415  # 1.5 s

    width, height = handle.viewport
    with tempfile.TemporaryDirectory(
        prefix="proctor-agent-", ignore_cleanup_errors=True
    ) as scratch:
        profile = BrowserProfile(
            cdp_url=await websocket_url(handle.cdp_url),
            is_local=False,
            keep_alive=True,
            enable_default_extensions=False,
            captcha_solver=False,
            downloads_path=Path(scratch) / "downloads",
            user_data_dir=Path(scratch) / "profile",
            viewport={"width": width, "height": height},
            no_viewport=False,
        )
        session = BrowserSession(browser_profile=profile)
        try:
            await _start(session, handle)
            yield session
        finally:
            await release_session(session)


async def _start(session: Any, handle: BrowserHandle) -> None:
    from browser_use.browser.events import SwitchTabEvent  # noqa: PLC0415  # 1.5 s

    try:
        await asyncio.wait_for(session.start(), _ATTACH_S)
        for tab in await session.get_tabs():
            if tab.url.rstrip("/") == handle.start_urls[0].rstrip("/"):
                await session.event_bus.dispatch(SwitchTabEvent(target_id=tab.target_id))
                return
    except (TimeoutError, RuntimeError, ConnectionError, OSError) as error:
        raise BrowserError(f"browser-use cannot attach to {handle.cdp_url}: {error}") from error


def _apps(task: AgentTask) -> dict[str, Any]:
    apps = task.inputs.get("apps")
    return apps if isinstance(apps, dict) else {}


def _patience_of(chat: Any) -> dict[str, Any]:
    patience = getattr(chat, "patience", None)
    return {} if patience is None else {"patience": patience}
