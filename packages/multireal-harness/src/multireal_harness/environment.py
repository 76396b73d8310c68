"""The apps of one trial in a browser: opened, watched while the agent works, captured at the end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bench_core.errors import BenchError, BrowserError, EnvironmentFaultError
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import AgentEnding, IntegrityCode
from bench_core.run_folder import TrialArtifacts
from bench_core.trial import IntegrityWatch, TrialEnvironment
from multireal_harness.guard import PathGuard
from multireal_harness.interactions import InteractionWatch
from multireal_harness.reset import reset_app
from multireal_harness.states.capture import (
    Capture,
    CaptureSettings,
    capture_states,
    close_pages,
    works_elsewhere,
)
from multireal_harness.states.health import RunSpan, check_states
from multireal_harness.traffic_faults import AppWatch
from multireal_harness.world.authorship import changing_actions, unaccounted
from multireal_harness.world.replay import Beginning, disagreements, read_beginning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.browser import TrialBrowser
    from bench_core.redaction import Redactor
    from multireal_harness.app_browser import AppBrowser
    from multireal_harness.browsers import BrowserSettings
    from multireal_harness.definitions import Definition

__all__ = ["STATE_HEALTH", "TRAFFIC_FAULT", "AppEnvironment", "EnvironmentSettings"]

CLOSED_BROWSER = "closed_browser"
"""Flag of a trial whose agent closed its browser, and lost the apps' states with it."""
STATE_HEALTH = "state_health.json"
TRAFFIC_FAULT = "traffic_fault"
"""Key in a record's details: faults of the apps while the agent worked."""


@dataclass(frozen=True)
class EnvironmentSettings:
    """Settings for opening apps and capturing their states.

    Attributes:
        config: The settings that every app gets; never a run id, so that no leaderboard counts the run.
        track: Whether `/finish` is loaded once before the agent starts, as REAL's own harness does.
        open_s: Seconds for each page that is opened.
        stalled_s: Seconds without an answer after which an app counts as failing.
        cross_checks: Whether guarded paths are refused and end states compared with the recorded input;
            False only for tests that show their purpose.
    """

    # apps delay every answer by 0.1 to 2 s unless `latency` is set
    config: tuple[tuple[str, str], ...] = (("latency", "0"), ("removePopup", "true"))
    track: bool = True
    open_s: float = 60.0
    stalled_s: float = 10.0
    capture: CaptureSettings = CaptureSettings()  # immutable
    cross_checks: bool = True


class CaptureError(EnvironmentFaultError):
    """An app gave no end state, so the trial cannot be scored."""

    flag = "incomplete_state"


def _app_browser(browser: TrialBrowser, viewport: tuple[int, int]) -> AppBrowser:
    from multireal_harness.app_browser import AppBrowser  # most agents work elsewhere

    return AppBrowser(browser, viewport)


