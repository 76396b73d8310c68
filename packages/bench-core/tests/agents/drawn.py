"""A small drawn desktop for the agents' tests: a note one types into and a Save button."""

from __future__ import annotations

import struct
import zlib

from bench_core.agents import (
    Action,
    ActionResult,
    Click,
    Element,
    ElementRef,
    Observation,
    PressKeys,
    TypeText,
)
from bench_core.models import ImagePart

SIZE = (320, 200)
NOTE = (20, 20, 280, 100)
SAVE = (20, 140, 80, 30)


class DrawnDesktop:
    """Two widgets drawn as rectangles; what was saved is the end state."""

    def __init__(self) -> None:
        self.text = ""
        self.saved: str | None = None
        self.focus = ""

    async def observe(self) -> Observation:
        elements = (
            Element(id="note", role="textbox", name="Note", value=self.text, rect=NOTE),
            Element(id="save", role="button", name="Save", rect=SAVE),
        )
        return Observation(
            screenshot=ImagePart.from_bytes(_draw(self.text)),
            size=SIZE,
            title="Notes",
            elements=elements,
        )

    async def act(self, action: Action) -> ActionResult:
        if isinstance(action, Click):
            return self._click(self._hit(action.target))
        if isinstance(action, TypeText):
            if action.target is not None:
                self._click(self._hit(action.target))
            if self.focus != "note":
                return ActionResult(ok=False, error="nothing has the focus")
            self.text = action.text if action.clear else self.text + action.text
        if isinstance(action, PressKeys) and action.keys == ("ctrl", "s"):
            self.saved = self.text
        return ActionResult()

    def _hit(self, target: object) -> str:
        if isinstance(target, ElementRef):
            return target.element
        x, y = target.pixels(SIZE)  # type: ignore[attr-defined]  # a Point
        for name, (left, top, width, height) in (("note", NOTE), ("save", SAVE)):
            if left <= x < left + width and top <= y < top + height:
                return name
        return ""

    def _click(self, name: str) -> ActionResult:
        if name not in {"note", "save"}:
            return ActionResult(ok=False, error="nothing is there")
        self.focus = name
        if name == "save":
            self.saved = self.text
        return ActionResult()


def _draw(text: str) -> bytes:
    """Draw the note as a PNG; each letter darkens the note a little, so that pixels change."""
    shade = max(0, 250 - 2 * len(text))
    rows = []
    for y in range(SIZE[1]):
        row = bytearray([255] * SIZE[0])
        for (left, top, width, height), grey in ((NOTE, shade), (SAVE, 120)):
            if top <= y < top + height:
                row[left : left + width] = bytes([grey]) * width
        rows.append(b"\x00" + bytes(row))
    header = struct.pack(">IIBBBBB", *SIZE, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
