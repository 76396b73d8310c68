"""Recording of requests that Chromium's Network domain does not report.

These are downloads by `<a download>`, requests that a page sends while it is being left, and the first
document of a tab that the browser itself opens, by ctrl-click, middle click or `Target.createTarget`.
The Fetch domain of the whole browser pauses documents, pings, fetches and XHRs for a moment. A request
with a `networkId` is reported, as a rule; one that is not, or not yet, is recorded here and paused again
at its response, for status and headers.
"""

from __future__ import annotations

import re
import time
from typing import Any

from webarena_runner.recording.bodies import Bodies
from webarena_runner.recording.exchanges import (
    Hop,
    Params,
    ReportedResponse,
    Traffic,
    inline_body,
)
from webarena_runner.recording.link import DevToolsLink

# Fetch calls both fetches and XHRs `XHR`; a keepalive fetch cannot be distinguished from the others.
_PATTERNS = [{"urlPattern": "http*", "resourceType": kind} for kind in ("Document", "Ping", "XHR")]


class Unreported:
    """Checks every paused request, records it where the Network domain does not, and continues it.

    Args:
        link: The recorder's connection to the browser.
        traffic: The traffic to which requests are added.
        bodies: The recording of posted bodies.
    """

    def __init__(self, link: DevToolsLink, traffic: Traffic, bodies: Bodies) -> None:
        self._link = link
        self._traffic = traffic
        self._bodies = bodies
        self._paused: dict[str, Hop] = {}
        self._tabs: set[str] = set()
        self._unanswered: dict[str, float] = {}

    async def start(self) -> None:
        """Start pausing requests."""
        await self._link.call("Fetch.enable", {"patterns": _PATTERNS})

    def awaits(self, since: float) -> bool:
        """Return whether an answer may still come to a request continued after `since`, in Unix seconds.

        The Network domain reports requests of a closing frame as aborted before they are answered.
        """
        return any(begun > since for begun in self._unanswered.values())

    def covers(self, method: str, params: Params) -> bool:
        """Return whether an event of the Network domain is about a request that is recorded here.

        The domain reports a tab's first document only from the redirect on at which it attached to the tab.
        """
        return (
            method == "Network.requestWillBeSent"
            and "redirectResponse" in params
            and params.get("frameId") in self._tabs
            and self._traffic.last(params["requestId"]) is None
        )

    def on_paused(self, params: Params) -> None:
        """Handle the event of a paused request or response."""
        if "responseStatusCode" in params or _failed(params):
            self._unanswered.pop(params["requestId"], None)
            self._end(params)
            self._continue(params)
        else:
            # No page waits for a ping, and its frame may be gone before its response comes.
            wanted = self._begin(params) or params["resourceType"] == "Ping"
            if wanted:
                self._unanswered[params["requestId"]] = time.time()
            self._continue(params, interceptResponse=wanted)

    def _begin(self, params: Params) -> bool:
        """Record the request unless it is reported already; return whether it was recorded."""
        if (reported := self._reported(params)) is not None:
            self._bodies.held(reported, params["request"])
            return False
        hop = _hop(params, self._traffic.page_of(params["frameId"]))
        begun = self._traffic.deferred(hop)
        if begun is not None:
            begun.headers, begun.has_body, begun.body = hop.headers, hop.has_body, hop.body
        elif not self._traffic.add(hop):
            return False
        if hop.kind == "Document" and "networkId" not in params:
            self._tabs.add(hop.frame_id)
        kept = begun or hop
        self._bodies.held(kept, params["request"])
        self._paused[params["requestId"]] = kept
        self._bodies.follow("Network.requestWillBeSent", kept, None)
        return True

    def _end(self, params: Params) -> None:
        hop, reported = self._paused.pop(params["requestId"], None), self._reported(params)
        if reported is None and hop is not None:
            _end(hop, params)
        elif reported is not None and reported.response is None and not _failed(params):
            # It may be the only report: for a frame that is gone the Network domain reports `aborted`.
            reported.response = _response(params)

    def _reported(self, params: Params) -> Hop | None:
        hop = self._traffic.last(params.get("networkId", ""))
        return None if hop is None or hop.is_recovered else hop

    def _continue(self, params: Params, **more: Any) -> None:
        order = {"requestId": params["requestId"], **more}
        self._link.post("Fetch.continueRequest", order, None)


def _hop(params: Params, page: str | None) -> Hop:
    request, kind, body = params["request"], _kind(params), inline_body(params["request"])
    # The hops of a redirect have one number, and another behind the dot.
    own_id = params["requestId"].rpartition(".")[0]
    return Hop(
        request_id=params.get("networkId", own_id),
        url=request["url"],
        method=request["method"],
        headers=request["headers"],
        kind=kind,
        frame_id=params["frameId"],
        loader="",
        page=params["frameId"] if kind == "Document" else page,
        wall_time=time.time(),
        started=time.monotonic(),
        by_gesture=False,
        has_body=request.get("hasPostData", False) or body is not None,
        body=body,
        # Where the Network domain has an id for it, it reports at least the wire's headers.
        has_wire_report=None if "networkId" in params else False,
        content_note="the browser did not report this request, and gave no body",
        is_recovered=True,
    )


def _kind(params: Params) -> str:
    """Return the Network domain's name of the kind; a download is a document that is never shown."""
    names = {name.lower() for name in params["request"]["headers"]}
    if params["resourceType"] == "Document":
        return "Document" if "accept" in names else "Download"
    if params["resourceType"] == "XHR":
        return "Preflight" if "access-control-request-method" in names else "Fetch"
    return str(params["resourceType"])


def _end(hop: Hop, params: Params) -> None:
    hop.ended, hop.failure = time.monotonic(), None
    if _failed(params):  # in the Network domain's words: net::ERR_CONNECTION_REFUSED
        hop.failure = "net::ERR" + re.sub("(?=[A-Z])", "_", params["responseErrorReason"]).upper()
    else:
        hop.response = _response(params)


def _failed(params: Params) -> bool:
    return "responseErrorReason" in params


def _response(params: Params) -> ReportedResponse:
    headers: dict[str, str] = {}
    for each in params.get("responseHeaders", ()):
        name, value = each["name"], each["value"]
        headers[name] = f"{headers[name]}\n{value}" if name in headers else value
    types = [value for name, value in headers.items() if name.lower() == "content-type"]
    answer = {
        "status": params["responseStatusCode"],
        "statusText": params.get("responseStatusText", ""),
        "headers": headers,
        "mimeType": types[0].partition(";")[0] if types else "",
    }
    return ReportedResponse.of(answer)
