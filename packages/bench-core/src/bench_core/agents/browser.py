"""A browser as an environment: Playwright attached to a CDP URL, nothing launched here."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from bench_core.agents.browser_input import Pointer, ask_browser, held, hold, key_name, press
from bench_core.agents.browser_tabs import Tabs
from bench_core.agents.node_acts import NodeActs
from bench_core.agents.observation_text import clicked_text
from bench_core.agents.page_changes import Changes
from bench_core.agents.page_nodes import Nodes, NoSuchTargetError
from bench_core.agents.page_reading import PageReader, zoomed
from bench_core.agents.page_scripts import script
from bench_core.agents.records import (
    AIMED,
    Action,
    ActionResult,
    ActivateTab,
    AnswerDialog,
    Back,
    Click,
    CloseTab,
    Drag,
    ElementRef,
    FindElements,
    Forward,
    Goto,
    HoldKeys,
    InTab,
    KeyDown,
    KeyUp,
    ListTabs,
    MouseDown,
    MouseUp,
    Move,
    NewTab,
    Observation,
    PageText,
    PointerPosition,
    PressKeys,
    ReadPage,
    Reload,
    RunCode,
    Screenshot,
    Scroll,
    ScrollTo,
    SetValue,
    SwitchTab,
    Target,
    TypeText,
    Wait,
    Zoom,
    unseen,
)
from bench_core.errors import EnvironmentFaultError
from bench_core.models.records import ImagePart
from bench_core.playwright_driver import open_playwright

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence

    from bench_core.protocols import BrowserHandle

_Found = TypeVar("_Found")

_TIMEOUT_MS = 20_000
_SETTLE_MS = 2_000
# A screenshot asked for while a page gives way to the next may never come: ask again soon.
_LOOKS_MS = (1_000, 3_000, _TIMEOUT_MS)
_REACTION_S = 0.1
# a page whose script runs for longer without a break is taken for hung
_SILENT_S = 15.0
# three looks with all their waits take less: a longer one will never return
_OBSERVE_S = 120.0
_OFFERS = frozenset(
    {
        "click", "move", "mouse_down", "mouse_up", "drag", "scroll", "scroll_to", "type", "set_value",
        "keys", "hold_keys", "key_down", "key_up", "wait", "screenshot", "zoom", "pointer_position",
        "goto", "back", "forward", "reload", "new_tab", "list_tabs", "activate_tab", "close_tab",
        "switch_tab", "answer_dialog", "page_text", "find", "read_page",
    }
)  # fmt: skip


_POINTING = (Click, Move, MouseDown, MouseUp, Drag, Scroll, ScrollTo)
_TYPING = (TypeText, SetValue, PressKeys, HoldKeys, KeyDown, KeyUp)
_LOOKING = (Screenshot, Zoom, PointerPosition, PageText, FindElements, ReadPage)


class BrowserEnvironment:
    """The pages of a browser context, those in `first` first; actions work on the active page.

    Attributes:
        cut_off: The page in which something was being done when the agent's time was over, if any.
    """

    def __init__(self, context: Any, viewport: tuple[int, int], first: Sequence[Any] = ()) -> None:
        self._context = context
        self._viewport = viewport
        self._tabs = Tabs(context, first)
        self._pointer = Pointer(viewport)
        self._nodes = Nodes()
        self._reader = PageReader(self._nodes)
        self._acts = NodeActs(self._nodes, self._tabs, self._pointer, viewport)
        self._changes = Changes(context, self._tabs, self._nodes)
        self._refused = False
        self.cut_off: Any = None

    async def offers(self) -> frozenset[str]:
        """Return the kinds of actions that work in a browser; see `Offering`."""
        return _OFFERS

    async def observe(self) -> Observation:
        """Return screenshot, tabs, the page as text and its elements; see `Environment`.

        A page that navigates away meanwhile is looked at again.

        Raises:
            EnvironmentFaultError: The page cannot be looked at; without this, an agent that was never shown
                anything would be blamed for running out of time.
        """
        try:
            return await asyncio.wait_for(self._observed(), _OBSERVE_S)
        except asyncio.TimeoutError as error:
            message = f"the browser showed no state of its page within {_OBSERVE_S:g} s"
            raise EnvironmentFaultError(message) from error

    async def _observed(self) -> Observation:
        from playwright.async_api import Error

        for timeout_ms in _LOOKS_MS:
            try:
                page = self._tabs.page()
                return await self._while_answering(page, self._look(page, timeout_ms))
            except Error as error:  # noqa: PERF203  # three looks at most
                if self._gone() or timeout_ms == _LOOKS_MS[-1]:
                    message = str(error).splitlines()[0]
                    raise EnvironmentFaultError(
                        f"the browser does not answer: {message}",
                        fault=None if self._gone() else "page_crashed",
                    ) from error
        raise AssertionError("unreachable: the last look returns or raises")

    async def _look(self, page: Any, timeout_ms: int) -> Observation:
        from playwright.async_api import TimeoutError as PlaywrightTimeoutError

        if len(self._tabs.pages()) > 1:
            # pages open others by themselves, and Chromium may never draw a page behind another
            await page.bring_to_front()
        with suppress(PlaywrightTimeoutError):  # one that never finishes loading is shown as it is
            await page.wait_for_load_state("load", timeout=_SETTLE_MS)
        picture = await page.screenshot(type="png", timeout=timeout_ms)
        look = await self._reader.look(page)
        changed = await self._changes.news(page)
        self._acts.seen = {each.id: each.rect for each in look.elements}
        return Observation(
            screenshot=ImagePart.from_bytes(picture),
            size=self._viewport,
            url=page.url,
            title=await page.title(),
            tabs=tuple([each.url for each in self._tabs.pages()]),
            active_tab=self._tabs.active,
            open_tabs=await self._tabs.listed(),
            elements=tuple(look.elements),
            text=look.text(),
            notices=(*changed, *look.notices),
        )

    async def act(self, action: Action) -> ActionResult:
        """Do one thing in the active page; see `Environment`."""
        from playwright.async_api import Error

        tab = action.tab if isinstance(action, InTab) else ""
        try:
            if isinstance(action, AIMED) and not self._refused:
                changed = "; ".join(await self._changes.news(self._tabs.named(tab)))
                if changed:
                    # once: a page that loads itself again and again could never be acted on
                    self._refused = True
                    error = unseen(changed)
                    return ActionResult(ok=False, error=error, changed=changed, carried_out=False)
            self._refused = False
            page = self._tabs.named(tab)
            address = page.url
            async with self._tabs.in_tab(tab):
                result = await self._while_answering(page, self._do(action)) or ActionResult()
            if not isinstance(action, _LOOKING):
                await asyncio.sleep(_REACTION_S)  # until a navigation it causes has begun
                news = await self._changes.news(page)
                one = len(news) == 1
                switched = isinstance(action, SwitchTab | ActivateTab | NewTab)
                asked = one and switched and self._tabs.page() is not page
                same = isinstance(action, Reload) and page.url == address
                if one and same and news[0].startswith("the page is now"):
                    news = ("the page was reloaded",)
                result = result.model_copy(update={"changed": "; ".join(news), "asked": asked})
        except NoSuchTargetError as error:
            return ActionResult(ok=False, error=str(error))
        except Error as error:
            if self._gone():
                raise EnvironmentFaultError(f"the browser is gone: {error}") from error
            # Playwright adds a log of its attempts, which tells an agent nothing more
            first = str(error).splitlines()[0]
            return ActionResult(ok=False, error=first)
        return result.model_copy(update={"tabs": await self._tabs.listed()})

    async def _while_answering(self, page: Any, work: Coroutine[Any, Any, _Found]) -> _Found:
        """Await work in a page as long as it answers: a hanging page never answers input."""
        done = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({done}, timeout=_SILENT_S))[0]:
                await _find_silent(page)
            return done.result()
        except asyncio.CancelledError:
            self.cut_off = page
            raise
        finally:
            done.cancel()

    async def _do(self, action: Action) -> ActionResult | None:  # noqa: PLR0911  # a table of kinds
        page = self._tabs.page()
        if isinstance(action, Wait):
            await asyncio.sleep(action.seconds)
            return None
        if isinstance(action, AnswerDialog):
            dialogs = self._changes.dialogs
            return ActionResult(text=dialogs.answer_next(accept=action.accept, text=action.text))
        if isinstance(action, RunCode):
            raise NoSuchTargetError("a browser runs no code of agents: use the other actions")
        if isinstance(action, Screenshot):  # of another tab; the loop takes those of the active one
            return ActionResult(image=ImagePart.from_bytes(await page.screenshot(type="png")))
        if isinstance(action, _POINTING):
            return await self._point(page, action)
        if isinstance(action, _TYPING):
            return await self._write(page, action)
        if isinstance(action, _LOOKING):
            return await self._read(page, action)
        return await self._navigate(page, action)

    async def _point(self, page: Any, action: Action) -> ActionResult | None:
        text = ""
        if isinstance(action, ScrollTo):
            await self._acts.bring(action.target)
        elif isinstance(action, Drag):
            targets = (action.start, *action.path, action.end)
            points = [self._point_of(target) for target in targets]
            async with held(page, action.modifiers):
                await self._acts.drag(page, points)
        elif isinstance(action, Click | Move | MouseDown | MouseUp | Scroll):
            modifiers = () if isinstance(action, MouseDown | MouseUp) else action.modifiers
            target = None if action.target is None else self._point_of(action.target)
            async with held(page, modifiers):
                text = await self._point_at(page, action, target)
        return ActionResult(text=text)

    async def _point_at(
        self, page: Any, action: Click | Move | MouseDown | MouseUp | Scroll,
        target: ElementRef | tuple[float, float] | None,
    ) -> str:  # fmt: skip
        """Act with the mouse at a node, at a point or where the pointer is; return a report for the agent."""
        pointer, node, at = self._pointer, None, None
        if isinstance(target, ElementRef):
            node = target
        else:
            at = target
        if isinstance(action, Click):
            if node is not None:
                called = await self._acts.click(page, node, action.button, action.count)
                return clicked_text(action, called)
            there = await self._nodes.ask(page.main_frame, script("under"), list(at or pointer.at))
            await pointer.click(page, at, action.button, action.count)
            return clicked_text(action, there or "")
        if isinstance(action, MouseDown):
            if node is not None:
                await self._acts.press(page, node, action.button)
            else:
                await pointer.press(page, at, action.button)
            return ""
        if node is not None:
            await self._acts.hover(page, node)
        if isinstance(action, MouseUp):
            await pointer.press(page, at, action.button, up=True)
        else:
            await pointer.move(page, at)
            if isinstance(action, Scroll):
                await page.mouse.wheel(action.dx, action.dy)
        return ""

    async def _write(self, page: Any, action: Action) -> ActionResult | None:
        text = ""
        if isinstance(action, TypeText):
            if action.target is not None and not isinstance(action.target, ElementRef):
                at = action.target.pixels(self._viewport)
                await self._pointer.click(page, at, "left", 1)
            text = await self._acts.type(page, action)
        elif isinstance(action, SetValue):
            text = await self._acts.set_value(page, action)
        elif isinstance(action, PressKeys):
            await press(page, action.keys, action.repeat)
        elif isinstance(action, HoldKeys):
            await hold(page, action.keys, action.seconds)
        elif isinstance(action, KeyDown):
            await page.keyboard.down(key_name(action.key))
        elif isinstance(action, KeyUp):
            await page.keyboard.up(key_name(action.key))
        return ActionResult(text=text)

    async def _read(self, page: Any, action: Action) -> ActionResult | None:
        if isinstance(action, Zoom):
            return ActionResult(image=await zoomed(page, action, self._viewport))
        if isinstance(action, PointerPosition):
            x, y = self._pointer.at
            return ActionResult(text=f"X={round(x)},Y={round(y)}")
        if isinstance(action, PageText):
            return ActionResult(text=await self._reader.text(page))
        if isinstance(action, FindElements):
            return ActionResult(text=await self._reader.find(page, action.query))
        if isinstance(action, ReadPage):
            return ActionResult(text=await self._reader.outline(page, action))
        return None

    async def _navigate(self, page: Any, action: Action) -> ActionResult | None:
        if isinstance(action, Goto):
            await self._goto(page, action.url, new_tab=action.new_tab)
        elif isinstance(action, Back):
            await page.go_back(timeout=_TIMEOUT_MS)
        elif isinstance(action, Forward):
            await page.go_forward(timeout=_TIMEOUT_MS)
        elif isinstance(action, Reload):
            # the rest may load for minutes: `observe` waits for it, within its limits
            await page.reload(timeout=_TIMEOUT_MS, wait_until="domcontentloaded")
        elif isinstance(action, NewTab):
            await self._goto(page, action.url, new_tab=True)
        elif isinstance(action, SwitchTab):
            await self._tabs.switch(action.index)
        elif isinstance(action, ActivateTab):
            await self._tabs.activate(action.tab)
        elif isinstance(action, CloseTab):
            await self._tabs.close(action.tab)
        elif not isinstance(action, ListTabs):
            raise NoSuchTargetError(f"a browser has no {action.kind!r}")
        return None

    async def _goto(self, page: Any, url: str, *, new_tab: bool) -> None:
        url = self._tabs.address(url) if url else url
        if (url or not new_tab) and not url.startswith(("http://", "https://")):
            raise NoSuchTargetError(f"{url!r} is not an HTTP URL")
        if new_tab:
            page = await self._tabs.open(self._viewport)
        if url:
            await page.goto(url, timeout=_TIMEOUT_MS, wait_until="domcontentloaded")

    def _point_of(self, target: Target) -> ElementRef | tuple[float, float]:
        return target if isinstance(target, ElementRef) else target.pixels(self._viewport)

    def _gone(self) -> bool:
        browser = self._context.browser
        return browser is not None and not browser.is_connected()


@asynccontextmanager
async def connect_browser(handle: BrowserHandle) -> AsyncIterator[BrowserEnvironment]:
    """Attach to a running Chromium and open the start URLs that are not open yet.

    The browser is left running: its launcher ends it.

    Raises:
        MissingExtraError: Playwright is not installed.
        EnvironmentFaultError: No browser answers at the CDP URL, Playwright does not start, or the page that the
            agent waited for when its time was over hangs.
    """
    async with open_playwright("an agent in a browser") as playwright:
        from playwright.async_api import Error

        try:
            browser = await playwright.chromium.connect_over_cdp(
                handle.cdp_url, timeout=_TIMEOUT_MS
            )
        except Error as error:
            raise EnvironmentFaultError(
                f"no browser answers at {handle.cdp_url}: {error}"
            ) from error
        context = browser.contexts[0] if browser.contexts else await browser.new_context()
        live = BrowserEnvironment(context, handle.viewport, await _open(context, handle))
        yield live
        if live.cut_off is not None:
            await _find_silent(live.cut_off)


async def _find_silent(page: Any) -> None:
    """Look whether a page hangs, as browser-use's does.

    Raises:
        EnvironmentFaultError: It hangs.
    """
    from playwright.async_api import Error

    try:
        with suppress(Error):  # one that has crashed or was closed answers so
            await asyncio.wait_for(page.evaluate("1"), _SILENT_S)
    except asyncio.TimeoutError as error:
        raise EnvironmentFaultError(f"the page {page.url} hangs", fault="page_crashed") from error


async def _open(context: Any, handle: BrowserHandle) -> list[Any]:
    """Return the pages of the start URLs in their order: Chromium lists earlier pages in no order."""
    width, height = handle.viewport
    blank = [page for page in context.pages if page.url in {"about:blank", "chrome://newtab/"}]
    opened: dict[str, Any] = {}
    for page in context.pages:
        history = await ask_browser(page, "Page.getNavigationHistory")
        # an address that a page was opened with may have led to another
        opened |= {str(entry["userTypedURL"]).rstrip("/"): page for entry in history["entries"]}
    found = []
    for url in handle.start_urls:
        page = opened.get(url.rstrip("/"))
        if page is None:
            page = blank.pop(0) if blank else await context.new_page()
            await page.goto(url, timeout=_TIMEOUT_MS, wait_until="domcontentloaded")
        found.append(page)
    for page in context.pages:
        await page.set_viewport_size({"width": width, "height": height})
    return found
