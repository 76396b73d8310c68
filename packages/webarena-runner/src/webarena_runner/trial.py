"""One trial in a browser of its own: log in, record, let the agent work, keep what it left.

The order matters. The recorder starts after the login and before the first start page. However
the agent ends, the recorder stops first, so that the traffic is kept; then Chromium is killed,
because an agent stuck in a page that never answers does not notice that it was cancelled; then
the agent is.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench_core.browser import ChromiumOptions, launch_chromium
from bench_core.errors import BudgetExceededError, EnvironmentFaultError, InputError
from bench_core.protocols import BrowserHandle
from bench_core.records import AgentOutcome, ErrorInfo, Status
from webarena_runner.auth import cdp_cookies, enter_all
from webarena_runner.evaluation import HAR_FILE, recording_fault
from webarena_runner.injection import inject_cookies
from webarena_runner.live_login import log_in_live
from webarena_runner.recording import HarRecorder
from webarena_runner.sites import check_sites
from webarena_runner.tab_setup import login_headers, tab_setup
from webarena_runner.tabs import open_tabs
from webarena_runner.tasks import start_urls, task_sites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable
    from pathlib import Path

    from bench_core.browser import Chromium
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentTask, Task
    from bench_core.redaction import Redactor
    from webarena_runner.auth import SiteSession
    from webarena_runner.config import EnvironmentConfig
    from webarena_runner.recording import Har

__all__ = ["CONTACT_PROBE", "BrowserTrial", "TrialSettings", "require_sites"]

CONTACT_PROBE = "restore_contact_probe"
"""The run's setting that injects the contact form's missing script."""

_NOT_THE_AGENTS_FAULT = (EnvironmentFaultError, BudgetExceededError, InputError)


# browser-use shows a logo of its maker's in every new tab; a trial talks to its sites alone.
_CHROMIUM = ChromiumOptions(host_resolver_rules="MAP cf.browser-use.com ~NOTFOUND")


@dataclass(frozen=True)
class TrialSettings:
    """How long the parts around the agent may take, in seconds, and how Chromium is started.

    Attributes:
        overtime_s: How long after its time limit the agent may take to end by itself, which tells
            more of it than being cut off does.
        auth_folder: Where logins are kept; null: every trial logs in anew.
    """

    site_s: float = 30.0
    start_page_s: float = 60.0
    stop_recorder_s: float = 5.0
    stop_agent_s: float = 5.0
    overtime_s: float = 10.0
    chromium: ChromiumOptions = _CHROMIUM
    auth_folder: Path | None = None


@dataclass
class BrowserTrial:
    """One attempt of `agent` at `task`; `timings` fills while it runs."""

    task: Task
    agent: Agent
    config: EnvironmentConfig
    context: TrialContext
    settings: TrialSettings
    redactor: Redactor
    timings: dict[str, float] = field(default_factory=dict)
    _har: Har | None = None

    async def run(self) -> AgentOutcome:
        """Let the agent work in a fresh Chromium and leave `network.har` in the trial's folder.

        Raises:
            EnvironmentFaultError: A site, Chromium, the recorder or the model provider failed.
            BudgetExceededError: The run's budget is spent.
        """
        began = _now()
        sites = task_sites(self.task)
        urls = self.config.render(start_urls(self.task), sites)
        sessions, live = await self._open_sites(sites)
        async with launch_chromium(self.settings.chromium) as chromium:
            self._hand_over(chromium)
            await inject_cookies(chromium.ws_url, cdp_cookies(sessions))
            for name in live:
                await log_in_live(chromium.ws_url, name, self.config.site(name))
            slot = _AgentSlot(chromium, self.settings.stop_agent_s)
            try:
                async with self._recorded(chromium) as recorder:
                    opening_s = self.settings.start_page_s
                    await open_tabs(chromium.ws_url, urls, opening_s, before=recorder.attached)
                    self.timings["environment"] = _now() - began
                    handle = BrowserHandle(cdp_url=chromium.cdp_url, start_urls=tuple(urls))
                    slot.start(self.agent.run(self._for_agent(urls), handle, self.context))
                    outcome = await slot.outcome(self._time_s())
            finally:
                await slot.end()
                self.timings["agent"] = _now() - began - self.timings.get("environment", 0.0)
            await self._check_recording(chromium)
        return outcome

    async def _open_sites(self, sites: Iterable[str]) -> tuple[list[SiteSession], list[str]]:
        """Log in where that works over HTTP; also name the sites that are left to the browser."""
        settings = self.settings
        entered = await enter_all(self.config, sites, settings.site_s, settings.auth_folder)
        reached = {session.site for session in entered[0]}
        await require_sites(self.config, set(sites) - reached, settings.site_s)
        return entered

    def _hand_over(self, chromium: Chromium) -> None:
        """Let the scheduler kill Chromium, should this trial be given up."""
        if chromium.pid is not None:
            self.context.processes.own(chromium.pid)

    def _time_s(self) -> float | None:
        limit = self.context.limits.time_limit_s
        return None if limit is None else limit + self.settings.overtime_s

    def _for_agent(self, urls: list[str]) -> AgentTask:
        """Give the agent what the official agent input holds, with real URLs."""
        seen = self.task.for_agent()
        return seen.model_copy(
            update={
                "inputs": {**seen.inputs, "start_urls": list(urls)},
                "limits": self.context.limits,
            }
        )

    @asynccontextmanager
    async def _recorded(self, chromium: Chromium) -> AsyncIterator[HarRecorder]:
        """Record while the block runs and keep the traffic however it ends."""
        har_file = self.context.folder / HAR_FILE
        setup = tab_setup(
            self.config,
            task_sites(self.task),
            contact_probe=bool(self.context.config.get(CONTACT_PROBE)),
        )
        async with HarRecorder(chromium.cdp_url, tab_setup=setup) as recorder:
            try:
                yield recorder
            finally:
                self._har = await recorder.stop(self.settings.stop_recorder_s)
                # Of evidence only known keys are removed: what is stored is what is scored.
                self._har.write(har_file, self._without_secrets)

    def _without_secrets(self, text: str) -> str:
        for value in login_headers(self.config, task_sites(self.task)).values():
            text = text.replace(json.dumps(value)[1:-1], "[login header]")
        return self.redactor.redact(text, evidence=True)

    @property
    def browser(self) -> dict[str, str]:
        """Name and version of the Chromium that was recorded."""
        return self._har.document["log"]["browser"] if self._har else {}

    async def _check_recording(self, chromium: Chromium) -> None:
        """Refuse a recording with gaps, unless the agent made them by closing its browser."""
        if self._har is not None and not self._har.complete:
            with suppress(TimeoutError):
                await asyncio.wait_for(chromium.wait_closed(), self.settings.stop_agent_s)
            if chromium.exit_code != 0:
                chromium.check_alive()
                raise EnvironmentFaultError(f"the recorder failed: {' '.join(self._har.problems)}")
        if fault := recording_fault(self.context.folder):
            raise EnvironmentFaultError(f"the recorder failed: {fault}")


async def require_sites(config: EnvironmentConfig, sites: Iterable[str], timeout_s: float) -> None:
    """Raise EnvironmentFaultError, naming the site, unless all of `sites` answer."""
    faults = await check_sites(config, sites, timeout_s)
    for name, fault in faults.items():
        if fault is not None:
            raise EnvironmentFaultError(f"the site {name!r} is down: {fault}")


class _AgentSlot:
    """The agent's work beside the browser it works in: whichever ends first decides."""

    def __init__(self, chromium: Chromium, grace_s: float) -> None:
        self._chromium = chromium
        self._grace_s = grace_s
        self._work: asyncio.Task[AgentOutcome] | None = None

    def start(self, work: Coroutine[Any, Any, AgentOutcome]) -> None:
        """Let the agent begin."""
        self._work = asyncio.create_task(work)

    async def outcome(self, time_s: float | None) -> AgentOutcome:
        """Wait for the agent, `time_s` or the end of the browser.

        Raises:
            EnvironmentFaultError: The browser crashed or the model provider failed.
        """
        assert self._work is not None  # noqa: S101  # started before
        closed = asyncio.create_task(self._chromium.wait_closed())
        try:
            await asyncio.wait(
                {self._work, closed}, timeout=time_s, return_when=asyncio.FIRST_COMPLETED
            )
            if closed.done() and not self._work.done():
                await asyncio.wait({self._work}, timeout=self._grace_s)
        finally:
            closed.cancel()
        self._refuse_crash()
        if self._work.done():
            return _reported(self._work)
        if not self._chromium.alive:
            return _failed("BrowserClosed", "the agent closed its browser and did not end")
        return AgentOutcome(status=Status.TIME_LIMIT)

    async def end(self) -> None:
        """Kill the browser under an agent that still works, and give up on it after the grace."""
        if self._work is None or self._work.done():
            return
        self._chromium.kill()
        self._work.cancel()
        await asyncio.wait({self._work}, timeout=self._grace_s)

    def _refuse_crash(self) -> None:
        """A browser that ends with code 0 was closed by the agent, any other way it crashed."""
        if not self._chromium.alive and self._chromium.exit_code != 0:
            self._chromium.check_alive()


def _reported(work: asyncio.Task[AgentOutcome]) -> AgentOutcome:
    """Return what the agent reports; what it raises is its own failure unless it says otherwise."""
    if work.cancelled():
        return _failed("CancelledError", "the agent cancelled itself")
    error = work.exception()
    if error is None:
        return work.result()
    if isinstance(error, _NOT_THE_AGENTS_FAULT) or not isinstance(error, Exception):
        raise error
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return _failed(type(error).__name__, str(error) or type(error).__name__, "".join(lines))


def _failed(kind: str, message: str, trace: str | None = None) -> AgentOutcome:
    error = ErrorInfo(kind=kind, message=message, phase="agent", traceback=trace)
    return AgentOutcome(status=Status.AGENT_ERROR, error=error)


def _now() -> float:
    return asyncio.get_running_loop().time()
