"""The tabs of one browser context, with ids that stay the same."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from bench_core.agents.page_nodes import NoSuchTargetError
from bench_core.agents.records import Tab
from bench_core.errors import EnvironmentFaultError

# a page that hangs answers nothing, not even its title
_TITLE_S = 2.0
_MOST_TABS = 100
# a digit after the colon begins a port: localhost:8000 has no scheme
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?![0-9])", re.IGNORECASE)
_PORT = re.compile(r":(?!443$)[0-9]+$")


class Tabs:
    """The open pages, and which of them actions work on; the pages in `first` stand before all others."""

    def __init__(self, context: Any, first: Sequence[Any] = ()) -> None:
        self._context = context
        self._places = {page: place for place, page in enumerate(first)}
        self._front: Any = None
        self._last = 0
        self._ids: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._given = 0

    @property
    def active(self) -> int:
        """The place of the active tab; if it has been closed, that of its successor."""
        pages = self.pages()
        if self._front not in pages:
            self._last = min(self._last, max(0, len(pages) - 1))
            self._front = pages[self._last] if pages else None
        else:
            self._last = pages.index(self._front)
        return self._last

    def page(self) -> Any:
        """Return the active page.

        Raises:
            EnvironmentFaultError: None is open.
        """
        pages = self.pages()
        if not pages:
            raise EnvironmentFaultError("the browser has no open page")
        return pages[self.active]

    def named(self, tab: str) -> Any:
        """Return the page of a tab, the active one if no id is given."""
        return self.pages()[self._index(tab)] if tab else self.page()

    async def listed(self) -> tuple[Tab, ...]:
        """Return the open tabs."""
        pages = self.pages()[:_MOST_TABS]
        titles = await asyncio.gather(*map(title_of, pages))
        return tuple(
            Tab(id=self.id(page), url=page.url, title=title, active=index == self.active)
            for index, (page, title) in enumerate(zip(pages, titles, strict=True))
        )

    async def switch(self, index: int) -> None:
        """Bring a tab to the front, by its place."""
        pages = self.pages()
        if index >= len(pages):
            raise NoSuchTargetError(f"there is no tab {index}")
        self._front = pages[index]
        await pages[index].bring_to_front()

    async def activate(self, tab: str) -> None:
        """Bring a tab to the front, by its id."""
        await self.switch(self._index(tab))

    @asynccontextmanager
    async def in_tab(self, tab: str) -> AsyncIterator[None]:
        """Let a tab be the active one for the time of the block, if one is named."""
        before = self.page()
        if not tab or self.id(before) == tab:
            yield
            return
        await self.activate(tab)
        try:
            yield
        finally:
            pages = self.pages()
            if before in pages:
                await self.switch(pages.index(before))

    async def open(self, viewport: tuple[int, int]) -> Any:
        """Open an empty tab, bring it to the front and return its page."""
        page = await self._context.new_page()
        await page.set_viewport_size({"width": viewport[0], "height": viewport[1]})
        self._front = page
        return page

    async def close(self, tab: str) -> None:
        """Close a tab, the active one if no id is given; the last one stays open."""
        pages = self.pages()
        index = self._index(tab) if tab else self.active
        if len(pages) == 1:
            raise NoSuchTargetError("the last tab cannot be closed: the browser would end")
        front = self.page()
        await pages[index].close()
        left = self.pages()
        self._front = front if front in left else left[min(index, len(left) - 1)]
        await self._front.bring_to_front()

    def address(self, given: str) -> str:
        """Add a scheme to an address: that of an open page on the same host, else https; http with a port.

        A path alone is one of the active page's site.
        """
        if _SCHEME.match(given):
            return given
        if given.startswith("/"):
            return urljoin(str(self.page().url), given)
        host = given.partition("/")[0].lower()
        for page in self.pages():
            scheme, _, rest = page.url.partition("://")
            if rest.partition("/")[0] == host and scheme in {"http", "https"}:
                return f"{scheme}://{given}"
        return f"http://{given}" if _PORT.search(host) else f"https://{given}"

    def pages(self) -> Sequence[Any]:
        """Return the open pages; those that others opened stand behind, in the order they came in."""
        return sorted(
            self._context.pages, key=lambda page: self._places.get(page, len(self._places))
        )

    def _index(self, tab: str) -> int:
        for index, page in enumerate(self.pages()):
            if self.id(page) == tab:
                return index
        known = ", ".join(self.id(page) for page in self.pages())
        raise NoSuchTargetError(f"there is no tab {tab!r}: open are {known}")

    def id(self, page: Any) -> str:
        """Return a page's id."""
        if page not in self._ids:
            self._given += 1
            self._ids[page] = f"tab_{self._given}"
        return self._ids[page]


async def title_of(page: Any) -> str:
    """Return a page's title; nothing of one that loads or waits for an answer to a dialog."""
    from playwright.async_api import Error

    try:
        title: str = await asyncio.wait_for(page.title(), _TITLE_S)
    except (Error, asyncio.TimeoutError):
        return ""
    return title
