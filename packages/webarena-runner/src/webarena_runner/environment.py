"""The sites of one trial in a fresh browser: login, recording, end of the browser.

The order matters. The recorder starts after the login and before the first start page. However
the agent ends, the recorder stops first, so that the traffic is kept; then a Chromium of its own is killed,
because an agent that waits for a page that never answers does not notice its cancellation (browser-use's
own `kill()` hung for more than 60 s there).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench_core.agents import BrowserEnvironment
from bench_core.browser import (
    ChromiumOptions,
    Places,
    SharedBrowser,
    TrialBrowser,
    open_own_browser,
)
from bench_core.errors import BrowserError, EnvironmentFaultError
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import AgentEnding, IntegrityCode, Task
from bench_core.redaction import Redactor
from bench_core.trial import IntegrityWatch, TrialEnvironment
from webarena_runner.agents.declaration import answer_schema, instructions
from webarena_runner.answers import read_answer, without_patterns
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluation import ANSWER_FILE, HAR_FILE, read_recording, write_answer
from webarena_runner.extraction import Extraction, restated
from webarena_runner.login.browser_login import inject_cookies, log_in_live
from webarena_runner.login.http_login import cdp_cookies, enter_all
from webarena_runner.recording import Har, HarRecorder, RecordingLimits
from webarena_runner.recording.link import CONNECTION_ERRORS
from webarena_runner.site_checks import check_sites
from webarena_runner.tab_setup import login_headers, tab_setup
from webarena_runner.tabs import open_tabs
from webarena_runner.tasks import start_urls, task_sites
from webarena_runner.traffic_faults import note_health
from webarena_runner.unserved import Served, unserved

__all__ = [
    "CONTACT_PROBE",
    "RECORDING_FULL",
    "Conditions",
    "EnvironmentSettings",
    "SiteEnvironment",
    "open_environment",
]

CONTACT_PROBE = "restore_contact_probe"
"""Setting of a run: inject the script that the shop's contact form lacks."""
RECORDING_FULL = "recording_full"
"""Flag of a trial with more requests than are recorded: a failure counts, a success does not."""

_VIEWPORT = (1280, 720)
# browser-use loads a logo from cf.browser-use.com in every new tab; only the sites belong into the trace.
_CHROMIUM = ChromiumOptions(host_resolver_rules="MAP cf.browser-use.com ~NOTFOUND")


@dataclass(frozen=True)
class EnvironmentSettings:
    """Time limits of the parts around the agent, in seconds, and how Chromium is started.

    Attributes:
        close_s: For the end of a Chromium whose recording broke off.
        auth_folder: Folder of stored logins; with None every trial logs in itself.
    """

    site_s: float = 30.0
    start_page_s: float = 60.0
    stop_recorder_s: float = 5.0
    close_s: float = 5.0
    chromium: ChromiumOptions = _CHROMIUM
    recording: RecordingLimits = RecordingLimits()  # immutable
    auth_folder: Path | None = None


@dataclass(frozen=True)
class Conditions:
    """The trial for which sites are opened.

    Attributes:
        task: Its task.
        config: The URLs and accounts of the sites.
        context: Its limits, folder and processes.
        settings: Time limits, and start options of Chromium.
        redactor: Removes keys from written files.
        ports: Ports of this machine that no agent may open, with the integrity code of opening each.
        served: The sites' answers since the trial began, which the agent does not
            know; None if they write nothing down.
        kept: The Chromium in which the trial gets a context; None for one of its own.
    """

    task: Task
    config: EnvironmentConfig
    context: TrialContext
    settings: EnvironmentSettings
    redactor: Redactor
    ports: Mapping[int, IntegrityCode] = field(default_factory=dict)
    served: Callable[[], Collection[Served]] | None = None
    kept: SharedBrowser | None = None

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(task_sites(self.task))


