"""Record all HTTP traffic of a Chromium over a DevTools connection of its own.

The connection is not shared with the agent's: `cdp_use` keeps one handler per event, so a
recorder on the agent's connection would take events away from it. Handlers here only take notes
and start tasks; one that waited for an answer would stop the very loop that brings it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from bench_core.errors import BrowserError
from webarena_runner.recording.bodies import Bodies
from webarena_runner.recording.exchanges import Traffic
from webarena_runner.recording.har import Har, build_har
from webarena_runner.recording.limits import RecordingLimits
from webarena_runner.recording.link import CONNECTION_ERRORS, Link
from webarena_runner.recording.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

__all__ = ["HarRecorder"]

_ATTACH_S = 3.0
_POLL_S = 0.02
_AWAITED = ("Document", "XHR", "Fetch", "Ping", "Preflight")
_TABS = ("page", "iframe")
_AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


class HarRecorder:
    """Records from entering to `stop`; leaving without `stop` keeps what `snapshot` returns.

    Args:
        cdp_url: The browser, as `http://HOST:PORT` or its websocket URL.
        limits: Bounds of memory and time.
        settle_s: How long nothing must happen before `stop` believes that all has been seen.
        connect_s: How long connecting may take.
        tab_setup: DevTools commands that every tab gets before its first request.
    """

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
        self._link: Link | None = None
        self._browser = ("Chromium", "")
        self._pages: dict[str, str | None] = {}
        self._marks: list[tuple[str, float]] = []
        self._last_event = 0.0
        self._started = False
        self._cut_short = False

    async def __aenter__(self) -> Self:
        """Connect and attach to every target there is.

        Raises:
            BrowserError: The browser cannot be reached.
        """
        try:
            await asyncio.wait_for(self._connect(), self._connect_s)
        except CONNECTION_ERRORS as error:
            await self._disconnect()
            raise BrowserError(
                f"cannot record the browser at {self._cdp_url}: {error!r}; is it still running?"
            ) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._disconnect()

    def mark(self, name: str) -> None:
        """Note a moment, such as the end of a phase, in the recording."""
        self._marks.append((name, time.time()))

    async def attached(self, target_id: str, within_s: float = _ATTACH_S) -> None:
        """Wait until everything a tab does is seen; a tab just made may be ahead of that."""
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
        await self._disconnect()
        return self.snapshot()

    def snapshot(self) -> Har:
        """Return what was recorded so far."""
        problems = []
        if self._cut_short or (self._link is not None and self._link.lost):
            problems.append("The browser closed the connection before the recording was stopped.")
        if self._traffic.dropped:
            problems.append(f"{self._traffic.dropped} later requests were over the limit.")
        return build_har(
            self._traffic.exchanges(),
            browser=self._browser,
            comment=self._limits.describe(),
            marks=self._marks,
            problems=problems,
        )

    async def _connect(self) -> None:
        # Base64 adds a third to a body, JSON escapes may multiply it by six.
        largest = 8 * max(self._limits.body_bytes, self._limits.post_bytes)
        self._link = link = await Link.open(self._cdp_url, largest)
        bodies = Bodies(link, self._limits)
        recovery = Recovery(link, self._traffic, bodies)
        link.on("Target.attachedToTarget", self._attacher(link, bodies, recovery))
        link.on("Target.detachedFromTarget", self._on_detached)
        for method in self._traffic.methods:
            link.on(method, self._listener(method, bodies, recovery))
        product = (await link.call("Browser.getVersion", {}))["product"]
        name, _, version = product.partition("/")
        self._browser = (name, version)
        await link.call("Target.setAutoAttach", _AUTO_ATTACH)
        self._started = True
        # A page that hangs does not answer; it must not keep the recording from starting.
        await link.wait_for_posted(_ATTACH_S)

    def _listener(
        self, method: str, bodies: Bodies, recovery: Recovery
    ) -> Callable[[Any, str | None], None]:
        def listen(params: Mapping[str, Any], session: str | None) -> None:
            self._last_event = time.monotonic()
            page = self._pages.get(session or "")
            hop = self._traffic.feed(method, params, session, page)
            if hop is not None:
                bodies.follow(method, hop, session)
            else:
                recovery.notice(method, params, session)

        return listen

    def _attacher(
        self, link: Link, bodies: Bodies, recovery: Recovery
    ) -> Callable[[Any, str | None], None]:
        def attach(params: Mapping[str, Any], parent: str | None) -> None:
            session, target = params["sessionId"], params["targetInfo"]
            if _is_of_the_browser_itself(target):
                link.post("Runtime.runIfWaitingForDebugger", {}, session)
                return
            is_page = target["type"] == "page"
            self._pages[session] = target["targetId"] if is_page else self._pages.get(parent or "")
            posted = {"maxPostDataSize": self._limits.post_bytes}
            # One after the other without waiting: a paused worker answers only once it runs,
            # and its page may wait for it.
            link.post("Network.enable", {**bodies.buffers(), **posted}, session)
            link.post("Network.configureDurableMessages", bodies.buffers(), session)
            for method, settings in self._tab_setup if target["type"] in _TABS else ():
                link.post(method, settings, session)
            link.post("Target.setAutoAttach", _AUTO_ATTACH, session)
            link.post("Runtime.runIfWaitingForDebugger", {}, session)
            if is_page and self._started:
                recovery.watch(session, target)

        return attach

    def _on_detached(self, params: Mapping[str, Any], _parent: str | None) -> None:
        self._pages.pop(params["sessionId"], None)
        self._traffic.forget_session(params["sessionId"])

    async def _settle(self, link: Link, patience_s: float) -> None:
        """Wait until nothing young is pending and nothing happened for a while."""
        begun = time.monotonic()
        while not link.lost and time.monotonic() < begun + patience_s:
            quiet = time.monotonic() - max(self._last_event, begun)
            if quiet >= self._settle_s and not self._awaits(patience_s):
                break
            await asyncio.sleep(_POLL_S)
        await link.pass_barrier()

    def _awaits(self, patience_s: float) -> bool:
        """Tell whether an answer may still come; one that took long already may never."""
        oldest = time.time() - patience_s
        return any(
            hop.kind in _AWAITED and hop.wall_time > oldest for hop in self._traffic.pending()
        )

    async def _disconnect(self) -> None:
        if self._link is not None:
            self._cut_short = self._link.lost
            await self._link.close()
            self._link = None


def _is_of_the_browser_itself(target: Mapping[str, str]) -> bool:
    """Tell the address bar and its like, which load hundreds of files, from tabs and workers."""
    return target["type"] != "page" and target["url"].startswith("chrome://")
