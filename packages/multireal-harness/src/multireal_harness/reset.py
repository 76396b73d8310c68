"""Reset of an app: configuration in a fresh browser context, before each trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from bench_core.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multireal_harness.definitions import AppSite

_BAD_STATUS = 400


async def reset_app(
    page: Any, site: AppSite, query: Mapping[str, str], *, track: bool, open_s: float
) -> None:
    """Configure an app in a fresh browser context and show its start page.

    An app stores its whole state in the browser, so that a fresh context is a reset.

    Args:
        page: Playwright's page in that context.
        site: The app.
        query: Parameters for `/config`, such as the id of the task.
        track: Whether `/finish` is loaded once before the agent starts, as REAL's own harness does.
        open_s: Seconds for each page that is opened.

    Raises:
        EnvironmentFaultError: The app does not answer, or is not configured.
    """
    # any other run id is a leaderboard run to REAL, and is reported there
    url = f"{site.origin}/config?{urlencode({'run_id': '0', **query})}"
    answer = await _load(page, url, site, open_s)
    if answer is not None and "json" in str(answer.headers.get("content-type")):
        # an app's own page stores the settings in the browser; an answer in JSON is no page and stored none
        raise EnvironmentFaultError(f"the app {site.id!r} is not configured: {url} shows no page")
    if track:
        await _load(page, f"{site.origin}/finish", site, open_s)
    await _load(page, site.origin, site, open_s)


async def _load(page: Any, url: str, site: AppSite, open_s: float) -> Any:
    """Open a page and return Playwright's response, None where the browser has none."""
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
