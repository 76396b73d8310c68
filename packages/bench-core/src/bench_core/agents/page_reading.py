"""Read a browser page: its text in order with its controls, and the lines that match words."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from bench_core.agents.browser_input import ask_browser
from bench_core.agents.observation_text import SCREEN_BEGINS, SCREEN_ENDS, lines_from
from bench_core.agents.page_nodes import Nodes, NoSuchTargetError, Placed
from bench_core.agents.page_scripts import script
from bench_core.agents.records import Element, ReadPage, Zoom, shortened
from bench_core.models.records import ImagePart

_MOST_SHOWN = 20_000
"""Characters of a page that an observation has; about 5,000 tokens."""
_MOST_TEXT = 50_000
_MOST_FOUND = 20
_MOST_HEADING = 80
_MOST_LINE = 600
_LARGEST_ZOOM = 4.0
_MOST_FRAMES = 20
# a frame that hangs must not hide the rest of its page
_FRAME_S = 2.0
_ALL: dict[str, Any] = {
    "element": 0, "apart": False, "interactive": False, "links": False, "notices": False,
    "lines": 5000, "depth": 1000, "elements": 1000,
}  # fmt: skip
_PAGE_ERROR = re.compile(r"\b(?:Type|Range|Reference|Syntax)Error: .*")
_HEADING = re.compile(r"#{1,6} ")
_WORDS = re.compile(r"\w+")
_ELEMENTS = TypeAdapter(list[Element])


@dataclass
class _TextLine:
    text: str
    seen: bool


@dataclass
class PageLook:
    """A document and those in its frames.

    Attributes:
        above: Pixels of the page above the screen, `below` those below it.
        notices: Messages that appeared since the previous look.
    """

    lines: list[_TextLine]
    elements: list[Element]
    notices: list[str]
    above: int = 0
    below: int = 0

    def text(self) -> str:
        """Return the lines with marks where the screen begins and ends, as many around it as fit."""
        first, last = _on_screen(self.lines)
        shown = [each.text for each in self.lines]
        if -1 < last < len(shown) - 1 and self.below > 0:
            mark = f"{SCREEN_ENDS}: {self.below} px of the page are below ---"
            shown.insert(last + 1, mark)
        if first > 0 and self.above > 0:
            mark = f"{SCREEN_BEGINS}: {self.above} px of the page are above ---"
            shown.insert(first, mark)
        sizes = [len(each) + 1 for each in shown]
        start = end = first
        room = _MOST_SHOWN
        while end < len(shown) and sizes[end] <= room:
            room -= sizes[end]
            end += 1
        while start > 0 and sizes[start - 1] <= room:
            start -= 1
            room -= sizes[start]
        how = "left out here: scroll, or ask with find or read_page"
        head = [f"({start} lines are {how})"] if start else []
        tail = [f"({len(shown) - end} lines are {how})"] if end < len(shown) else []
        return "\n".join([*head, *shown[start:end], *tail])


class PageReader:
    """Reads pages; elements that it names are in `nodes`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def look(self, page: Any) -> PageLook:
        """Return the page's text, controls and notices now."""
        from playwright.async_api import Error

        try:
            return await self._read(page.main_frame, _ALL | {"notices": True})
        except Error as error:
            # a page can replace the built-ins that every script relies on; it is then seen on the picture alone
            found = _PAGE_ERROR.search(str(error))
            if found is None:
                raise
            return PageLook(
                [_TextLine(f"(the page cannot be read: {found[0][:200]})", seen=True)], [], []
            )

    async def outline(self, page: Any, action: ReadPage) -> str:
        """Return the page, or the part below one element, with its links' targets."""
        asked = _ALL | {"interactive": action.interactive, "depth": action.depth, "links": True}
        asked["apart"] = action.interactive
        frame = page.main_frame
        if action.element:
            asked["element"], held = self._nodes.held(action.element)
            frame = held.frame
        read = (await self._read(frame, asked)).lines
        lines = [each for each in read if each.seen or not action.visible]
        return lines_from(action.start, [each.text for each in lines], "read_page")

    async def find(self, page: Any, query: str) -> str:
        """Return the page's lines with the most words of `query`, controls with the heading above them."""
        lines = (await self._read(page.main_frame, _ALL | {"apart": True})).lines
        words = set(_WORDS.findall(query.lower()))
        scored = []
        heading = ""
        for number, line in enumerate(lines):
            text = line.text.strip()
            hits = sum(word in text.lower() for word in words)
            if _HEADING.match(text):
                heading = shortened(text.lstrip("# "), _MOST_HEADING)
            elif heading and text.startswith("[") and " in the " not in text:
                text += f" (below: {heading})"
            if hits:
                scored.append((-hits, "[" not in text, number, text))
        scored.sort()
        best = [each for each in scored if each[0] == scored[0][0]]
        shown = [shortened(text, _MOST_LINE) for *_, text in best[:_MOST_FOUND]]
        if best and -best[0][0] < len(words):
            shown.insert(0, "no line has all of these words; the closest:")
        if len(best) > _MOST_FOUND:
            shown.append(f"({len(best) - _MOST_FOUND} more match as well)")
        return "\n".join(shown) or "nothing matches"

    async def text(self, page: Any) -> str:
        """Return the text of the page."""
        text: str = await page.evaluate("() => document.body ? document.body.innerText : ''")
        return text[:_MOST_TEXT]

    async def _read(
        self, frame: Any, asked: dict[str, Any], place: Placed | None = None
    ) -> PageLook:
        """Read a document, which is at `place`, and those of the frames in it."""
        written = await self._nodes.ask(frame, script("read"), asked)
        if written is None:
            raise NoSuchTargetError(
                f"element {asked['element']} is gone: the page has drawn it anew or been left; look again"
            )
        found = json.loads(written)
        placed = found["elements"]
        if place is not None:
            placed = [_moved(each, place) for each in placed]
        elements = _ELEMENTS.validate_python(placed)
        look = PageLook([], elements, found["notices"], found["above"], found["below"])
        holders = dict(found["frames"])
        frames = await self._frames(frame) if holders else {}
        for number, (text, seen) in enumerate(zip(found["lines"], found["seen"], strict=True)):
            on_screen = seen == "1"
            look.lines.append(_TextLine(text, on_screen))
            framed = frames.get(holders[number]) if number in holders else None
            inner = await self._framed(framed, asked) if framed else None
            if inner is not None:
                blank = " " * (len(text) - len(text.lstrip()) + 1)
                look.lines += [
                    _TextLine(blank + line.text, line.seen and on_screen) for line in inner.lines
                ]
                look.elements += inner.elements
                look.notices += inner.notices
        if found["full"]:
            more = "(the page goes on: read_page with an element gives what is below it)"
            look.lines.append(_TextLine(more, seen=False))
        return look

    async def _framed(self, framed: tuple[Any, Placed], asked: dict[str, Any]) -> PageLook | None:
        """Read a document in another; None of one that does not answer."""
        from playwright.async_api import Error

        try:
            reading = self._read(framed[0], asked | {"element": 0}, framed[1])
            return await asyncio.wait_for(reading, _FRAME_S)
        except (Error, asyncio.TimeoutError):
            return None

    async def _frames(self, frame: Any) -> dict[int, tuple[Any, Placed]]:
        """Return the frames in a frame, and where each is in the page, by the numbers of their elements."""
        from playwright.async_api import Error

        found = {}
        for child in frame.child_frames[:_MOST_FRAMES]:
            try:
                place = await asyncio.wait_for(self._nodes.placed(child), _FRAME_S)
            except (Error, asyncio.TimeoutError):
                continue
            if place is not None:
                found[place.holder] = (child, place)
        return found


def _moved(element: dict[str, Any], place: Placed) -> dict[str, Any]:
    """Return an element with its rectangle in the page instead of in its frame."""
    if element["rect"] is None:
        return element
    x, y, width, height = (place.scale * each for each in element["rect"])
    return element | {"rect": [place.x + x, place.y + y, width, height]}


def _on_screen(lines: Sequence[_TextLine]) -> tuple[int, int]:
    """Return the longest run of lines on the screen: sticky headers and footers are elsewhere in the text.

    >>> _on_screen([_TextLine(each, each in "aef") for each in "abcdefg"])
    (4, 5)
    """
    best, start, previous = (0, -1), 0, -2
    for number, line in enumerate(lines):
        if not line.seen:
            continue
        if number > previous + 3:
            start = number
        previous = number
        if number - start > best[1] - best[0]:
            best = (start, number)
    return best


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
    clip = {
        "x": left + scroll[0], "y": top + scroll[1], "width": right - left, "height": bottom - top,
        "scale": scale,
    }  # fmt: skip
    shot = await ask_browser(page, "Page.captureScreenshot", {"format": "png", "clip": clip})
    return ImagePart.from_bytes(base64.b64decode(shot["data"]))
