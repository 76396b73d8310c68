"""Faults in the traffic between an agent's browser and the apps while the agent worked.

The state of an app is in the browser, and `/finish` may show a valid one although the app answered with
errors before. Only requests to the task's apps count, and only those that an app needs to work: pages, scripts
and the requests of scripts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bench_core.records import Record
from bench_core.records.vocabulary import SuspectCause
from bench_core.serving import address_of

_NEEDED = frozenset({"document", "script", "xhr", "fetch"})
_TOO_MANY, _SERVER_ERROR = 429, 500
# Failures that the page or the agent's browser caused; all others are the network's or the app's.
_LEFT = ("ERR_ABORTED",)
_REFUSED = ("ERR_BLOCKED", "ERR_UNSAFE_PORT", "ERR_INVALID_URL", "_URL_SCHEME", "csp", "CORS")
_GRAVEST = (
    SuspectCause.ENVIRONMENT_FAULT,
    SuspectCause.SITE_ERROR,
    SuspectCause.NAVIGATION_BLOCKED,
)


class AppTrafficFault(Record):
    """A cause for which a trial's score may not be the agent's own doing, and the evidence for it."""

    cause: SuspectCause
    evidence: str


@dataclass(frozen=True)
class _OpenRequest:
    """An open request."""

    what: tuple[str, str]
    at: float


class AppWatch:
    """Records faults in one browser context's traffic with the apps, from `arm` to `disarm`.

    A fault is dropped when the app answers the same request later.

    Args:
        origins: The apps' origins.
        stalled_s: Seconds after which an open request counts as not answered.
    """

    def __init__(self, origins: Iterable[str], stalled_s: float) -> None:
        self._homes = {address_of(origin) for origin in origins}
        self._stalled_s = stalled_s
        self._armed = False
        self._found: dict[tuple[str, str], AppTrafficFault] = {}
        self._crashes = 0
        self._asked: dict[Any, _OpenRequest] = {}

    def install(self, context: Any) -> None:
        """Attach to a context; nothing counts before `arm`."""
        context.on("request", self._begun)
        context.on("response", self._answered)
        context.on("requestfinished", self._finished)
        context.on("requestfailed", self._failed)
        context.on("page", self._watch)
        for page in context.pages:
            self._watch(page)

    def arm(self) -> None:
        """Start counting: the agent begins."""
        self._armed = True

    def disarm(self) -> None:
        """Stop counting: the agent has ended."""
        if not self._armed:
            return
        self._armed = False
        for each in self._asked.values():
            if time.monotonic() - each.at >= self._stalled_s:
                self._note(each.what, SuspectCause.NAVIGATION_BLOCKED, "was never answered")

    def fault(self, *, crashed_by_agent: bool = False) -> AppTrafficFault | None:
        """Return the fault that explains most, None if there is none.

        A crash of a page counts unless a command of the agent caused it.
        """
        found = list(self._found.values())
        if self._crashes and not crashed_by_agent:
            why = f"{self._crashes} of the browser's pages crashed"
            found.append(AppTrafficFault(cause=SuspectCause.ENVIRONMENT_FAULT, evidence=why))
        return min(found, key=lambda each: _GRAVEST.index(each.cause), default=None)

    def _watch(self, page: Any) -> None:
        page.on("crash", self._crashed)

    def _crashed(self, _page: Any) -> None:
        self._crashes += self._armed

    def _begun(self, request: Any) -> None:
        if (
            self._armed
            and address_of(request.url) in self._homes
            and request.resource_type in _NEEDED
        ):
            what = (request.method, request.url.partition("?")[0].partition("#")[0])
            self._asked[request] = _OpenRequest(what, time.monotonic())

    def _answered(self, response: Any) -> None:
        asked, status = self._asked.get(response.request), response.status
        if asked is not None and (status == _TOO_MANY or status >= _SERVER_ERROR):
            self._note(asked.what, SuspectCause.SITE_ERROR, f"was answered with status {status}")
            del self._asked[response.request]

    def _finished(self, request: Any) -> None:
        # an app that answers the same request later works
        asked = self._asked.pop(request, None)
        if asked is not None and self._armed:
            self._found.pop(asked.what, None)

    def _failed(self, request: Any) -> None:
        asked, why = self._asked.pop(request, None), str(request.failure or "no answer")
        if asked is None or any(each in why for each in _REFUSED):
            return
        # a page that is left aborts its requests, which says nothing unless they had waited long
        if any(each in why for each in _LEFT) and time.monotonic() - asked.at < self._stalled_s:
            return
        self._note(asked.what, SuspectCause.NAVIGATION_BLOCKED, f"could not be opened: {why}")

    def _note(self, what: tuple[str, str], cause: SuspectCause, how: str) -> None:
        evidence = f"{' '.join(what)} {how}"
        self._found[what] = AppTrafficFault(cause=cause, evidence=evidence)
