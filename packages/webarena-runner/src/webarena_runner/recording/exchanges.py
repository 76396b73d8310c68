"""Exchanges, requests with their responses, from the DevTools Network events of all sessions.

A redirect is an exchange of its own: 288 of the data set's checks expect a POST that is answered with 302.
Chromium reports each request twice: by the renderer (`requestWillBeSent`, `responseReceived`) and, if it
went over the wire, by the network stack (`...ExtraInfo`, the true headers). The two streams are not ordered
against each other and share only the request id, so the nth report of the second kind belongs to the nth hop
that has any.
"""

from __future__ import annotations

import base64
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

Params = Mapping[str, Any]

_T = TypeVar("_T")
_PRELOADED = re.compile(r"<([^>]*)>[^,]*\brel=\"?(?:preload|modulepreload)\b")
# webarena-verified ignores these (`NetworkEvent.is_evaluation_event`)
_STATIC = (".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".woff", ".woff2", ".ttf", ".ico", ".webp")  # fmt: skip


@dataclass
class ReportedResponse:
    """A response as the renderer reports it."""

    status: int
    status_text: str
    headers: Mapping[str, str]
    mime_type: str
    protocol: str
    address: str | None
    connection: int | None
    timing: Mapping[str, float] | None
    cache: str | None
    from_service_worker: bool

    @classmethod
    def of(cls, response: Params) -> ReportedResponse:
        """Return the fields of the protocol's `Response` that a HAR needs."""
        cache = "prefetch" if response.get("fromPrefetchCache") else None
        cache = "disk" if response.get("fromDiskCache") else cache
        return cls(
            status=response["status"],
            status_text=response.get("statusText", ""),
            headers=response.get("headers", {}),
            mime_type=response.get("mimeType", ""),
            protocol=response.get("protocol", ""),
            address=response.get("remoteIPAddress"),
            connection=response.get("connectionId"),
            timing=response.get("timing"),
            cache=cache,
            from_service_worker=response.get("fromServiceWorker", False),
        )


@dataclass
class SentHeaders:
    """The headers that the network stack sent, with Accept, Sec-Fetch-* and Cookie."""

    headers: Mapping[str, str]


@dataclass
class Received:
    """Status and headers that the network stack received, with Set-Cookie."""

    status: int
    headers: Mapping[str, str]
    text: str | None


@dataclass
class Hop:
    """One request as the renderer reports it.

    Attributes:
        wall_time: When it started, in seconds since 1970.
        started: The same on the browser's monotonic clock, on which the events are timed.
        body: The posted bytes; None when there are none, or not yet.
        has_wire_report: Whether the network stack also reports it; None until known.
        loader: The document of the frame that sent it; a document's own request id is its loader.
        failure: The browser's error text.
        content: The response body; None when it was not kept, and then `content_note` says why.
        is_recovered: Whether its beginning was not reported by the Network domain, or not yet.
    """

    request_id: str
    url: str
    method: str
    headers: Mapping[str, str]
    kind: str
    frame_id: str
    loader: str
    page: str | None
    wall_time: float
    started: float
    by_gesture: bool
    has_body: bool
    body: bytes | None
    body_note: str = ""
    response: ReportedResponse | None = None
    has_wire_report: bool | None = None
    failure: str | None = None
    ended: float | None = None
    transferred: int | None = None
    content: bytes | None = None
    content_note: str = ""
    is_recovered: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether the browser still waits for it."""
        return self.ended is None


@dataclass
class HttpExchange:
    """One request and its response, from both reports."""

    hop: Hop
    sent: SentHeaders | None
    received: Received | None


@dataclass
class _Chain:
    """All reports with one request id: hops in order, wire reports in order.

    Attributes:
        recovered: Hops that were recorded before they were reported, until their reports come.
    """

    hops: list[Hop] = field(default_factory=list)
    recovered: list[Hop] = field(default_factory=list)
    sent: list[SentHeaders] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    def exchanges(self) -> Iterable[HttpExchange]:
        sent, received = _spread(self.hops, self.sent), _spread(self.hops, self.received)
        return map(HttpExchange, self.hops, sent, received)

    def take_recovered(self, hop: Hop) -> None:
        """Add to `hop` the parts seen before its report: the body, and a response.

        For a frame that is gone no other response comes, and for an uploaded file no other bytes.
        """
        for at, each in enumerate(self.recovered):
            if (each.url, each.method) == (hop.url, hop.method):
                found = self.recovered.pop(at)
                hop.response = found.response
                hop.has_body, hop.body = hop.has_body or found.has_body, found.body or hop.body
                hop.body_note = found.body_note
                return


class Traffic:
    """All requests so far: feed it events, then read `exchanges`.

    Args:
        max_hops: Limit of images, style sheets, scripts and fonts, and limit of all other requests,
            which alone are scored.

    Attributes:
        dropped: Number of those other requests over the limit.
        silent: URLs that Chromium may have requested without a report, and why.
    """

    def __init__(self, max_hops: int) -> None:
        self.dropped = 0
        self.silent: dict[str, str] = {}
        self._max_hops = max_hops
        self._kept: Counter[bool] = Counter()
        self._chains: defaultdict[str, _Chain] = defaultdict(_Chain)
        self._pages: dict[str, str] = {}
        self._owners: dict[tuple[str, str], str | None] = {}
        self._handlers: dict[str, Callable[[Params, str | None], Hop | None]] = {
            "Network.requestWillBeSent": self._request,
            "Network.requestWillBeSentExtraInfo": self._sent,
            "Network.requestServedFromCache": self._served_from_cache,
            "Network.responseReceived": self._response,
            "Network.responseReceivedExtraInfo": self._received,
            "Network.responseReceivedEarlyHints": self._hinted,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._failed,
        }

    @property
    def methods(self) -> Iterable[str]:
        """The events to feed it."""
        return self._handlers

    def feed(
        self, method: str, params: Params, session: str | None, page: str | None = None
    ) -> Hop | None:
        """Add one event of one session; return its hop when that is known.

        Several sessions may report one worker (up to four were seen): the first report of a kind of
        event for a request counts, the copies of other sessions are ignored.
        """
        key = (params["requestId"], method)
        if self._owners.setdefault(key, session) != session:
            return None
        return self._handlers[method](params, page)

    def forget_session(self, session: str) -> None:
        """Accept reports of other sessions for the requests of a detached one."""
        for key in [key for key, owner in self._owners.items() if owner == session]:
            del self._owners[key]

    def add(self, hop: Hop) -> bool:
        """Add a request, or the next hop of one, unless there are too many; return whether it was added."""
        static = _is_static(hop)
        if self._kept[static] >= self._max_hops:
            self.dropped += not static
            return False
        self._kept[static] += 1
        self._chains[hop.request_id].hops.append(hop)
        if hop.page is not None:
            self._pages.setdefault(hop.frame_id, hop.page)
        return True

    def page_of(self, frame_id: str) -> str | None:
        """Return the tab of a frame."""
        return self._pages.get(frame_id)

    def last(self, request_id: str) -> Hop | None:
        """Return the last hop of a request."""
        chain = self._chains.get(request_id)
        return chain.hops[-1] if chain and chain.hops else None

    def deferred(self, hop: Hop) -> Hop | None:
        """Return the recorded `fetchLater` that `hop` is: the browser reports only the beginning of those.

        The browser's own ids are tokens; those of renderers are two numbers and a dot.
        """
        every = (each for chain in self._chains.values() for each in chain.hops)
        same = ("Fetch", None, hop.frame_id, hop.method, hop.url)
        for each in every:
            facts = (each.kind, each.response, each.frame_id, each.method, each.url)
            if facts == same and "." not in each.request_id:
                return each
        return None

    def pending(self) -> list[Hop]:
        """Return the requests whose end was not reported."""
        return [hop for hop in map(self.last, self._chains) if hop is not None and hop.is_pending]

    def exchanges(self) -> list[HttpExchange]:
        """Return all requests in the order in which they started."""
        every = (each for chain in self._chains.values() for each in chain.exchanges())
        # the evaluator reads entries in the order of the file, and often counts the last one
        return sorted(every, key=lambda exchange: exchange.hop.wall_time)

    def _request(self, params: Params, page: str | None) -> Hop | None:
        chain = self._chains[params["requestId"]]
        if chain.hops and chain.hops[0].is_recovered:  # recorded before it was reported
            self._kept.subtract(map(_is_static, chain.hops))
            chain.recovered, chain.hops = chain.hops, []
        previous = chain.hops[-1] if chain.hops else None
        if "redirectResponse" in params and previous is not None:
            previous.response = ReportedResponse.of(params["redirectResponse"])
            previous.has_wire_report = bool(params.get("redirectHasExtraInfo", False))
            previous.ended = params["timestamp"]
            previous.content_note = "the browser keeps no bodies of redirects"
        # data: and blob: are not traffic of a site, and an entry without a URL fails the evaluator
        if not params["request"]["url"].startswith(("http://", "https://")):
            return None
        hop = _hop(params, page)
        if hop.headers.get("Service-Worker") == "script":
            self.silent[hop.url] = "checked for updates, as the script of a service worker"
        chain.take_recovered(hop)
        if previous is not None and not hop.has_body and previous.method == hop.method:
            # A redirect that keeps the method keeps the body, which the browser does not repeat.
            hop.body, hop.has_body = previous.body, previous.has_body
        return hop if self.add(hop) else None

    def _hinted(self, params: Params, _page: str | None) -> Hop | None:
        document = self.last(params["requestId"])
        links = [v for k, v in params["headers"].items() if k.lower() == "link" and document]
        for target in (each for value in links for each in _PRELOADED.findall(value)):
            url = urljoin(document.url, target) if document else target
            self.silent[url] = "preloaded by early hints"
        return None

    def _sent(self, params: Params, _page: str | None) -> Hop | None:
        # this report may come before that of the request itself
        self._chains[params["requestId"]].sent.append(SentHeaders(params["headers"]))
        return None

    def _received(self, params: Params, _page: str | None) -> Hop | None:
        received = Received(params["statusCode"], params["headers"], params.get("headersText"))
        self._chains[params["requestId"]].received.append(received)
        return None

    def _served_from_cache(self, params: Params, _page: str | None) -> Hop | None:
        hop = self._open(params)
        if hop is not None:
            hop.has_wire_report = False
        return hop

    def _response(self, params: Params, _page: str | None) -> Hop | None:
        hop = self._open(params)
        if hop is None:
            return None
        from_memory = hop.has_wire_report is False
        hop.response = ReportedResponse.of(params["response"])
        if from_memory:
            hop.response.cache = "memory"
        hop.has_wire_report = bool(params.get("hasExtraInfo", False))
        return hop

    def _finished(self, params: Params, _page: str | None) -> Hop | None:
        hop = self._open(params)
        if hop is not None:
            hop.ended = params["timestamp"]
            hop.transferred = int(params.get("encodedDataLength", 0))
            if hop.request_id == hop.loader:
                self._abandon(hop)
        return hop

    def _failed(self, params: Params, _page: str | None) -> Hop | None:
        hop = self._open(params)
        if hop is not None:
            hop.ended = params["timestamp"]
            cors = params.get("corsErrorStatus", {}).get("corsError")
            details = params.get("errorText"), params.get("blockedReason"), cors
            hop.failure = " ".join(filter(None, details)) or "failed"
        return hop

    def _abandon(self, document: Hop) -> None:
        """End the open requests of the frame's earlier document, for which no event will come."""
        for hop in self.pending():
            if hop.frame_id == document.frame_id and hop.loader not in ("", document.loader):
                hop.ended = document.ended
                hop.failure = "the page was left before it ended"

    def _open(self, params: Params) -> Hop | None:
        """Return the hop of an event; None for requests that are not HTTP or began before the recording."""
        hop = self.last(params["requestId"])
        return hop if hop is not None and hop.is_pending else None


def _hop(params: Params, page: str | None) -> Hop:
    request = params["request"]
    body = inline_body(request)
    return Hop(
        request_id=params["requestId"],
        url=request["url"],
        method=request["method"],
        headers=request.get("headers", {}),
        kind=params.get("type", "Other"),
        frame_id=params.get("frameId", ""),
        loader=params.get("loaderId", ""),
        page=page,
        wall_time=params["wallTime"],
        started=params["timestamp"],
        by_gesture=params.get("hasUserGesture", False),
        has_body=request.get("hasPostData", False) or body is not None,
        body=body,
    )


def _is_static(hop: Hop) -> bool:
    return urlsplit(hop.url).path.endswith(_STATIC)


def inline_body(request: Params) -> bytes | None:
    """Return the posted bytes if the event has all of them; its text form is lossy."""
    entries = request.get("postDataEntries", [])
    if entries and all("bytes" in entry for entry in entries):
        return b"".join(base64.b64decode(entry["bytes"]) for entry in entries)
    if not entries and "postData" in request:
        return str(request["postData"]).encode(errors="surrogatepass")
    return None


def _spread(hops: Iterable[Hop], reports: Iterable[_T]) -> list[_T | None]:
    left = iter(reports)
    return [None if hop.has_wire_report is False else next(left, None) for hop in hops]