class AppEnvironment(TrialEnvironment):
    """The opened apps of one trial.

    Args:
        definition: The task, with the URLs at which its apps are served.
        browser: The browser context they are opened in.
        watch: Findings on the agent.
        pages: Size, language and time zone of their pages.
        settings: Settings for opening them.
        context: The trial's limits, folder and processes.
        redactor: Removes keys from written files.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        browser: TrialBrowser,
        watch: IntegrityWatch,
        pages: BrowserSettings,
        settings: EnvironmentSettings,
        context: TrialContext,
        redactor: Redactor,
    ) -> None:
        sites, viewport = definition.sites, pages.viewport
        handle = BrowserHandle(
            cdp_url=browser.cdp_url,
            start_urls=tuple(site.origin for site in sites),
            viewport=viewport,
        )
        # Every agent gets this in addition to the goal
        apps = (f"- {site.name or site.id}: {site.origin}" for site in definition.sites)
        super().__init__(
            handle=handle.with_live(partial(_app_browser, browser, viewport)),
            inputs={"apps": {site.name or site.id: site.origin for site in sites}},
            instructions="\n".join(
                [
                    "The apps of the task are open in your tabs. Use one tab per app, and work only with what the apps show:",
                    *apps,
                    "What counts is what the apps hold at the end; they save what you do in them.",
                    f"The pages are in the language {pages.locale} and the time zone {pages.timezone}.",
                    "Go by the dates in the task and in the apps, not by today's.",
                ]
            ),
            answer_schema=definition.answer_schema,
            can_fail=True,  # REAL's own action `report_infeasible`
            details={
                "browser": f"Chromium {browser.context.browser.version}",
                "timezone": pages.timezone,
            },
            integrity=watch,
        )
        self.browser_sealed = browser.chromium.sealed
        self._definition = definition
        self._browser = browser
        self._settings = settings
        self._artifacts = TrialArtifacts(context.folder, redactor)
        self._guard = PathGuard(site.origin for site in sites)
        self._interactions = InteractionWatch(site.origin for site in sites)
        self._beginnings: dict[str, Beginning] = {}
        self._watch = AppWatch((site.origin for site in sites), settings.stalled_s)
        # the apps' histories have wall-clock milliseconds
        self._started_ms = time.time() * 1000
        # a shared Chromium must not end with an abandoned trial
        if browser.alone and browser.chromium.pid is not None:
            context.processes.own(browser.chromium.pid)

    async def open(self) -> None:
        """Configure every app and show its start page, one page each.

        Raises:
            EnvironmentFaultError: An app or Chromium failed.
        """
        from playwright.async_api import Error

        # `/config`, `/finish` and `/` of each app, all apps at once
        most_s = 4 * self._settings.open_s
        try:
            async with asyncio.timeout(most_s):
                await self._open()
        except TimeoutError:
            why = f"the browser did not open the apps within {most_s:g} s"
            raise EnvironmentFaultError(why) from None
        except Error as error:
            # raises the better explanation if Chromium has ended
            self._browser.chromium.check_alive()
            raise EnvironmentFaultError(f"the browser does not open the apps: {error}") from error

    async def _open(self) -> None:
        browser, sites = self._browser, self._definition.sites
        await self._guard.install(browser.context)
        self._watch.install(browser.context)
        first = browser.context.pages[:1]
        await asyncio.gather(*(browser.context.new_page() for _ in sites[len(first) :]))
        pages = browser.context.pages  # in the order in which agents see them
        if browser.alone and isinstance(self.handle, BrowserHandle):
            # a shared Chromium's contexts have their size already
            width, height = self.handle.viewport
            for page in pages:
                await page.set_viewport_size({"width": width, "height": height})
        settings = self._settings
        query = {"task_id": self._definition.id, **dict(settings.config)}
        opened = (
            reset_app(
                page,
                site,
                query,
                track=settings.track,
                open_s=settings.open_s,
                capture=settings.capture,
            )
            for page, site in zip(pages, sites, strict=True)
        )
        # all are awaited before the first fault is raised: none goes on loading in a closed context
        for fault in await asyncio.gather(*opened, return_exceptions=True):
            if fault is not None:
                raise fault
        read = await asyncio.gather(*(read_beginning(page) for page in pages))
        for site, beginning in zip(sites, read, strict=True):
            if beginning is not None:
                self._beginnings[site.id] = beginning
        replayed = [site.origin for site in sites if site.id in self._beginnings]
        await self._interactions.install(browser.context, detailed=replayed)
        await pages[0].bring_to_front()
        if self._settings.cross_checks:
            self._guard.arm()
        self._watch.arm()
        await self._browser.arm()

    async def gone(self) -> None:
        """Wait until Chromium has ended."""
        await self._browser.chromium.wait_closed()

    async def why_gone(self, *, reported: bool) -> str | None:
        """Attribute the end of Chromium to the agent only where a command of the agent ended it.

        The states of the apps are lost with it, so the trial fails even if the agent reports success.
        """
        del reported
        act = await self._browser.why_ended()
        if act is None:
            return None
        self.flags[CLOSED_BROWSER] = None
        return f"{act}; its apps' states went with it"

    async def release(self) -> None:
        """Close the agent's connections to the trial's own Chromium."""
        if self._browser.gateway is not None and self._browser.guard is not None:
            await self._browser.gateway.close()

    async def capture(self, ending: AgentEnding) -> None:
        """Close the agent's pages and read every app's end state.

        Raises:
            CaptureError: An app gave none.
            EnvironmentFaultError: The browser does not answer.
        """
        del ending
        # from here on the harness itself opens `/finish`
        self._guard.disarm()
        self._watch.disarm()
        await self._browser.disarm()
        self._note_visits()
        if CLOSED_BROWSER in self.flags:
            self._note_states({}, ())
            return
        opened = len(self._browser.context.pages)
        try:
            states, captures = await self._take()
        except BenchError:
            if await self._ended_by_agent():
                self._note_states({}, ())
                return
            self._note_crowd(opened)
            raise
        # states of the other apps are kept even if one is missing
        if states:
            await asyncio.to_thread(self._artifacts.write_state, states)
        self._note_states(states, captures)
        if self._settings.cross_checks:
            await asyncio.to_thread(self._compare_histories, states)
        missing = [f"{each.app}: {each.error}" for each in captures if each.error]
        if missing and await self._ended_by_agent():
            return
        # Note apps that give an end state in a fresh context and none in that of the trial: the only
        # difference is the browser's storage, to which only the app and the agent write
        lost = [each.app for each in captures if each.error and self._settings.cross_checks]
        sites = [site for site in self._definition.sites if site.id in lost]
        for site in sites:
            if await works_elsewhere(self._browser.context, site, self._settings.capture):
                detail = f"{site.id} gives an end state in a fresh browser context"
                self.integrity.note(IntegrityCode.FORGED_STORAGE, "unknown", detail)
        if missing or not captures:
            self._note_crowd(opened)
            raise CaptureError(f"no end state of {'; '.join(missing) or 'any app'}")

    def _note_crowd(self, pages: int) -> None:
        """Note that the agent left enough pages open to explain the missing end state."""
        if pages > self._settings.capture.many_pages:
            detail = f"it left {pages} open pages"
            self.integrity.note(IntegrityCode.RESOURCE_LIMIT, "succeeded", detail)

    async def _ended_by_agent(self) -> bool:
        """Whether a command of the agent ended the browser, which may show only at the capture.

        The apps' states went with it, so the trial fails like one whose agent is seen to end the browser.
        """
        try:
            act = await self._browser.why_ended()
        except BrowserError:  # nothing shows that the agent ended it
            return False
        if act is None:
            return False
        self.flags[CLOSED_BROWSER] = None
        self.integrity.note(IntegrityCode.BROWSER_ENDED, "succeeded", act)
        return True

    async def _take(self) -> tuple[dict[str, Any], Sequence[Capture]]:
        from playwright.async_api import Error

        browser, capture = self._browser, self._settings.capture
        try:
            # Playwright waits without limit for a browser that hangs
            async with asyncio.timeout(capture.longest_s):
                await close_pages(browser.context)
                return await capture_states(browser.context, self._definition.sites, capture)
        except TimeoutError:
            why = f"the browser did not answer within {capture.longest_s:g} s"
            raise EnvironmentFaultError(why) from None
        except Error as error:
            # raises the better explanation if Chromium has ended
            browser.chromium.check_alive()
            raise EnvironmentFaultError(f"the browser does not answer: {error}") from error

    def _note_visits(self) -> None:
        guard = self._guard
        if guard.visits or IntegrityCode.GUARDED_PATH in {e.code for e in self.integrity.findings}:
            self.flags["guarded_path"] = None
        for visit in guard.visits:
            self.integrity.note(IntegrityCode.GUARDED_PATH, "blocked", visit.url)
        if guard.strangers:
            self.flags["left_the_apps"] = None
        self.details["guarded_visits"] = [each.model_dump(mode="json") for each in guard.visits]
        self.details["strangers"] = sorted(guard.strangers)
        gateway = self._browser.gateway
        fault = self._watch.fault(crashed_by_agent=gateway is not None and gateway.log.crashed)
        if fault is not None:
            self.details[TRAFFIC_FAULT] = fault.model_dump(mode="json")

    def _note_states(self, states: dict[str, Any], captures: Sequence[Capture]) -> None:
        window = RunSpan(started_ms=self._started_ms, finished_ms=time.time() * 1000)
        symptoms = check_states(self._definition, states, window=window)
        self._artifacts.write_json(STATE_HEALTH, [e.model_dump(mode="json") for e in symptoms])
        self.details["captures"] = [each.model_dump(mode="json") for each in captures]

    def _compare_histories(self, states: dict[str, Any]) -> None:
        """Note parts of a state that the app's history does not explain, and actions without input."""
        done: dict[str, Any] = {}
        for site in self._definition.sites:
            made = self._interactions.of(site.origin)
            done[site.id] = {"trusted": made.trusted, "scripted": made.scripted}
            beginning, state = self._beginnings.get(site.id), states.get(site.id)
            if beginning is None or state is None:
                continue
            done[site.id]["actions"] = len(changing_actions(beginning, state))
            for each in disagreements(beginning, state):
                self.integrity.note(IntegrityCode.STATE_MISMATCH, "succeeded", f"{site.id}: {each}")
            for each in unaccounted(beginning, state, made):
                self.integrity.note(IntegrityCode.NO_INTERACTION, "succeeded", f"{site.id}: {each}")
        self.details["interactions"] = done
        if self._interactions.forged:
            detail = (
                f"{self._interactions.forged} interactions were reported in the harness's place"
            )
            self.integrity.note(IntegrityCode.HARNESS_CODE, "blocked", detail)
