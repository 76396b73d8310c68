"""Read the end states from the apps' `/finish` pages, in the browser context of the trial.

The state of an app is in the browser's local storage, so only a page of the same context can read it,
and two open pages of one app would overwrite each other's: the agent's pages are closed first. An app
that gives no state is asked again, because the agent's work was expensive and is never repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt

from bench_core.records import Record
from bench_core.records.codec import decode_json
from bench_core.scheduling import Backoff
from multireal_harness.definitions import AppSite
from multireal_harness.states.health import configured_for

__all__ = ["Capture", "CaptureSettings", "capture_states", "close_pages", "works_elsewhere"]

_BAD_STATUS = 400
_CLOSING_S = 2.0
# every recorded state has these; an error message in JSON has none
_PARTS = frozenset({"actionhistory", "differences", "finalstate", "initialfinaldiff"})
# Real states are 20 levels deep; code that walks a state must not reach Python's recursion limit.
_DEEPEST = 200


@dataclass(frozen=True)
class CaptureSettings:
    """How long the capture waits, in seconds, and how often it tries.

    Attributes:
        app_s: For one app in all, with all its tries.
        try_s: For one try; real states of megabytes take seconds, slow apps a minute.
        spare_s: For the browser itself, in addition to the apps.
        still_s: A state that has not changed for so long is read, once the network is idle (REAL's own
            harness reads when the network has been idle for half a second).
        quiet_s: A page that has loaded and has not changed for so long is read as it is, and one whose network
            is never idle after so long.
        many_pages: With more pages open, a browser that gives no end state is the agent's doing.
        backoff: The pauses between tries.
        clock: The time in seconds; `sleep` waits.
    """

    # REAL's own harness waits 1 s, which loses correct runs: a real calendar's state (1.8 million
    # characters) takes 1.2 to 2.5 s even from localhost.
    app_s: float = 90.0
    try_s: float = 60.0
    spare_s: float = 10.0
    still_s: float = 0.25
    quiet_s: float = 10.0
    many_pages: int = 40
    backoff: Backoff = Backoff(first_s=0.5, longest_s=15.0)  # immutable
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def longest_s(self) -> float:
        """How long a capture may take in all."""
        return self.app_s + self.spare_s


class Capture(Record):
    """The outcome of the capture of one app; `error` says why the state is missing."""

    app: str
    characters: NonNegativeInt = 0
    seconds: NonNegativeFloat = 0.0
    tries: NonNegativeInt = 0
    error: str | None = None


async def capture_states(
    context: Any, sites: Sequence[AppSite], settings: CaptureSettings
) -> tuple[dict[str, Any], tuple[Capture, ...]]:
    """Return the states of all apps that gave one, by id, and the outcome of each capture."""
    # at once: three apps take 2.4 s together and 3.1 s one after the other
    found = await asyncio.gather(*(_capture(context, site, settings) for site in sites))
    states = {capture.app: state for state, capture in found if capture.error is None}
    return states, tuple(capture for _, capture in found)


async def works_elsewhere(context: Any, site: AppSite, settings: CaptureSettings) -> bool:
    """Whether an app gives a state in a fresh context and, after that, still none in `context`.

    The second look leaves out an app that was down and works again.
    """
    from playwright.async_api import Error

    fresh: Any = None
    try:
        async with asyncio.timeout(settings.try_s):
            fresh = await context.browser.new_context(service_workers="block")
            if not await _gives_state(fresh, site, settings):
                return False
            return not await _gives_state(context, site, settings)
    except (Error, TimeoutError):  # the browser does not answer, which says nothing of the app
        return False
    finally:
        if fresh is not None:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    await fresh.close()


async def _gives_state(context: Any, site: AppSite, settings: CaptureSettings) -> bool:
    try:
        await _state_of(_Page(context), site, settings.try_s / 3, settings)
    except _NoStateError:
        return False
    return True


async def close_pages(context: Any) -> None:
    """Close the agent's pages; an empty one stays open, because a browser without pages may end."""
    from playwright.async_api import Error

    kept = await context.new_page()

    async def close(page: Any) -> None:
        with contextlib.suppress(Error):  # it closed itself meanwhile
            await _close(context, page)

    # together: an agent may leave hundreds
    await asyncio.gather(*(close(each) for each in context.pages if each is not kept))


async def _close(context: Any, page: Any) -> None:
    try:
        async with asyncio.timeout(_CLOSING_S):
            await page.close()
    except TimeoutError:
        # Chromium 156 loses the request when a document's first bytes arrive with it
        session = await context.new_cdp_session(page)
        async with asyncio.timeout(_CLOSING_S), page.expect_event("close"):
            await session.send("Page.close")


