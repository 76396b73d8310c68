"""A browser over its debugging port: the few commands of the Chrome DevTools Protocol that we need.

The address that a browser gives for its sockets is local to it; only our own host and port are used.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from bench_core.errors import EvaluationError
from waa_server_ext.evaluation.evaluators import UNKNOWN_BROWSER
from waa_server_ext.vm.client import vm_address

DEBUGGING_PORT = 9222
"""The port to which WAA's VM forwards its browsers' debugging ports; vanilla has it hard-coded."""

_CONNECT_S = 10.0
_CALL_S = 30.0
_POLL_S = 0.02
_MAX_MESSAGE = 64 * 1024 * 1024


class CdpError(Exception):
    """The browser cannot be reached, or refuses a command."""


@dataclass
class CdpBrowser:
    """An open debugging connection.

    Attributes:
        deadline: An instant of `time.monotonic()` after which every wait fails.
    """

    socket: Any
    deadline: float | None = None
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _events: list[dict[str, Any]] = field(default_factory=list)

    def call(
        self, method: str, session: str | None = None, timeout_s: float = _CALL_S, **params: Any
    ) -> dict[str, Any]:
        """Run a command and return its result.

        Raises:
            CdpError: It failed, or took too long.
        """
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        from websockets.exceptions import WebSocketException

        try:
            self.socket.send(json.dumps(message))
        except (OSError, WebSocketException) as error:
            raise CdpError(f"the browser is gone: {error}") from error
        until = time.monotonic() + timeout_s
        while True:
            answer = self._receive(until, method)
            if answer.get("id") == number:
                break
            if "method" in answer:
                self._events.append(answer)
        if "error" in answer:
            raise CdpError(f"{method}: {answer['error'].get('message')}")
        result: dict[str, Any] = answer.get("result", {})
        return result

    def wait(
        self, session: str, wanted: Callable[[Mapping[str, Any]], bool], timeout_s: float, what: str
    ) -> None:
        """Wait for an event of a session.

        Raises:
            CdpError: It did not come in time.
        """
        until = time.monotonic() + timeout_s
        while True:
            held, self._events = self._events, []
            if any(each.get("sessionId") == session and wanted(each) for each in held):
                return
            self._events.append(self._receive(until, what))

    def tabs(self) -> list[dict[str, Any]]:
        """Return the open pages as the browser lists them."""
        targets = self.call("Target.getTargets")["targetInfos"]
        return [each for each in targets if each["type"] == "page"]

    def attach(self, target: str) -> CdpTab:
        """Attach to a page and have it report its loading."""
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = CdpTab(self, session, target)
        for method in ("Page.enable", "Runtime.enable"):
            self.call(method, session)
        self.call("Page.setLifecycleEventsEnabled", session, enabled=True)
        return tab

    @contextlib.contextmanager
    def new_tab(self, *, private: bool) -> Iterator[CdpTab]:
        """Open a blank page, in a separate profile if it is private; close it afterwards."""
        context = self.call("Target.createBrowserContext")["browserContextId"] if private else None
        where = {"browserContextId": context} if context else {}
        target = self.call("Target.createTarget", url="about:blank", **where)["targetId"]
        try:
            yield self.attach(target)
        finally:
            with contextlib.suppress(CdpError):
                # the result is known by now, and a page that is gone needs no closing
                self.close_tab(target)
                if context:
                    self.call("Target.disposeBrowserContext", browserContextId=context)

    def close_tab(self, target: str) -> None:
        """Close a page and wait until it is gone, as the browser lists it while it unloads.

        Raises:
            CdpError: The page does not exist, or does not close.
        """
        self.call("Target.closeTarget", targetId=target)
        until = time.monotonic() + _CALL_S
        while any(each["targetId"] == target for each in self.tabs()):
            if time.monotonic() > until:
                raise CdpError("the page does not close")
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Close the connection; the browser stays open."""
        self.held.close()

    def _receive(self, until: float, what: str) -> dict[str, Any]:
        from websockets.exceptions import WebSocketException

        until = min(until, self.deadline) if self.deadline is not None else until
        left = until - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError  # noqa: TRY301  # the same as below
            message: dict[str, Any] = json.loads(self.socket.recv(timeout=left))
        except TimeoutError as error:
            raise CdpError(f"{what}: not within the time") from error
        except (OSError, WebSocketException, ValueError) as error:
            raise CdpError(f"the browser is gone: {error}") from error
        return message


