"""What a browser page says of itself: elements in view, an outline, matches, and elements named by reference."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from bench_core.agents import page_scripts as scripts
from bench_core.agents.page_nodes import Nodes, NoSuchTargetError
from bench_core.agents.records import Element
from bench_core.models.records import ImagePart

if TYPE_CHECKING:
    from bench_core.agents.records import ReadPage, Zoom

__all__ = ["PageReader", "zoomed"]

_MOST_OUTLINE = 50_000
_MOST_TEXT = 50_000
_MOST_FOUND = 20
_LARGEST_ZOOM = 4.0


class PageReader:
    """Reads pages; elements that it names are in `nodes`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def elements(self, page: Any) -> tuple[Element, ...]:
        """Return the elements in view."""
        found = await self._nodes.ask(page.main_frame, scripts.ELEMENTS)
        return tuple(Element.model_validate(each) for each in found)

    async def outline(self, page: Any, action: ReadPage) -> str:
        """Return the page, or what is below one element, as lines of role, name and reference."""
        asked = {
            "interactive": action.interactive, "depth": action.depth, "most": _MOST_OUTLINE,
            "number": 0,
        }  # fmt: skip
        frame = page.main_frame
        if action.element:
            asked["number"], (frame, _) = self._nodes.held(action.element)
        text: str | None = await self._nodes.ask(frame, scripts.OUTLINE, asked)
        if text is None:
            raise NoSuchTargetError(f"there is no element {action.element!r} any more")
        return text

    async def find(self, page: Any, query: str) -> str:
        """Return the elements that have the most words of `query`, one a line."""
        found: str = await self._nodes.ask(
            page.main_frame, scripts.FIND, {"query": query, "most": _MOST_FOUND}
        )
        return found or "no element matches"

    async def text(self, page: Any) -> str:
        """Return the text of the page."""
        text: str = await page.evaluate("() => document.body ? document.body.innerText : ''")
        return text[:_MOST_TEXT]


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
