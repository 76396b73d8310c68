"""Guard of the paths `/finish`, `/config` and `/submit`: refused to agents, and every try recorded.

Rules by host cannot do it, because these paths are on the apps' own hosts. An agent that opens them can
read the state that is scored, change an app's settings or submit a state.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from bench_core.records import Record
from bench_core.serving import address_of

GUARDED = frozenset({"finish", "config", "submit"})
"""Last parts of paths that only the harness may open."""

_REFUSAL = (
    "<!doctype html><title>Not available</title><h1>This page is not part of the app</h1>"
    "<p>Go back and use the app itself.</p>"
)


class GuardedVisit(Record):
    """An agent's try to open a guarded path.

    Attributes:
        how: `request` was refused; `in-page` is a change of URL without a request, which is undone.
        at_s: Seconds after the guard was armed.
    """

    url: str
    how: str
    at_s: float


def is_guarded(url: str) -> bool:
    """Return whether a URL's path is the harness's own, in any spelling.

    >>> is_guarded("https://mail.test//%66inish/?x=1"), is_guarded("https://mail.test/finished")
    (True, False)
    """
    try:
        # apps answer to encoded and doubly encoded spellings, and Chromium takes a backslash for a slash
        path = unquote(unquote(urlsplit(url.replace("\\", "/")).path))
    except ValueError:
        return True  # a URL that cannot be parsed is refused
    parts = [part for part in path.replace("\\", "/").split("/") if part.strip()]
    return bool(parts) and parts[-1].strip().partition(";")[0].casefold() in GUARDED


class PathGuard:
    """A guard of one browser context; it collects `visits` and `strangers` while an agent works.

    Args:
        origins: The apps' origins; documents of other hosts are allowed and noted.
    """

    def __init__(self, origins: Iterable[str]) -> None:
        self.visits: list[GuardedVisit] = []
        self.strangers: set[str] = set()
        self._homes = {address_of(origin): origin for origin in origins}
        self._armed_at: float | None = None

    @property
    def armed(self) -> bool:
        """Whether paths are refused now."""
        return self._armed_at is not None

    async def install(self, context: Any) -> None:
        """Attach to a context; nothing is refused before `arm`."""
        await context.route(lambda url: self.armed and is_guarded(url), self._refuse)
        context.on("page", self._watch)
        for page in context.pages:
            self._watch(page)

    def arm(self) -> None:
        """Refuse the harness's paths from now on."""
        self._armed_at = time.monotonic()

    def disarm(self) -> None:
        """Stop refusing, because the harness opens these paths itself."""
        self._armed_at = None

    async def _refuse(self, route: Any) -> None:
        self._note(route.request.url, "request")
        await route.fulfill(status=403, content_type="text/html", body=_REFUSAL)

    def _watch(self, page: Any) -> None:
        page.on("framenavigated", self._navigated)

    async def _navigated(self, frame: Any) -> None:
        from playwright.async_api import Error

        url = frame.url
        address = address_of(url)
        # about:blank and data: have no host
        if not self.armed or not address.host:
            return
        if address not in self._homes:
            self.strangers.add(urlsplit(url).netloc)
        # `history.pushState` changes the URL without a request, so that no route sees it
        # the page with the refusal is a navigation, too
        elif is_guarded(url) and not self._was_refused(url):
            self._note(url, "in-page")
            try:
                await frame.goto(self._homes[address])
            except Error:  # the page went elsewhere meanwhile
                return

    def _was_refused(self, url: str) -> bool:
        return any(each.url == url and each.how == "request" for each in self.visits)

    def _note(self, url: str, how: str) -> None:
        at_s = 0.0 if self._armed_at is None else time.monotonic() - self._armed_at
        self.visits.append(GuardedVisit(url=url, how=how, at_s=round(at_s, 3)))
