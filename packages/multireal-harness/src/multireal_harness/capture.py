"""Take the end states from the apps' `/finish`, in the browser context that holds them.

The state of an app is in the browser's local storage, so nobody else can fetch it, and two live
pages of one app would overwrite each other: the agent's pages are closed first. Only the capture is
tried again, never the agent.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import NonNegativeFloat, NonNegativeInt

from bench_core.records import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multireal_harness.definitions import Site

__all__ = ["Capture", "CaptureSettings", "capture_states", "close_pages"]

_BAD_STATUS = 400
# Laying out megabytes of text takes longer than everything else: it need not be shown to be read.
_UNSHOWN = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('pre { display: none !important; }');
  document.adoptedStyleSheets = [sheet];
})()"""
_READ = """([limit, quiet]) => new Promise((done) => {
  const began = performance.now();
  let size = -1, since = began;
  const look = () => {
    const pre = document.querySelector('pre');
    const now = performance.now(), text = pre ? pre.textContent : '';
    if (text.length !== size) { size = text.length; since = now; }
    const end = text.slice(-64).trimEnd().slice(-1);
    const whole = size > 1 && (end === '}' || end === ']');
    if (whole) return done(text);
    if (document.readyState === 'complete' && now - since > quiet) return done(pre ? text : null);
    if (now - began > limit) return done(pre ? text : null);
    setTimeout(look, 50);
  };
  look();
})"""


@dataclass(frozen=True)
class CaptureSettings:
    """How patient the capture is, in seconds.

    Attributes:
        app_s: For one try at one app; real states of megabytes take seconds, slow apps a minute.
        quiet_s: A page that has loaded and shows nothing more for so long is taken as it is.
        tries: How often an app is asked.
    """

    app_s: float = 90.0
    quiet_s: float = 10.0
    tries: int = 2

    @property
    def longest_s(self) -> float:
        """How long a capture may take in all."""
        return self.tries * (self.app_s + 2.0)


class Capture(Record):
    """How the capture of one app went; `error` says why there is no state."""

    app: str
    characters: NonNegativeInt = 0
    seconds: NonNegativeFloat = 0.0
    tries: NonNegativeInt = 0
    error: str | None = None


async def capture_states(
    context: Any, sites: Sequence[Site], settings: CaptureSettings
) -> tuple[dict[str, Any], tuple[Capture, ...]]:
    """Return the states of all apps that gave one, by id, and how each capture went."""
    found = await asyncio.gather(*(_capture(context, site, settings) for site in sites))
    states = {capture.app: state for state, capture in found if capture.error is None}
    return states, tuple(capture for _, capture in found)


async def close_pages(context: Any) -> None:
    """Close the agent's pages; an empty one stays, because a browser without pages may end."""
    from playwright.async_api import Error  # noqa: PLC0415  # loaded with the browser

    kept = await context.new_page()
    for page in [each for each in context.pages if each is not kept]:
        try:
            await page.close()
        except Error:  # noqa: PERF203  # it closed itself meanwhile
            continue


async def _capture(context: Any, site: Site, settings: CaptureSettings) -> tuple[Any, Capture]:
    began, error = time.monotonic(), "it was not asked"
    for number in range(1, settings.tries + 1):
        try:
            text = await _text_of(context, f"{site.origin}/finish", settings)
            state = await asyncio.to_thread(json.loads, text)
        except _NoStateError as failure:  # noqa: PERF203  # a few tries at most
            error = str(failure)
        except (ValueError, RecursionError) as failure:
            error = f"/finish shows no JSON: {failure}"
        else:
            if isinstance(state, dict):
                capture = _record(site, began, number, characters=len(text))
                return state, capture
            error = "/finish shows JSON that is no object"
    return None, _record(site, began, settings.tries, error=error)


def _record(site: Site, began: float, tries: int, **more: Any) -> Capture:
    seconds = round(time.monotonic() - began, 3)
    return Capture(app=site.id, seconds=seconds, tries=tries, **more)


async def _text_of(context: Any, url: str, settings: CaptureSettings) -> str:
    from playwright.async_api import Error  # noqa: PLC0415  # loaded with the browser

    try:
        async with asyncio.timeout(settings.app_s):
            return await _read(context, url, settings)
    except TimeoutError:
        raise _NoStateError(f"/finish did not answer within {settings.app_s:g} s") from None
    except Error as error:
        raise _NoStateError(f"/finish cannot be read: {str(error).splitlines()[0]}") from error


async def _read(context: Any, url: str, settings: CaptureSettings) -> str:
    page = await context.new_page()
    try:
        await page.add_init_script(_UNSHOWN)
        answer = await page.goto(url, wait_until="commit", timeout=settings.app_s * 1000)
        if answer is not None and answer.status >= _BAD_STATUS:
            raise _NoStateError(f"/finish answers with status {answer.status}")
        text = await page.evaluate(_READ, [settings.app_s * 1000, settings.quiet_s * 1000])
    finally:
        await page.close()
    if text is None:
        raise _NoStateError("/finish shows no <pre>")
    return str(text)


class _NoStateError(Exception):
    """An app gave no state this time."""