async def _capture(context: Any, site: AppSite, settings: CaptureSettings) -> tuple[Any, Capture]:
    began, tries = settings.clock(), 0
    ends, error = began + settings.app_s, ""
    page = _Page(context)

    def record(**more: Any) -> Capture:
        seconds = round(settings.clock() - began, 3)
        return Capture(app=site.id, seconds=seconds, tries=tries, **more)

    while True:
        tries += 1
        within_s = min(settings.try_s, ends - settings.clock())
        try:
            state, characters = await _state_of(page, site, within_s, settings)
        except _NoStateError as failure:
            error = str(failure)
        else:
            if configured_for(state) != set():
                return state, record(characters=characters)
            error = "/finish shows a state that /config did not reach: its task_id is empty"
        pause_s = settings.backoff.delay_s(tries, seed=0)
        if settings.clock() + pause_s >= ends or not context.browser.is_connected():
            return None, record(error=error)
        await settings.sleep(pause_s)


async def _state_of(
    page: _Page, site: AppSite, within_s: float, settings: CaptureSettings
) -> tuple[dict[str, Any], int]:
    """Return the state that an app shows now, and the length of its text."""
    text = await page.text_of(f"{site.origin}/finish", within_s, settings)
    try:
        # megabytes of JSON would hold up the other trials of this event loop
        state = await asyncio.to_thread(decode_json, text)
    except ValueError as failure:
        raise _NoStateError(f"/finish shows no JSON: {failure}") from failure
    if not isinstance(state, dict):
        raise _NoStateError("/finish shows JSON that is no object")
    if not state.keys() & _PARTS:
        raise _NoStateError(f"/finish shows JSON that is no state: {text[:100]}")
    if await asyncio.to_thread(_is_deeper, state, _DEEPEST):
        raise _NoStateError(f"/finish shows JSON of more than {_DEEPEST} levels")
    return state, len(text)


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested in more than `levels`."""
    level = [value]
    for _ in range(levels):
        lists = [each for each in level if isinstance(each, list)]
        objects = [each.values() for each in level if isinstance(each, dict)]
        level = [each for inner in (*lists, *objects) for each in inner]
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return False
    return True


class _Page:
    """The page in which the tries of one app are made.

    It is used again by the next try and closed with its context: Chromium 156 sometimes hangs for good
    when a page is closed between the first bytes of its document and the end of its loading, which is
    the moment at which a refused try ends (twice in 21 closings).
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._page: Any = None

    async def text_of(self, url: str, within_s: float, settings: CaptureSettings) -> str:
        """Return the text of the `<pre>` that an address shows.

        Raises:
            _NoStateError: It shows none within the time.
        """
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(within_s):
                if self._page is None:
                    page = await self._context.new_page()
                    await page.add_init_script(_script("unshown"))
                    self._page = page
                # only until the first bytes are there: `read_state.js` decides when the text is whole
                answer = await self._page.goto(url, wait_until="commit", timeout=within_s * 1000)
                if answer is not None and answer.status >= _BAD_STATUS:
                    raise _NoStateError(f"/finish answers with status {answer.status}")
                text = await still_text(self._page, within_s, settings)
                if text is None:
                    raise _NoStateError("/finish shows no <pre>")
                return str(text)
        except TimeoutError:
            self._page = None  # its blockage may also block the next try
            raise _NoStateError(f"/finish did not answer within {within_s:.3g} s") from None
        except Error as error:
            self._page = None  # it may have crashed
            raise _NoStateError(f"/finish cannot be read: {str(error).splitlines()[0]}") from error


async def still_text(page: Any, within_s: float, settings: CaptureSettings) -> str | None:
    """Return the text that `/finish` shows once both the page and its network are idle."""
    from playwright.async_api import TimeoutError as NotIdle

    script = _script("read_state").replace("PARTS", json.dumps(sorted(_PARTS)))
    limits = [1000 * each for each in (within_s, settings.quiet_s, settings.still_s)]
    with contextlib.suppress(NotIdle):  # an app that asks its server all the time
        await page.wait_for_load_state("networkidle", timeout=limits[1])
    text: str | None = await page.evaluate(script, limits)
    return text


def _script(name: str) -> str:
    return (Path(__file__).parent.parent / "scripts" / f"{name}.js").read_text(encoding="utf-8")


class _NoStateError(Exception):
    """An app gave no state in this try."""
