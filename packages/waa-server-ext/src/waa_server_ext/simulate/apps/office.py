"""Office documents, read-only: their text without its formatting."""

from __future__ import annotations

import io
import ntpath
import zipfile
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from waa_server_ext.simulate.machine.archives import UNREADABLE
from waa_server_ext.simulate.machine.filesystem import normal
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.windows import Desktop, Window

_PARTS = {
    ".docx": "word/document.xml",
    ".odt": "content.xml",
    ".ods": "content.xml",
    ".pptx": "ppt/slides/slide1.xml",
}
_PROGRAMS = {
    ".docx": "Writer",
    ".odt": "Writer",
    ".xlsx": "Calc",
    ".ods": "Calc",
    ".csv": "Calc",
    ".pptx": "Impress",
}
_MAX_XML = 20 * 2**20  # the parsed tree takes several times as much
_PARAGRAPHS = {"p", "h", "row", "table-row"}


def document_text(data: bytes, extension: str) -> str:
    """Return a document's text, or a sentence that says why it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if extension == ".xlsx":
                names = archive.namelist()
                shared: list[str] = []
                if "xl/sharedStrings.xml" in names:
                    strings = _parsed(archive, "xl/sharedStrings.xml")
                    shared = ["".join(node.itertext()) for node in strings if _local(node) == "si"]
                first = min(name for name in names if name.startswith("xl/worksheets/sheet"))
                rows = []
                for row in _parsed(archive, first).iter():
                    if _local(row) == "row":
                        rows.append("    ".join(_cell(cell, shared) for cell in row))  # noqa: PERF401  # a loop reads better
                return "\n".join(rows[:5000])
            root = _parsed(archive, _PARTS[extension])
            found = [node for node in root.iter() if _local(node) in _PARAGRAPHS]
            return "\n".join(["".join(node.itertext()) for node in found[:5000]])
    except (*UNREADABLE, KeyError, ET.ParseError):
        return "This document cannot be shown."


def _parsed(archive: zipfile.ZipFile, part: str) -> ET.Element:
    if archive.getinfo(part).file_size > _MAX_XML:
        raise ValueError(f"{part} is too large")
    text = archive.read(part)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError(f"{part} declares entities")
    return ET.fromstring(text)  # noqa: S314  # a text with a doctype or entity was rejected


def _cell(cell: ET.Element, shared: list[str]) -> str:
    text = "".join(node.text or "" for node in cell.iter() if _local(node) in {"v", "t"})
    if cell.get("t") == "s" and text.isdigit() and int(text) < len(shared):
        return shared[int(text)]
    return text


def _local(node: ET.Element) -> str:
    return str(node.tag).rsplit("}", 1)[-1]


class Office(Window):
    """A document opened to be read."""

    exe = "soffice.exe"
    cls = "SALFRAME"
    icon = "app:#2a7a4b:L"
    size = (920, 620)

    def __init__(self, desktop: Desktop, path: str | None = None) -> None:
        super().__init__(desktop)
        self.path = path
        extension = ntpath.splitext(path or "")[1].casefold()
        self.program = _PROGRAMS.get(extension, "Writer")
        text = ""
        if path is not None:
            data = self.machine.files.read(path)
            text = (
                data.decode("utf-8", "replace")
                if extension == ".csv"
                else document_text(data, extension)
            )
        self.lines = text.split("\n")
        self.first = 0

    @property
    def title(self) -> str:
        """File and program."""
        name = ntpath.basename(self.path) if self.path else "Untitled 1"
        return f"{name} (read-only) - LibreOffice {self.program}"

    def build(self, ui: Builder) -> None:
        """Show the text on a page."""
        area = Area(self.frame.inset(1))
        area.top(32)
        ui.label(
            area.top(30).inset(12, 0),
            "This document is open in read-only mode.",
            size=12,
            fill="#fff4ce",
            cls="Infobar",
        )
        page = area.rect.inset(60, 16)
        with ui.group(
            page,
            "Document",
            "SALTMPSUBFRAME",
            native=True,
            wheel=self._scroll,
            style=Style(fill="#ffffff", border="#c8c8c8"),
        ):
            lines = Area(page.inset(24, 16))
            for line in self.lines[self.first :]:
                if lines.rect.height < 22:  # a line
                    break
                ui.label(lines.top(22), line, cls="Paragraph")

    def _scroll(self, by: int) -> None:
        self.first = min(max(self.first + by, 0), max(len(self.lines) - 1, 0))

    def saved_state(self) -> dict[str, Any]:
        """Return the file."""
        return {"path": self.path}


def open_office(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open a document, or an empty one."""
    words = [word for word in arguments if not word.startswith("-")]
    path = normal(" ".join(words).strip('"')) if words else None
    return Office(desktop, path if path and desktop.machine.files.is_file(path) else None)
