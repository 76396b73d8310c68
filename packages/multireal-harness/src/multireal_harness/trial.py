"""One trial: open the apps, let the agent work, take the end states however it ended."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from bench_core.errors import BudgetExceededError, EnvironmentFaultError, InputError
from bench_core.protocols import BrowserHandle
from bench_core.records import AgentOutcome, ErrorInfo, Status
from multireal_harness.capture import CaptureSettings, capture_states, close_pages
from multireal_harness.guard import PathGuard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, Task
    from multireal_harness.agents.seating import Seat
    from multireal_harness.browsers import Browsers, Lease
    from multireal_harness.capture import Capture
    from multireal_harness.definitions import Definition, Site

__all__ = ["AppTrial", "TrialSettings"]

_NOT_THE_AGENTS_FAULT = (EnvironmentFaultError, BudgetExceededError)
_BAD_STATUS = 400


@dataclass(frozen=True)
class TrialSettings:
    """How apps are opened and how long the parts around the agent may take, in seconds.

    Attributes:
        config: What every app is configured with; never a run id, so that no leaderboard hears of it.
        track: Whether `/finish` is loaded once before the agent starts, as REAL's own harness does.
        overtime_s: How long after its time limit an agent may take to end by itself.
    """

    config: tuple[tuple[str, str], ...] = (("latency", "0"), ("removePopup", "true"))
    track: bool = True
    open_s: float = 60.0
    overtime_s: float = 10.0
    stop_agent_s: float = 5.0
    capture: CaptureSettings = CaptureSettings()  # noqa: RUF009  # immutable


@dataclass
class AppTrial:
    """One attempt at `task`; what it finds out fills in while it runs.

    Attributes:
        states: App id to end state, for the apps that gave one.
        captures: How each app's capture went.
        fault: Why the trial cannot be scored although it got as far as the agent.
    """

    task: Task
    definition: Definition
    seat: Seat
    context: TrialContext
    settings: TrialSettings
    timings: dict[str, float] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    captures: tuple[Capture, ...] = ()
    fault: Exception | None = None
    browser: str = ""
    closed_by_agent: bool = False

    def __post_init__(self) -> None:
        self.guard = PathGuard(site.origin for site in self.definition.sites)

    async def run(self, browsers: Browsers) -> AgentOutcome:
        """Do all of it.

        Raises:
            EnvironmentFaultError: An app or Chromium failed before the agent had started.
        """
        began = _now()
        async with browsers.lend(alone=self.seat.alone) as lease:
            self.browser = lease.version
            if lease.alone and lease.chromium.pid is not None:
                self.context.processes.own(lease.chromium.pid)
            await self.guard.install(lease.context)
            await self._open_apps(lease)
            self.timings["environment"] = _now() - began
            began = _now()
            self.guard.arm()
            outcome = await self._agent(lease, browsers)
            self.guard.disarm()
            self.timings["agent"] = _now() - began
            await self._capture(lease)
        return outcome

    async def _open_apps(self, lease: Lease) -> None:
        """Configure every app and show its start page, one page each."""
        sites = self.definition.sites
        first = lease.context.pages[:1]
        pages = first + [await lease.context.new_page() for _ in sites[len(first) :]]
        if lease.alone:  # a shared Chromium's contexts have their size already
            width, height = self.seat.viewport
            for page in pages:
                await page.set_viewport_size({"width": width, "height": height})
        opened = (self._open_app(page, site) for page, site in zip(pages, sites, strict=True))
        for fault in await asyncio.gather(*opened, return_exceptions=True):
            if fault is not None:
                raise fault
        await pages[0].bring_to_front()

    async def _open_app(self, page: Any, site: Site) -> None:
        query = {"run_id": "0", "task_id": self.definition.id, **dict(self.settings.config)}
        await self._load(page, f"{site.origin}/config?{urlencode(query)}", site)
        if self.settings.track:
            await self._load(page, f"{site.origin}/finish", site)
        await self._load(page, site.origin, site)

    async def _load(self, page: Any, url: str, site: Site) -> None:
        from playwright.async_api import Error  # noqa: PLC0415  # loaded with the browser

        try:
            answer = await page.goto(url, timeout=self.settings.open_s * 1000)
        except Error as error:
            reason = str(error).splitlines()[0]
            raise EnvironmentFaultError(f"the app {site.id!r} is down: {reason}") from error
        if answer is not None and answer.status >= _BAD_STATUS:
            raise EnvironmentFaultError(
                f"the app {site.id!r} is down: {url} answers with status {answer.status}"
            )

    async def _agent(self, lease: Lease, browsers: Browsers) -> AgentOutcome:
        handle = BrowserHandle(
            cdp_url=lease.chromium.cdp_url,
            start_urls=tuple(site.origin for site in self.definition.sites),
            viewport=browsers.settings.viewport,
        )
        agent = self.seat.agent(lease)
        work = asyncio.create_task(agent.run(self._for_agent(), handle, self.context))
        closed = asyncio.create_task(lease.chromium.wait_closed())
        try:
            await asyncio.wait(
                {work, closed}, timeout=self._time_s(), return_when=asyncio.FIRST_COMPLETED
            )
            if closed.done() and not work.done():
                await asyncio.wait({work}, timeout=self.settings.stop_agent_s)
            return self._outcome(work, lease)
        finally:
            closed.cancel()
            await self._stop(work)

    async def _stop(self, work: asyncio.Task[AgentOutcome]) -> None:
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=self.settings.stop_agent_s)
        if work.done() and not work.cancelled():
            work.exception()  # looked at here, or asyncio complains

    def _outcome(self, work: asyncio.Task[AgentOutcome], lease: Lease) -> AgentOutcome:
        if not lease.chromium.alive:
            return self._without_browser(lease)
        if not work.done():
            return AgentOutcome(status=Status.TIME_LIMIT)
        if work.cancelled():
            return _failed("CancelledError", "the agent cancelled itself")
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise error
        if isinstance(error, _NOT_THE_AGENTS_FAULT):
            self.fault = error
            return AgentOutcome(status=Status.AGENT_ERROR)
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return _failed(type(error).__name__, str(error) or type(error).__name__, "".join(lines))

    def _without_browser(self, lease: Lease) -> AgentOutcome:
        """A browser that ends with code 0 was closed by the agent, any other way it crashed."""
        if lease.chromium.exit_code != 0 or not lease.alone:
            lease.chromium.check_alive()
        self.closed_by_agent = True
        return _failed(
            "BrowserClosed", "the agent closed its browser, and its apps' states with it"
        )

    def _time_s(self) -> float | None:
        limit = self.context.limits.time_limit_s
        return None if limit is None else limit + self.settings.overtime_s

    def _for_agent(self) -> AgentTask:
        apps: dict[str, Any] = {site.name or site.id: site.origin for site in self.definition.sites}
        update = {"inputs": {"apps": apps}, "limits": self.context.limits}
        return self.task.for_agent().model_copy(update=update)

    async def _capture(self, lease: Lease) -> None:
        from playwright.async_api import Error  # noqa: PLC0415  # loaded with the browser

        if self.closed_by_agent:
            return
        began = _now()
        sites: Sequence[Site] = self.definition.sites
        try:
            await close_pages(lease.context)
            self.states, self.captures = await capture_states(
                lease.context, sites, self.settings.capture
            )
        except Error as error:
            lease.chromium.check_alive()
            raise EnvironmentFaultError(f"the browser does not answer: {error}") from error
        self.timings["capture"] = _now() - began


def _failed(kind: str, message: str, trace: str | None = None) -> AgentOutcome:
    error = ErrorInfo(kind=kind, message=message, phase="agent", traceback=trace)
    return AgentOutcome(status=Status.AGENT_ERROR, error=error)


def _now() -> float:
    return asyncio.get_running_loop().time()
