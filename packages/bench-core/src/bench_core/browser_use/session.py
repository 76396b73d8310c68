"""Attach browser-use to a browser that another program owns."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench_core.browser import websocket_url
from bench_core.browser.connection import CdpConnection, CdpError
from bench_core.browser_use.patch import SharedPatch
from bench_core.browser_use.release import release_session
from bench_core.dialogs import FOLLOW, PAGE_EVENTS, Dialogs, look_again
from bench_core.errors import BrowserError
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import owned_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bench_core.protocols import BrowserHandle

_ATTACH_S = 30.0
_LOOKUP_S = 5.0
_PAGE_S = 10.0
_REPORT_S = 2.0


@asynccontextmanager
async def attached_session(handle: BrowserHandle) -> AsyncIterator[Any]:
    """Attach to the browser, put the first start tab in front, and detach at the end.

    Raises:
        BrowserError: The browser cannot be reached.
    """
    scratch = owned_folder("proctor-agent")
    try:
        from browser_use import BrowserProfile, BrowserSession  # 1.5 s

        width, height = handle.viewport
        profile = BrowserProfile(
            cdp_url=await websocket_url(handle.cdp_url),
            # Ours to end: browser-use kills the browsers that it counts as local.
            is_local=False,
            keep_alive=True,
            enable_default_extensions=False,
            captcha_solver=False,
            permissions=[],  # it would grant some, and refuse all others before a page asks
            downloads_path=scratch / "downloads",
            # It would fetch a page's downloads a second time, and keep that copy.
            auto_download_pdfs=False,
            user_data_dir=scratch
            / "profile",  # never used, but made in a folder of its own otherwise
            viewport={"width": width, "height": height},
            no_viewport=False,
        )
        session = BrowserSession(browser_profile=profile)
        try:
            await _start(session, handle)
            yield session
        finally:
            await release_session(session)
    finally:
        remove_folder(scratch)


async def browser_answers(cdp_url: str) -> bool:
    """Return whether the browser behind a CDP URL is alive."""
    parts = urlsplit(cdp_url)
    secret = parts.path.partition("/devtools/")[0]
    try:
        await websocket_url(f"http://{parts.netloc}{secret}", _LOOKUP_S)
    except BrowserError:
        return False
    return True


class PageWatch:
    """Answers pages' dialogs and requests as for every agent, and detects pages that crash or hang.

    browser-use would answer dialogs differently, and opens another page for a lost one.

    Attributes:
        lost: The fate of a page that crashed; None if none did.
        dialogs: Holds messages for the agent.
    """

    def __init__(self, connection: CdpConnection) -> None:
        self.lost: str | None = None
        self.dialogs = Dialogs()
        self._connection = connection
        self._pages: dict[str, str] = {}
        self._sessions: dict[str, str] = {}
        self._still: set[str] = set()
        self._on_lost: Callable[[], None] = lambda: None
        connection.on("Target.targetCreated", self._note)
        connection.on("Target.targetInfoChanged", self._note)
        connection.on("Target.targetCrashed", self._crashed)
        connection.on("Target.attachedToTarget", self._follow)
        connection.on("Page.javascriptDialogOpening", self._answer)
        for event, words in PAGE_EVENTS.items():
            connection.on(event, partial(self._tell, words))

    def _tell(
        self, words: Callable[[dict[str, Any]], str], params: dict[str, Any], _: str | None
    ) -> None:
        self.dialogs.note(words(params))

    def _follow(self, params: dict[str, Any], _: str | None) -> None:
        session = self._sessions[params["targetInfo"]["targetId"]] = params["sessionId"]
        for command, given in (*FOLLOW, ("Network.enable", {})):
            self._connection.post(command, given, session)
        self._connection.post("Runtime.runIfWaitingForDebugger", {}, session)

    def _answer(self, params: dict[str, Any], session: str | None) -> None:
        answer = self.dialogs.answer(
            params["type"], params["message"], params.get("defaultPrompt", "")
        )
        given = {"accept": answer.accept, "promptText": answer.text}
        self._connection.post("Page.handleJavaScriptDialog", given, session)

    def _note(self, params: dict[str, Any], _: str | None) -> None:
        target = params["targetInfo"]
        if target["type"] == "page":
            self._pages[target["targetId"]] = target["url"]
            self._still.discard(target["targetId"])

    def _crashed(self, params: dict[str, Any], _: str | None) -> None:
        if params["targetId"] in self._pages:
            self.lost = f"the page {self._pages[params['targetId']]} crashed"
            self._on_lost()

    async def look_again(self) -> None:
        """Let the pages send pending reports; one that stands still is waited for once."""
        for page in self._pages.keys() - self._still:
            if session := self._sessions.get(page):
                send = partial(self._connection.call, session=session, timeout_s=_REPORT_S)
                try:
                    await look_again(page, send)
                except CdpError:
                    pass  # it has been closed or left meanwhile
                except BrowserError:
                    self._still.add(page)

    def stop_with(self, on_lost: Callable[[], None]) -> None:
        """Set the function to call when a page has crashed."""
        self._on_lost = on_lost

    async def find_silent(self, target_id: str | None, timeout_s: float = _PAGE_S) -> None:
        """Look whether the page in front hangs, if its id is known, else any page."""
        for page in [target_id] if target_id in self._pages else list(self._pages):
            if not await self._answers(page, timeout_s):
                self.lost = f"the page {self._pages[page]} hangs"

    async def _answers(self, page: str, timeout_s: float) -> bool:
        try:
            asked, session = {"expression": "1"}, self._sessions.get(page)
            await self._connection.call("Runtime.evaluate", asked, session, timeout_s=timeout_s)
        except CdpError:
            return True  # it has been closed meanwhile
        except BrowserError:
            return False
        return True


@asynccontextmanager
async def watched_pages(cdp_url: str) -> AsyncIterator[PageWatch]:
    """Watch the pages of a browser, and answer their dialogs and requests, during the block."""
    connection = await CdpConnection.open(await websocket_url(cdp_url, _LOOKUP_S))
    watch = PageWatch(connection)
    try:
        await connection.call("Target.setDiscoverTargets", {"discover": True})
        # a page that is opened waits until it is followed, or its first question would have no answer
        attach: dict[str, Any] = {
            "autoAttach": True,
            "waitForDebuggerOnStart": True,
            "flatten": True,
        }
        await connection.call("Target.setAutoAttach", attach | {"filter": [{"type": "page"}]})
        with _NO_OWN_ANSWERS:
            yield watch
    finally:
        await connection.close()


def focused_target(session: Any) -> str | None:
    """Return the page that browser-use acts on, under the name of either of its lines."""
    focus = getattr(session, "agent_focus", None)
    found = getattr(session, "agent_focus_target_id", None) or getattr(focus, "target_id", None)
    return found if isinstance(found, str) else None


def _popups() -> Any:
    from browser_use.browser.watchdogs.popups_watchdog import PopupsWatchdog  # 1.5 s

    return PopupsWatchdog


def _silent(_: Any) -> Any:
    async def on_TabCreatedEvent(self: Any, event: Any) -> None:  # noqa: N802  # browser-use finds it by this name
        del self, event

    return on_TabCreatedEvent


_NO_OWN_ANSWERS = SharedPatch(_popups, "on_TabCreatedEvent", _silent)


async def _start(session: Any, handle: BrowserHandle) -> None:
    try:
        await asyncio.wait_for(session.start(), _ATTACH_S)
        await _focus_first(session, handle)
    except (asyncio.TimeoutError, RuntimeError, ConnectionError, OSError) as error:
        raise BrowserError(f"browser-use cannot attach to {handle.cdp_url}: {error}") from error


async def _focus_first(session: Any, handle: BrowserHandle) -> None:
    """Put the tab of the first start URL in front; browser-use takes any tab."""
    from browser_use.browser.events import SwitchTabEvent  # 1.5 s

    if len(handle.start_urls) < 2:  # one tab needs no choice
        return
    wanted = handle.start_urls[0].rstrip("/")
    for tab in await session.get_tabs():
        if tab.url.rstrip("/") == wanted:
            await session.event_bus.dispatch(SwitchTabEvent(target_id=tab.target_id))
            return
