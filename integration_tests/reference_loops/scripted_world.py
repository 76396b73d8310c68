"""A browser and a desktop of which everything is known beforehand, for two programs that must treat them alike.

This module needs nothing but the standard library: the reference loops import it in environments of their own.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

__all__ = ["SIZE", "RefusedError", "ScriptedWorld", "picture"]

SIZE = (320, 200)
TABS_OPENER = (300, 10)
"""A click here opens a tab."""
ASKER = (300, 20)
"""A click here opens a dialog, which is dismissed."""
BROKEN = (300, 30)
"""A click here fails."""


class RefusedError(Exception):
    """What was asked for cannot be done; the message is for the model."""


@dataclass
class Page:
    """An open tab."""

    id: str
    url: str = "about:blank"
    title: str = ""


@dataclass
class ScriptedWorld:
    """What is open, what was done, and what happened meanwhile.

    Attributes:
        opened: Ids of tabs that were opened since somebody last asked.
        dialogs: Kinds and messages of dialogs that were dismissed since then.
    """

    pages: list[Page] = field(
        default_factory=lambda: [
            Page("tab_1", "http://one.test/", "One"),
            Page("tab_2", "http://two.test/", "Two"),
        ]
    )
    active: str = "tab_1"
    done: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    dialogs: list[tuple[str, str]] = field(default_factory=list)
    pointer: tuple[int, int] = (160, 100)
    made: int = 2

    def page(self, tab: str | None = None) -> Page:
        """Return a tab, the active one by default."""
        for each in self.pages:
            if each.id == (tab or self.active):
                return each
        known = ", ".join(each.id for each in self.pages)
        raise RefusedError(f"there is no tab {tab!r}: open are {known}")

    def note(self, what: str, tab: str | None = None) -> None:
        """Remember what was done, in which tab."""
        self.done.append(f"{what} in {self.page(tab).id}")

    def click(self, at: tuple[float, float] | str, kind: str, tab: str | None = None) -> None:
        """Click a place or an element; three places have effects of their own."""
        if isinstance(at, str):
            if at not in {"ref_1", "ref_2"}:
                raise RefusedError(f"there is no element {at!r} any more: read the page again")
        else:
            self.pointer = (round(at[0]), round(at[1]))
        if at == BROKEN:
            raise RefusedError("nothing is there")
        self.note(f"{kind} at {at}", tab)
        if at == TABS_OPENER:
            self.open("http://three.test/", "Three")
        if at == ASKER:
            self.dialogs.append(("confirm", "Sure?"))

    def open(self, url: str = "about:blank", title: str = "") -> Page:
        """Open a tab and bring it to the front."""
        self.made += 1
        page = Page(f"tab_{self.made}", url, title)
        self.pages.append(page)
        self.opened.append(page.id)
        self.active = page.id
        return page

    def close(self, tab: str) -> None:
        """Close a tab; the last one stays."""
        page = self.page(tab)
        if len(self.pages) == 1:
            raise RefusedError("the last tab cannot be closed: the browser would end")
        self.pages.remove(page)
        if self.active == tab:
            self.active = self.pages[-1].id

    def switch(self, tab: str) -> None:
        """Bring a tab to the front."""
        self.active = self.page(tab).id

    def go(self, url: str, tab: str | None = None) -> Page:
        """Load an address; `http://broken.test` has none."""
        page = self.page(tab)
        if "broken.test" in url:
            raise RefusedError("net::ERR_NAME_NOT_RESOLVED")
        page.url, page.title = url, url.partition("://")[2].partition("/")[0]
        self.note(f"go to {url}", tab)
        return page

    def outline(self, tab: str | None = None) -> str:
        """Return a page as an outline."""
        page = self.page(tab)
        return f'heading "{page.title}" [ref_1]\nbutton "Save" [ref_2]' if page.title else ""

    def picture(self, tab: str | None = None) -> bytes:
        """Return a picture that is another one after each act and of each tab."""
        return picture(len(self.done) * 10 + int(self.page(tab).id.removeprefix("tab_")))


def picture(shade: int, size: tuple[int, int] = SIZE) -> bytes:
    """Return a grey PNG."""
    rows = (b"\0" + bytes([shade % 256]) * size[0]) * size[1]
    head = struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        end = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + end

    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in parts)
