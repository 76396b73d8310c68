"""Detect changes since the agent looked: another document, another tab, a dialog."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from bench_core.agents.browser_tabs import Tabs, title_of
from bench_core.agents.page_nodes import Nodes
from bench_core.dialogs import FOLLOW, PAGE_EVENTS, Dialogs, asks_for_password, look_again

_MOST_WORDS = 500
_COMMIT_S = 2.0
"""So long is waited for the answer to a navigation that has begun."""
_LOOK_S = 0.02


class _Shown(NamedTuple):
    """A tab's document and path at a look; the path, as documents may change their own address."""

    document: Any
    path: str


@dataclass
class _UnderWay:
    """A tab's pending loads and new tabs, with its session and frame."""

    session: Any
    frame: str
    loading: bool = False
    opening: int = 0


class Changes:
    """Reports each change once: in the result of the act that brought it, or else before the next act.

    A tab that a page opens stays behind. How dialogs are answered: `bench_core.dialogs`.
    """

    def __init__(self, context: Any, tabs: Tabs, nodes: Nodes) -> None:
        self.dialogs = Dialogs()
        self._tabs = tabs
        self._nodes = nodes
        self._known: list[Any] | None = None
        self._front: Any = None
        self._shown: WeakKeyDictionary[Any, _Shown] = WeakKeyDictionary()
        self._under_way: WeakKeyDictionary[Any, _UnderWay] = WeakKeyDictionary()
        context.on("dialog", self._answer)
        context.on("response", self._see)

    async def news(self, page: Any) -> tuple[str, ...]:
        """Return changes of `page` and the front page since the last call; none at first."""
        shown = {page: await self._look(page)}
        if await self._settled(page):
            shown[page] = await self._look(page)
        if shown[page] is not None:  # else it stands still, and would cost as long once more
            await self._look_again(page)
        found = self.dialogs.take()
        pages, known = self._tabs.pages(), self._known
        front = self._tabs.page()
        if known is not None:
            found += tuple(
                f"the page opened a tab ({each.url}), which is behind this one"
                for each in pages
                if each not in known and each is not front
            )
            if front is not self._front:
                closed = "its tab was closed; " if self._front not in pages else ""
                found += (f"{closed}in front is now the tab {await _words(front)}",)
        self._known, self._front = list(pages), front
        for each in {page, front}:
            if each.is_closed():
                continue
            before = self._shown.get(each)
            now = shown[each] if each in shown else await self._look(each)
            if now is None:
                continue
            self._shown[each] = now
            if (
                before is not None
                and now != before
                and not (each is front and known and front not in known)
            ):
                found += (f"the page is now {await _words(each)}",)
        return found if known is not None else ()

    async def _look(self, page: Any) -> _Shown | None:
        from playwright.async_api import Error

        try:
            document = await asyncio.wait_for(self._nodes.document(page.main_frame), _COMMIT_S)
        except (Error, asyncio.TimeoutError):
            return None  # it is on its way to another one, or stands still
        return _Shown(document, urlsplit(page.url).path)

    async def _look_again(self, page: Any) -> None:
        from playwright.async_api import Error

        if under_way := self._under_way.get(page):
            with suppress(Error, asyncio.TimeoutError):  # as above
                looking = look_again(under_way.frame, under_way.session.send)
                await asyncio.wait_for(looking, _COMMIT_S)

    async def _settled(self, page: Any) -> bool:
        """Wait for navigations and new tabs that have begun; return whether there were any."""
        from playwright.async_api import Error

        if page not in self._under_way:
            with suppress(Error, asyncio.TimeoutError):  # closed meanwhile, or it stands still
                self._under_way[page] = await asyncio.wait_for(
                    _follow(page, self.dialogs), _COMMIT_S
                )
        under_way = self._under_way.get(page)
        known = self._known or self._tabs.pages()
        waited = False
        for _ in range(round(_COMMIT_S / _LOOK_S)):
            opened = sum(each not in known for each in self._tabs.pages())
            if (
                under_way is None
                or page.is_closed()
                or not (under_way.loading or under_way.opening > opened)
            ):
                break
            waited = True
            await asyncio.sleep(_LOOK_S)
        if under_way is not None:
            under_way.opening = 0
        return waited

    async def _answer(self, dialog: Any) -> None:
        from playwright.async_api import Error

        answer = self.dialogs.answer(dialog.type, dialog.message, dialog.default_value)
        with suppress(Error):  # closed with its page
            await (dialog.accept(answer.text) if answer.accept else dialog.dismiss())

    def _see(self, response: Any) -> None:
        if response.request.is_navigation_request():
            self.dialogs.note(asks_for_password(response.url, response.status, response.headers))


async def _words(page: Any) -> str:
    title = await title_of(page)
    return (
        f"'{title[:_MOST_WORDS]}' ({page.url[:_MOST_WORDS]})" if title else page.url[:_MOST_WORDS]
    )


async def _follow(page: Any, dialogs: Dialogs) -> _UnderWay:
    """Track a page's pending loads and new tabs from now on."""
    session = await page.context.new_cdp_session(page)
    for event, words in PAGE_EVENTS.items():
        session.on(event, lambda params, words=words: dialogs.note(words(params)))
    for command, params in FOLLOW:
        await session.send(command, params)
    main = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    under_way = _UnderWay(session, main)

    def load(event: dict[str, Any], *, begun: bool) -> None:
        if event.get("frameId", event.get("frame", {}).get("id")) == main:
            under_way.loading = begun

    def opens(_: dict[str, Any]) -> None:
        under_way.opening += 1

    session.on("Page.frameStartedLoading", lambda event: load(event, begun=True))
    session.on("Page.frameStoppedLoading", lambda event: load(event, begun=False))
    session.on("Page.frameNavigated", lambda event: load(event, begun=False))
    session.on("Page.windowOpen", opens)
    return under_way