@asynccontextmanager
async def open_environment(given: Conditions) -> AsyncIterator[SiteEnvironment]:
    """Open a fresh browser on the task's sites, logged in and with its traffic recorded.

    Raises:
        EnvironmentFaultError: A site, Chromium or the recorder failed.
    """
    config, context, settings, kept = given.config, given.context, given.settings, given.kept
    urls = config.render(start_urls(given.task), given.sites)
    # over HTTP if that works; at the other sites the browser must log in
    sessions, live = await enter_all(config, given.sites, settings.site_s, settings.auth_folder)
    await _require_sites(given)
    setup = tab_setup(config, given.sites, contact_probe=bool(context.config.get(CONTACT_PROBE)))
    watch = IntegrityWatch(watched=True)
    options = replace(settings.chromium, hidden=context.hidden)
    own = (url for site in config.sites.values() for url in site.urls)
    places = Places(given.ports, sites=tuple(own))
    if kept is None:
        opened = open_own_browser(options, watch.note_act, places)
    else:
        opened = kept.open(
            options,
            watch.note_act,
            places,
            one_by_one=True,  # the recorder sees a whole Chromium
            viewport={"width": _VIEWPORT[0], "height": _VIEWPORT[1]},
            accept_downloads=False,  # nothing is written to this machine
        )
    async with opened as browser:
        chromium = browser.chromium
        if browser.alone and chromium.pid is not None:
            context.processes.own(chromium.pid)  # ended with it if the trial is abandoned
        ws_url, within = chromium.ws_url, None
        if browser.context is not None:
            within = await _with_tab(browser.context)
        await _answered(inject_cookies(ws_url, cdp_cookies(sessions), within))
        for name in live:
            await _answered(log_in_live(ws_url, name, config.site(name), context_id=within))
        async with HarRecorder(
            chromium.cdp_url, limits=settings.recording, tab_setup=setup
        ) as recorder:
            environment = SiteEnvironment(given, urls, browser, recorder)
            environment.integrity = watch
            try:
                opening = open_tabs(
                    ws_url,
                    urls,
                    settings.start_page_s,
                    before=recorder.attached,
                    context_id=within,
                )
                await _answered(opening)
                await browser.arm()
                yield environment
            finally:
                await environment.stop_recording()


def _live(context: Any) -> BrowserEnvironment:
    from bench_core.agents import BrowserEnvironment  # most agents work elsewhere

    return BrowserEnvironment(context, _VIEWPORT)


async def _with_tab(context: Any) -> str:
    """Open an empty tab in a context and return the context's DevTools id."""
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    found = await session.send("Target.getTargetInfo")
    await session.detach()
    return str(found["targetInfo"]["browserContextId"])


async def _answered(work: Awaitable[None]) -> None:
    """Await a command to Chromium; no answer is a fault of the environment, not of the agent."""
    try:
        await work
    except CONNECTION_ERRORS as error:
        raise EnvironmentFaultError(f"Chromium does not answer: {error!r}") from error


async def _require_sites(given: Conditions) -> None:
    """Note faults of the trial's sites in its folder.

    Raises:
        EnvironmentFaultError: One of them cannot be used at all.
    """
    found = await check_sites(given.config, given.sites, given.settings.site_s, accounts=False)
    for name, faults in found.items():
        down = next((each for each in faults if each.is_down), None)
        if down is not None:
            raise EnvironmentFaultError(f"the site {name!r} is down: {down.detail}")
        note_health(given.context.folder, faults)


