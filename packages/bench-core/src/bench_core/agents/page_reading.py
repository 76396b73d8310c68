"""What a browser page says of itself: elements in view, an outline, matches, and elements named by reference."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from bench_core.agents import page_scripts as scripts
from bench_core.agents.records import Element
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from bench_core.agents.records import ReadPage, Zoom

__all__ = ["NoSuchTargetError", "PageReader", "is_ref", "zoomed"]

_REF = re.compile(r"ref_([1-9][0-9]{0,6})")
_MOST_OUTLINE = 50_000
_MOST_TEXT = 50_000
_MOST_FOUND = 20
_LARGEST_ZOOM = 4.0


class NoSuchTargetError(Exception):
    """The agent named something that is not there."""


class PageReader:
    """Reads pages; elements that it names (`ref_7`) stay known until their page loads another document."""

    def __init__(self) -> None:
        self._refs: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    async def elements(self, page: Any) -> tuple[Element, ...]:
        """Return the elements in view, numbered from 1."""
        found = await page.evaluate(scripts.ELEMENTS)
        return tuple(Element.model_validate(each) for each in found)

    async def outline(self, page: Any, action: ReadPage) -> str:
        """Return the page, or what is below one element, as lines of role, name and reference."""
        asked = {
            "interactive": action.interactive, "depth": action.depth, "most": _MOST_OUTLINE,
            "number": _number(action.element) if action.element else 0,
        }  # fmt: skip
        text: str | None = await self._ask(page, scripts.OUTLINE, asked)
        if text is None:
            raise NoSuchTargetError(f"there is no element {action.element!r} any more")
        return text

    async def find(self, page: Any, query: str) -> str:
        """Return the elements that have the most words of `query`, one a line."""
        found: str = await self._ask(page, scripts.FIND, {"query": query, "most": _MOST_FOUND})
        return found or "no element matches"

    async def text(self, page: Any) -> str:
        """Return the text of the page."""
        text: str = await page.evaluate("() => document.body ? document.body.innerText : ''")
        return text[:_MOST_TEXT]

    async def center(self, page: Any, ref: str) -> tuple[float, float]:
        """Bring a named element into view and return its centre."""
        at = await self._ask(page, scripts.CENTER, _number(ref))
        if at is None:
            raise NoSuchTargetError(f"there is no element {ref!r} any more: read the page again")
        return at[0], at[1]

    async def set_value(self, page: Any, ref: str, value: bool | float | str) -> None:  # noqa: FBT001  # the value
        """Give a named control its value."""
        wanted = int(value) if isinstance(value, float) and value.is_integer() else value
        wrong = await self._ask(page, scripts.SET_VALUE, [_number(ref), wanted])
        if wrong:
            raise NoSuchTargetError(f"{ref}: {wrong}")

    async def _ask(self, page: Any, script: str, asked: Any) -> Any:
        from playwright.async_api import Error  # noqa: PLC0415  # loaded by connect_browser

        held = self._refs.get(page)
        if held is not None:
            try:
                return await held.evaluate(script, asked)
            except Error as error:
                # another document has taken the place of the one whose elements were named
                if not any(word in str(error) for word in ("context", "JSHandle", "navigat")):
                    raise
        self._refs[page] = await page.evaluate_handle(scripts.REFS)
        return await self._refs[page].evaluate(script, asked)


def is_ref(name: str) -> bool:
    """Whether an element's id is a reference of `PageReader` and not one of the observation."""
    return _REF.fullmatch(name) is not None


def _number(ref: str) -> int:
    found = _REF.fullmatch(ref)
    if found is None:
        raise NoSuchTargetError(f"{ref!r} is not a reference such as 'ref_7'")
    return int(found[1])


async def zoomed(page: Any, action: Zoom, viewport: tuple[int, int]) -> ImagePart:
    """Return a part of the viewport, as large as fits it.

    Raises:
        NoSuchTargetError: The region is empty or outside the screen.
    """
    left, top, right, bottom = action.region
    width, height = viewport
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise NoSuchTargetError(
            f"the region {list(action.region)} is not on the screen, which is {width} x {height}"
        )
    scale = min(_LARGEST_ZOOM, width / (right - left), height / (bottom - top))
    scroll = await page.evaluate("() => [scrollX, scrollY]")
    session = await page.context.new_cdp_session(page)
    try:
        shot = await session.send(
            "Page.captureScreenshot",
            {
                "format": "png",
                "clip": {
                    "x": left + scroll[0], "y": top + scroll[1], "width": right - left,
                    "height": bottom - top, "scale": scale,
                },
            },
        )  # fmt: skip
    finally:
        await session.detach()
    return ImagePart.from_bytes(base64.b64decode(shot["data"]))
