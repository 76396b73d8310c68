"""Reset of an app: configuration in a fresh browser context, before each trial."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from bench_core.errors import EnvironmentFaultError
from bench_core.records.codec import decode_json
from multireal_harness.definitions import AppSite
from multireal_harness.states.capture import CaptureSettings, still_text
from multireal_harness.states.health import configured_for

_BAD_STATUS = 400


async def reset_app(
    page: Any,
    site: AppSite,
    query: Mapping[str, str],
    *,
    track: bool,
    open_s: float,
    capture: CaptureSettings,
) -> None:
    """Configure an app in a fresh browser context and show its start page.

    An app stores its whole state in the browser, so that a fresh context is a reset. One that restores its store
    late may lose its configuration, if the page is left before; it is then configured again.

    Args:
        page: Playwright's page in that context.
        site: The app.
        query: Parameters for `/config`, such as the id of the task.
        track: Whether `/finish` is loaded before the agent starts, as REAL's own harness does, and the
            configuration looked for in it.
        open_s: Seconds for each page that is opened, and for the app to be configured.
        capture: Settings for reading `/finish`.

    Raises:
        EnvironmentFaultError: The app does not answer, or is not configured.
    """
    from playwright.async_api import TimeoutError as NotIdle

    # any other run id is a leaderboard run to REAL, and is reported there
    url = f"{site.origin}/config?{urlencode({'run_id': '0', **query})}"
    ends = capture.clock() + open_s
    while True:
        answer = await _load(page, url, site, open_s)
        if answer is not None and "json" in str(answer.headers.get("content-type")):
            # an app's own page stores the settings in the browser; an answer in JSON is not a page and stored none
            raise EnvironmentFaultError(
                f"the app {site.id!r} is not configured: {url} shows no page"
            )
        # an app that polls is never idle: it is taken as it is after this time
        with contextlib.suppress(NotIdle):
            await page.wait_for_load_state("networkidle", timeout=capture.quiet_s * 1000)
        if not track:
            break
        await _load(page, f"{site.origin}/finish", site, open_s)
        if await _is_configured(page, open_s, capture):
            break
        if capture.clock() > ends:
            raise EnvironmentFaultError(
                f"the app {site.id!r} is not configured: after {url} its /finish has no task_id"
            )
    await _load(page, site.origin, site, open_s)
    # an agent that goes back must not reach pages that only the harness may open
    session = await page.context.new_cdp_session(page)
    await session.send("Page.resetNavigationHistory")
    await session.detach()


async def _is_configured(page: Any, within_s: float, capture: CaptureSettings) -> bool:
    """Return whether `/finish` has a task's id, or no place for one; the capture judges the rest."""
    text = await still_text(page, within_s, capture)
    try:
        state = await asyncio.to_thread(decode_json, text or "")
    except ValueError:
        return True
    return not isinstance(state, dict) or configured_for(state) != set()


async def _load(page: Any, url: str, site: AppSite, open_s: float) -> Any:
    """Open a page and return Playwright's response, None if the browser has none."""
    from playwright.async_api import Error

    try:
        answer = await page.goto(url, timeout=open_s * 1000)
    except Error as error:
        reason = str(error).splitlines()[0]
        raise EnvironmentFaultError(f"the app {site.id!r} is down: {reason}") from error
    if answer is not None and answer.status >= _BAD_STATUS:
        raise EnvironmentFaultError(
            f"the app {site.id!r} is down: {url} answers with status {answer.status}"
        )
    return answer