class SiteEnvironment(TrialEnvironment):
    """A recorded Chromium on the sites of one trial."""

    def __init__(
        self,
        given: Conditions,
        urls: list[str],
        browser: TrialBrowser,
        recorder: HarRecorder,
    ) -> None:
        handle = BrowserHandle(cdp_url=browser.cdp_url, start_urls=tuple(urls), viewport=_VIEWPORT)
        if browser.context is not None:
            handle = handle.with_live(partial(_live, browser.context))
        super().__init__(
            handle=handle,
            inputs={"start_urls": list(urls)},
            instructions=instructions(given.sites, urls),
            answer_schema=answer_schema(given.task.goal),
            can_fail=False,  # a status of the answer says it
        )
        if given.context.config.get(CONTACT_PROBE):
            self.flags["contact-probe-restored"] = None
        self.browser_sealed = browser.chromium.sealed
        self._given = given
        self._browser = browser
        self._recorder = recorder
        self._har: Har | None = None
        self._act: str | None = None
        self._fault: BrowserError | None = None

    async def gone(self) -> None:
        """Wait until Chromium has ended."""
        await self._browser.chromium.wait_closed()

    async def why_gone(self, *, reported: bool) -> str | None:
        """Attribute the end of Chromium to the agent only where a command of the agent ended it.

        An agent that has reported its answer may end it, because all its traffic is recorded.
        """
        if self._fault is not None:
            raise self._fault
        return None if reported else self._act

    async def release(self) -> None:
        """Stop the recorder, then kill a Chromium of its own; see the module."""
        await self.stop_recording()
        if self._har is not None and self._har.problems:
            with suppress(TimeoutError):
                closed = self._browser.chromium.wait_closed()
                await asyncio.wait_for(closed, self._given.settings.close_s)
        try:
            self._act = await self._browser.why_ended()
        except BrowserError as fault:
            self._fault = fault
        if self._browser.alone and self._browser.chromium.alive:
            self._browser.chromium.kill()  # one that is shared loses the context later

    async def stop_recording(self) -> None:
        """Stop the recorder and write the recording, once."""
        if self._har is not None:
            return
        self._har = await self._recorder.stop(self._given.settings.stop_recorder_s)
        # answers that no site gave; known only for sites that log their requests
        served = self._given.served
        if served is not None:
            for method, url in unserved(self._har.document, served()):
                detail = f"{method} {url}"
                self.integrity.note(IntegrityCode.FORGED_TRAFFIC, "succeeded", detail)
        # Only known keys are removed from evidence: the scored traffic must equal the recorded traffic.
        self._har.write(self._given.context.folder / HAR_FILE, self._without_secrets)
        self.details["browser"] = dict(self._har.document["log"]["browser"])

    async def capture(self, ending: AgentEnding) -> None:
        """Write the answer next to the traffic.

        Raises:
            EnvironmentFaultError: The recording has gaps that are not from the agent's ending its browser,
                or the model that restates an answer in words failed.
        """
        given = self._given
        answer = given.redactor.redact_json(ending.answer, evidence=True)
        write_answer(given.context.folder, without_patterns(_parsed(answer)))
        if self._har is not None and self._har.dropped:
            self.flags[RECORDING_FULL] = None
        gateway = self._browser.gateway
        ending_act = None if gateway is None else gateway.log.ending
        if ending_act is not None and self._har is not None and self._har.problems:
            self.integrity.note(IntegrityCode.BROWSER_ENDED, "succeeded", str(ending_act))
        if self._har is not None and self._har.problems and self._act is None:
            raise EnvironmentFaultError(f"the recorder failed: {' '.join(self._har.problems)}")
        if fault := read_recording(given.context.folder)[1]:
            raise EnvironmentFaultError(f"the recorder failed: {fault}")
        asked = Extraction.of(given.context.config)
        if asked is None:
            return
        stored = (given.context.folder / ANSWER_FILE).read_text(encoding="utf-8")
        found = await restated(ending, stored, given.task.goal, given.context, asked)
        if found is not None:
            self.flags[found.flag] = None
            answer = given.redactor.redact_json(found.response, evidence=True)
            write_answer(given.context.folder, without_patterns(answer))

    async def check(self) -> None:
        """Raise EnvironmentFaultError if a site is down: a failure on it is not the agent's."""
        await _require_sites(self._given)

    def _without_secrets(self, text: str) -> str:
        given = self._given
        for value in login_headers(given.config, given.sites).values():
            # in the form in which the HAR's JSON has the value
            text = text.replace(json.dumps(value)[1:-1], "[login header]")
        return given.redactor.redact(text, evidence=True)


def _parsed(answer: JsonValue) -> JsonValue:
    """Return the response inside a text that the evaluator can read, for `without_patterns`."""
    if not isinstance(answer, str):
        return answer
    read = read_answer(answer)
    return read.value if read.problem is None else answer
