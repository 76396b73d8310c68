"""Bring back the first document of a tab that the browser itself opened.

Ctrl-click, middle click and `Target.createTarget` start the request before DevTools lets anyone
watch the new tab, so no event tells of it. What can still be learned is learned from the
response, if that comes in time, or else from the document that stands in the tab.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

from webarena_runner.recording.exchanges import Hop, Response
from webarena_runner.recording.link import CONNECTION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webarena_runner.recording.bodies import Bodies
    from webarena_runner.recording.exchanges import Traffic
    from webarena_runner.recording.link import Link

    Params = Mapping[str, Any]

__all__ = ["Recovery"]

_ASK_S = 5.0
_LOOKS_S = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_FIRST_DOCUMENT: dict[str, Any] = {
    "method": "GET",
    "headers": {},
    "kind": "Document",
    "by_gesture": False,
    "has_body": False,
    "body": None,
    "has_wire_report": False,
    "is_recovered": True,
}
_FACTS = """(() => {
  const [entry] = performance.getEntriesByType('navigation');
  return JSON.stringify({
    status: entry ? entry.responseStatus : 0,
    began: performance.timeOrigin / 1000,
  });
})()"""


class Recovery:
    """Looks after the tabs that appeared while recording."""

    def __init__(self, link: Link, traffic: Traffic, bodies: Bodies) -> None:
        self._link = link
        self._traffic = traffic
        self._bodies = bodies
        self._pages: dict[str, str] = {}

    def watch(self, session: str, target: Params) -> None:
        """Look after the tab `target`, just attached as `session`."""
        self._pages[session] = target["targetId"]
        if target["url"] != "about:blank":  # it is on its way already, perhaps not yet to where
            self._link.start(self._look(session))

    def notice(self, method: str, params: Params, session: str | None) -> None:
        """Take an event about a request whose beginning nobody reported."""
        request_id = params["requestId"]
        if session not in self._pages or self._traffic.knows(request_id):
            return
        if method == "Network.responseReceived" and params["loaderId"] == request_id:
            self._traffic.recover(_from_response(params, self._pages[session]))
        elif method == "Network.loadingFinished":
            self._link.start(self._look(session))

    async def _look(self, session: str) -> None:
        """Record the tab's document as soon as there is one, unless it is known by then."""
        with contextlib.suppress(*CONNECTION_ERRORS, KeyError):  # the tab is gone, or hangs
            for delay in _LOOKS_S:
                await asyncio.sleep(delay)
                tree = await self._ask("Page.getFrameTree", {}, session)
                frame = tree["frameTree"]["frame"]
                if _url(frame).startswith("http"):
                    await self._record(frame, session)
                    return

    async def _record(self, frame: Params, session: str) -> None:
        if self._traffic.knows(frame["loaderId"]):
            return
        answer = await self._ask(
            "Runtime.evaluate", {"expression": _FACTS, "returnByValue": True}, session
        )
        hop = _from_document(frame, json.loads(answer["result"]["value"]), self._pages[session])
        if not self._traffic.knows(hop.request_id):  # the response may have come meanwhile
            self._traffic.recover(hop)
            self._bodies.follow("Network.loadingFinished", hop, session)

    async def _ask(self, method: str, params: Params, session: str) -> dict[str, Any]:
        return await asyncio.wait_for(self._link.call(method, params, session), _ASK_S)


def _url(frame: Params) -> str:
    """Return what was asked for, without fragment: an error page has an address of its own."""
    return str(frame.get("unreachableUrl") or frame["url"]).partition("#")[0]


def _from_response(params: Params, page: str) -> Hop:
    response = params["response"]
    timing = response.get("timing")
    return Hop(
        request_id=params["requestId"],
        loader=params["requestId"],
        url=response["url"],
        frame_id=params.get("frameId", ""),
        page=page,
        wall_time=response["responseTime"] / 1000 if "responseTime" in response else time.time(),
        started=timing["requestTime"] if timing else params["timestamp"],
        response=Response.of(response),
        **_FIRST_DOCUMENT,
    )


def _from_document(frame: Params, facts: Params, page: str) -> Hop:
    failed = "unreachableUrl" in frame
    answer = {"status": facts["status"], "mimeType": frame.get("mimeType", "")}
    return Hop(
        request_id=frame["loaderId"],
        loader=frame["loaderId"],
        url=_url(frame),
        frame_id=frame["id"],
        page=page,
        wall_time=facts["began"],
        started=0.0,
        ended=0.0,
        response=None if failed else Response.of(answer),
        failure="failed" if failed else None,
        **_FIRST_DOCUMENT,
    )
