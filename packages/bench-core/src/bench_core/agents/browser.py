"""A browser as an environment: Playwright attached to a CDP URL, nothing launched here."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bench_core.agents.records import (
    ActionResult,
    Back,
    Click,
    Drag,
    Element,
    ElementRef,
    Goto,
    Move,
    Observation,
    PressKeys,
    RunCode,
    Scroll,
    SwitchTab,
    TypeText,
    Wait,
)
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.agents.records import Action, Target
    from bench_core.protocols import BrowserHandle

__all__ = ["BrowserEnvironment", "connect_browser"]

_TIMEOUT_MS = 20_000
_SETTLE_MS = 2_000
# A screenshot asked for while a page gives way to the next may never come: ask again soon.
_LOOKS_MS = (1_000, 3_000, _TIMEOUT_MS)
_REACTION_S = 0.1
_KEYS = {
    "ctrl": "Control", "alt": "Alt", "shift": "Shift", "meta": "Meta", "enter": "Enter",
    "tab": "Tab", "escape": "Escape", "esc": "Escape", "backspace": "Backspace",
    "delete": "Delete", "space": "Space", "up": "ArrowUp", "down": "ArrowDown",
    "left": "ArrowLeft", "right": "ArrowRight", "home": "Home", "end": "End",
    "pageup": "PageUp", "pagedown": "PageDown", "plus": "+", "insert": "Insert",
}  # fmt: skip
_ELEMENTS_JS = """() => {
  const wanted = 'a[href],button,input,select,textarea,summary,[role],[onclick],[contenteditable]';
  const seen = [];
  for (const node of document.querySelectorAll(wanted)) {
    const box = node.getBoundingClientRect();
    const style = getComputedStyle(node);
    const shown = box.width > 0 && box.height > 0 && style.visibility !== 'hidden'
      && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    if (!shown || node.type === 'hidden') continue;
    const label = node.getAttribute('aria-label') || (node.labels && node.labels[0]
      && node.labels[0].innerText) || node.innerText || node.placeholder || node.title
      || node.name || '';
    const secret = node.type === 'password';
    seen.push({
      id: String(seen.length + 1),
      role: node.getAttribute('role') || node.tagName.toLowerCase(),
      name: label.trim().slice(0, 200),
      value: 'value' in node && !secret ? String(node.value).slice(0, 200) : null,
      rect: [box.x, box.y, box.width, box.height],
    });
    if (seen.length >= 500) break;
  }
  return seen;
}"""


class BrowserEnvironment:
    """The pages of one browser context; actions work on the active page."""

    def __init__(self, context: Any, viewport: tuple[int, int]) -> None:
        self._context = context
        self._viewport = viewport
        self._active = 0
        self._elements: dict[str, Element] = {}

    async def observe(self) -> Observation:
        """Return screenshot, tabs and the elements in view; see `Environment`.

        A page that navigates away meanwhile is looked at again.
        """
        from playwright.async_api import Error  # noqa: PLC0415  # loaded by connect_browser

        for timeout_ms in _LOOKS_MS:
            try:
                return await self._look(self._page(), timeout_ms)
            except Error as error:  # noqa: PERF203  # three looks at most
                if self._gone() or timeout_ms == _LOOKS_MS[-1]:
                    message = str(error).splitlines()[0]
                    raise EnvironmentFaultError(
                        f"the browser does not answer: {message}"
                    ) from error
        raise AssertionError("unreachable: the last look returns or raises")

    async def _look(self, page: Any, timeout_ms: int) -> Observation:
        await _settle(page)
        picture = await page.screenshot(type="png", timeout=timeout_ms)
        found = [Element.model_validate(each) for each in await page.evaluate(_ELEMENTS_JS)]
        self._elements = {element.id: element for element in found}
        return Observation(
            screenshot=ImagePart.from_bytes(picture),
            size=self._viewport,
            url=page.url,
            title=await page.title(),
            tabs=tuple([each.url for each in self._context.pages]),
            active_tab=self._active,
            elements=tuple(found),
        )

    async def act(self, action: Action) -> ActionResult:
        """Do one thing in the active page; see `Environment`."""
        from playwright.async_api import Error  # noqa: PLC0415  # loaded by connect_browser

        try:
            await self._do(action)
            await asyncio.sleep(_REACTION_S)  # until a navigation it causes has begun
        except _NoSuchTargetError as error:
            return ActionResult(ok=False, error=str(error))
        except Error as error:
            if self._gone():
                raise EnvironmentFaultError(f"the browser is gone: {error}") from error
            first = str(error).splitlines()[0]
            return ActionResult(ok=False, error=first)
        return ActionResult()

    async def _do(self, action: Action) -> None:  # noqa: C901, PLR0912  # one branch per action
        page = self._page()
        if isinstance(action, Click):
            x, y = self._at(action.target)
            keys = [_KEYS.get(key, key) for key in action.modifiers]
            for key in keys:
                await page.keyboard.down(key)
            await page.mouse.click(x, y, button=action.button, click_count=action.count)
            for key in reversed(keys):
                await page.keyboard.up(key)
        elif isinstance(action, Move):
            await page.mouse.move(*self._at(action.target))
        elif isinstance(action, Drag):
            await page.mouse.move(*self._at(action.start))
            await page.mouse.down()
            # In steps: pages that follow the pointer ignore a drag that jumps.
            await page.mouse.move(*self._at(action.end), steps=10)
            await page.mouse.up()
        elif isinstance(action, Scroll):
            if action.target is not None:
                await page.mouse.move(*self._at(action.target))
            await page.mouse.wheel(action.dx, action.dy)
        elif isinstance(action, TypeText):
            await self._type(page, action)
        elif isinstance(action, PressKeys):
            await page.keyboard.press("+".join(_KEYS.get(key, key) for key in action.keys))
        elif isinstance(action, Wait):
            await asyncio.sleep(action.seconds)
        elif isinstance(action, Goto):
            await self._goto(page, action)
        elif isinstance(action, Back):
            await page.go_back(timeout=_TIMEOUT_MS)
        elif isinstance(action, SwitchTab):
            await self._switch(action.index)
        elif isinstance(action, RunCode):
            raise _NoSuchTargetError("a browser runs no code of agents: use the other actions")

    async def _type(self, page: Any, action: TypeText) -> None:
        if action.target is not None:
            await page.mouse.click(*self._at(action.target))
        if action.clear:
            await page.keyboard.press("ControlOrMeta+a")
            await page.keyboard.press("Delete")
        await page.keyboard.type(action.text)
        if action.enter:
            await page.keyboard.press("Enter")

    async def _goto(self, page: Any, action: Goto) -> None:
        if not action.url.startswith(("http://", "https://")):
            raise _NoSuchTargetError(f"{action.url!r} is not an HTTP URL")
        if action.new_tab:
            page = await self._context.new_page()
            await page.set_viewport_size({"width": self._viewport[0], "height": self._viewport[1]})
            self._active = self._context.pages.index(page)
        await page.goto(action.url, timeout=_TIMEOUT_MS, wait_until="domcontentloaded")

    async def _switch(self, index: int) -> None:
        if index >= len(self._context.pages):
            raise _NoSuchTargetError(f"there is no tab {index}")
        self._active = index
        await self._context.pages[index].bring_to_front()

    def _page(self) -> Any:
        pages = self._context.pages
        if not pages:
            raise EnvironmentFaultError("the browser has no open page")
        self._active = min(self._active, len(pages) - 1)
        return pages[self._active]

    def _at(self, target: Target) -> tuple[float, float]:
        if not isinstance(target, ElementRef):
            return target.pixels(self._viewport)
        element = self._elements.get(target.element)
        if element is None or element.rect is None:
            raise _NoSuchTargetError(f"there is no element {target.element!r} in view")
        x, y, width, height = element.rect
        return x + width / 2, y + height / 2

    def _gone(self) -> bool:
        browser = self._context.browser
        return browser is not None and not browser.is_connected()


class _NoSuchTargetError(Exception):
    """The agent named something that is not there."""


async def _settle(page: Any) -> None:
    """Give a page that is loading a moment; one that never finishes is shown as it is."""
    from playwright.async_api import TimeoutError as PlaywrightTimeoutError  # noqa: PLC0415

    try:
        await page.wait_for_load_state("load", timeout=_SETTLE_MS)
    except PlaywrightTimeoutError:
        return


@asynccontextmanager
async def connect_browser(handle: BrowserHandle) -> AsyncIterator[BrowserEnvironment]:
    """Attach to a running Chromium and open the start URLs that are not open yet.

    The browser is left running: whoever launched it ends it.

    Raises:
        InputError: Playwright is not installed.
        EnvironmentFaultError: No browser answers at the CDP URL.
    """
    try:
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise InputError(
            "agents in a browser need Playwright: `pip install bench-core[playwright]`"
        ) from error
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.connect_over_cdp(
                handle.cdp_url, timeout=_TIMEOUT_MS
            )
        except Error as error:
            raise EnvironmentFaultError(
                f"no browser answers at {handle.cdp_url}: {error}"
            ) from error
        context = browser.contexts[0] if browser.contexts else await browser.new_context()
        await _open(context, handle)
        yield BrowserEnvironment(context, handle.viewport)


async def _open(context: Any, handle: BrowserHandle) -> None:
    width, height = handle.viewport
    blank = [page for page in context.pages if page.url in {"about:blank", "chrome://newtab/"}]
    missing = [url for url in handle.start_urls if not any(p.url == url for p in context.pages)]
    for url in missing:
        page = blank.pop(0) if blank else await context.new_page()
        await page.goto(url, timeout=_TIMEOUT_MS, wait_until="domcontentloaded")
    for page in context.pages:
        await page.set_viewport_size({"width": width, "height": height})
