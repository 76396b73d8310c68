"""Observer of all HTTP traffic of a Chromium over one DevTools connection.

Handlers only record and start tasks; one that waited for an answer would block the loop that receives it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bench_core.errors import BrowserError
from webarena_runner.recording.bodies import Bodies
from webarena_runner.recording.exchanges import Traffic
from webarena_runner.recording.har import Har, RecordingLimits, build_har
from webarena_runner.recording.link import CONNECTION_ERRORS, DevToolsLink
from webarena_runner.recording.unreported import Unreported

_ATTACH_S = 3.0
_POLL_S = 0.02
# Other requests, for images, styles and scripts, are never scored, so that `stop` need not wait for them.
_AWAITED = ("Document", "Download", "XHR", "Fetch", "Ping", "Preflight")
_TABS = ("page", "iframe")
# The event of a paused request has all that it posts, twice and in base64.
_LARGEST_MESSAGE = 512 * 1024 * 1024
# New targets wait until their network is observed: a popup's first request would be missed.
_AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


class BrowserObserver:
    """Observer of every request of a browser, from `connect` to `stop`; see `HarRecorder`."""

    def __init__(
        self,
        cdp_url: str,
        *,
        limits: RecordingLimits | None = None,
        settle_s: float = 0.3,
        connect_s: float = 10.0,
        tab_setup: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:
        self._tab_setup = tuple(tab_setup)
        self._cdp_url = cdp_url
        self._limits = limits or RecordingLimits()
        self._settle_s = settle_s
        self._connect_s = connect_s
        self._traffic = Traffic(self._limits.entries)
        self._link: DevToolsLink | None = None
        self._unreported: Unreported | None = None
        self._browser = ("Chromium", "")
        self._pages: dict[str, str | None] = {}
        self._targets: dict[str, str] = {}
        self._phases: list[tuple[str, float]] = []
        self._last_event = 0.0
        self._cut_short = False

    async def connect(self) -> None:
        """Connect and attach to every existing target.

        Raises:
            BrowserError: The browser cannot be reached.
        """
        try:
            await asyncio.wait_for(self._connect(), self._connect_s)
        except CONNECTION_ERRORS as error:
            await self.disconnect()
            raise BrowserError(
                f"cannot record the browser at {self._cdp_url}: {error!r}; is it still running?"
            ) from error

    def mark(self, name: str) -> None:
        """Note a moment, such as the end of a phase, in the recording."""
        self._phases.append((name, time.time()))

    async def attached(self, target_id: str, within_s: float = _ATTACH_S) -> None:
        """Wait until all traffic of a tab is observed, which begins a moment after its creation."""
        end = time.monotonic() + within_s
        while target_id not in self._pages.values() and time.monotonic() < end:  # noqa: ASYNC110  # polls a set
            await asyncio.sleep(_POLL_S)
        if self._link is not None:
            await self._link.wait_for_posted(end - time.monotonic())

    async def stop(self, deadline_s: float = 5.0) -> Har:
        """Wait until the traffic has settled, at most `deadline_s`, and return the recording."""
        if self._link is not None:
            end = time.monotonic() + deadline_s
            await self._settle(self._link, deadline_s)
            await self._link.wait_for_work(end - time.monotonic())
        await self.disconnect()
        return self.snapshot()

    async def disconnect(self) -> None:
        """Disconnect from the browser; paused requests continue."""
        if self._link is not None:
            self._cut_short = self._link.lost
            await self._link.close()
            self._link = None

    def snapshot(self) -> Har:
        """Return the recording so far."""
        problems = []
        if self._cut_short or (self._link is not None and self._link.lost):
            problems.append("The browser closed the connection before the recording was stopped.")
        return build_har(
            self._traffic.exchanges(),
            browser=self._browser,
            comment=self._limits.describe(),
            phases=self._phases,
            problems=problems,
            dropped=self._traffic.dropped,
            silent=self._traffic.silent,
        )

    async def _connect(self) -> None:
        self._link = link = await DevToolsLink.open(self._cdp_url, _LARGEST_MESSAGE)
        bodies = Bodies(link, self._limits)
        self._unreported = unreported = Unreported(link, self._traffic, bodies)

        def listen(method: str, params: Mapping[str, Any], session: str | None) -> None:
            self._last_event = time.monotonic()
            if unreported.covers(method, params):
                return
            if params["requestId"].startswith("preload-"):  # each worker counts its own
                worker = self._targets.get(session or "", "")
                params = {**params, "requestId": f"{params['requestId']} {worker}"}
            page = self._pages.get(session or "")
            hop = self._traffic.feed(method, params, session, page)
            if hop is not None:
                bodies.follow(method, hop, session)

        def paused(params: Mapping[str, Any], _: str | None) -> None:
            self._last_event = time.monotonic()
            unreported.on_paused(params)

        def detached(params: Mapping[str, Any], _: str | None) -> None:
            self._pages.pop(params["sessionId"], None)
            self._targets.pop(params["sessionId"], None)
            self._traffic.forget_session(params["sessionId"])

        link.on("Target.attachedToTarget", partial(self._attach, link, bodies))
        link.on("Target.detachedFromTarget", detached)
        for method in self._traffic.methods:
            link.on(method, partial(listen, method))
        link.on("Fetch.requestPaused", paused)
        product = (await link.call("Browser.getVersion", {}))["product"]
        name, _, version = product.partition("/")
        self._browser = (name, version)
        await link.call("Target.setAutoAttach", _AUTO_ATTACH)
        await unreported.start()
        # A page that hangs does not answer; it must not keep the recording from starting.
        await link.wait_for_posted(_ATTACH_S)

    def _attach(
        self, link: DevToolsLink, bodies: Bodies, params: Mapping[str, Any], parent: str | None
    ) -> None:
        session, target = params["sessionId"], params["targetInfo"]
        self._targets[session] = target["targetId"]
        if _is_of_the_browser_itself(target):
            link.post("Runtime.runIfWaitingForDebugger", {}, session)
            return
        is_page = target["type"] == "page"
        self._pages[session] = target["targetId"] if is_page else self._pages.get(parent or "")
        # longer bodies are left out of `requestWillBeSent`
        posted = {"maxPostDataSize": self._limits.post_bytes}
        # One after the other without waiting: a paused worker answers only once it runs,
        # and its page may wait for it.
        link.post("Network.enable", {**bodies.buffers(), **posted}, session)
        link.post("Network.configureDurableMessages", bodies.buffers(), session)
        for method, settings in self._tab_setup if target["type"] in _TABS else ():
            link.post(method, settings, session)
        link.post("Target.setAutoAttach", _AUTO_ATTACH, session)
        link.post("Runtime.runIfWaitingForDebugger", {}, session)

    async def _settle(self, link: DevToolsLink, patience_s: float) -> None:
        """Wait until no recent request is pending and no event came for `settle_s`."""
        begun = time.monotonic()
        while not link.lost and time.monotonic() < begun + patience_s:
            quiet = time.monotonic() - max(self._last_event, begun)
            if quiet >= self._settle_s and not self._awaits(patience_s):
                break
            await asyncio.sleep(_POLL_S)
        await link.pass_barrier()

    def _awaits(self, patience_s: float) -> bool:
        """Return whether an answer may still come; a request that is open for long may never get one."""
        oldest = time.time() - patience_s
        if self._unreported is not None and self._unreported.awaits(oldest):
            return True
        return any(
            hop.kind in _AWAITED and hop.wall_time > oldest for hop in self._traffic.pending()
        )


def _is_of_the_browser_itself(target: Mapping[str, str]) -> bool:
    """Return whether a target is the browser's own, e.g. the address bar, which loads hundreds of files."""
    return target["type"] != "page" and target["url"].startswith("chrome://")