@dataclass
class CdpTab:
    """One page that we are attached to."""

    browser: CdpBrowser
    session: str
    target: str

    def goto(self, url: str, timeout_s: float = _CALL_S) -> None:
        """Open a URL and wait until it is loaded.

        Raises:
            CdpError: It cannot be opened, or not in time.
        """
        answer = self.browser.call("Page.navigate", self.session, timeout_s, url=url)
        if answer.get("errorText"):
            raise CdpError(f"{answer['errorText']} at {url}")
        if "loaderId" in answer:  # else it was a jump within the page
            self.wait_for("load", timeout_s, loader=answer["loaderId"])

    def wait_for(self, state: str, timeout_s: float = _CALL_S, loader: str | None = None) -> None:
        """Wait until the page has reached `load`, `domcontentloaded` or `networkidle`.

        Raises:
            CdpError: It did not in time.
        """
        if loader is None and state != "networkidle":
            ready = self.value("document.readyState")
            if ready == "complete" or (state == "domcontentloaded" and ready == "interactive"):
                return
        names = {
            "load": "load",
            "domcontentloaded": "DOMContentLoaded",
            "networkidle": "networkIdle",
        }

        def reached(event: Mapping[str, Any]) -> bool:
            params = event.get("params", {})
            return (
                event.get("method") == "Page.lifecycleEvent"
                and params.get("name") == names[state]
                and (loader is None or params.get("loaderId") == loader)
            )

        if loader is None:  # enabling the events again repeats those that have happened already
            self.browser.call("Page.setLifecycleEventsEnabled", self.session, enabled=False)
            self.browser.call("Page.setLifecycleEventsEnabled", self.session, enabled=True)
        self.browser.wait(self.session, reached, timeout_s, f"the page is not at {state}")

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript in the page.

        Raises:
            CdpError: It threw.
        """
        answer = self.browser.call(
            "Runtime.evaluate", self.session, expression=expression, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise CdpError(f"{expression}: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def title(self) -> str:
        """Return the page's title."""
        return str(self.value("document.title"))

    def url(self) -> str:
        """Return the page's URL with its fragment."""
        frame = self.browser.call("Page.getFrameTree", self.session)["frameTree"]["frame"]
        return str(frame["url"]) + str(frame.get("urlFragment", ""))

    def content(self) -> str:
        """Return the page's HTML with its document type."""
        return str(
            self.value(
                "(document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '')"
                " + (document.documentElement ? document.documentElement.outerHTML : '')"
            )
        )

    def pdf(self) -> bytes:
        """Return the page as a PDF file."""
        import base64  # rarely

        answer = self.browser.call("Page.printToPDF", self.session, 60.0)
        return base64.b64decode(answer["data"])


def browser_address(vm: str, cdp: str | None) -> tuple[str, int]:
    """Return host and port of the debugging browser of a VM.

    >>> browser_address("vm2", None), browser_address("localhost:5001", "localhost:9223")
    (('vm2', 9222), ('localhost', 9223))

    Raises:
        EvaluationError: `cdp` is `UNKNOWN_BROWSER`.
    """
    host, _ = vm_address(vm)
    if cdp is None:
        return host, DEBUGGING_PORT
    if cdp == UNKNOWN_BROWSER:
        raise EvaluationError(
            f"port {DEBUGGING_PORT} of {host} may be the browser of another VM than {vm}: publish that of this one "
            f"on a port of its own, and pass it as --cdp {host}:PORT"
        )
    return vm_address(cdp)


def connect(host: str, port: int, deadline: float | None = None) -> CdpBrowser:
    """Connect to the browser that debugs on a port.

    Raises:
        CdpError: No browser answers there.
    """
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect as open_socket

    held = contextlib.ExitStack()
    try:
        with httpx.Client(trust_env=False, timeout=_CONNECT_S, verify=False) as client:  # noqa: S501  # plain HTTP
            answer = client.get(f"http://{host}:{port}/json/version").json()
        path = urlsplit(answer["webSocketDebuggerUrl"]).path
        socket = held.enter_context(
            open_socket(
                f"ws://{host}:{port}{path}",
                open_timeout=_CONNECT_S,
                max_size=_MAX_MESSAGE,
                compression=None,
                # websockets would take a proxy of the environment, which does not lead to the VM
                proxy=None,
            )
        )
    except (httpx.HTTPError, OSError, WebSocketException, KeyError, TypeError, ValueError) as error:
        raise CdpError(f"no browser debugs on {host}:{port}: {error}") from error
    return CdpBrowser(socket, deadline, held)
