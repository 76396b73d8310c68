"""Hostile files: bombs, cut and mutated documents, pictures that claim to be huge."""

from __future__ import annotations

import functools
import io
import json
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from document_builder import build

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

__all__ = ["MAKERS", "hostile_call"]

_RULES = [
    {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"},
    {"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["bgcolor"]},
]
_RULE = {"type": "rule", "expected": {}, "font_name": "A", "sql": "select 1"}
_LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><z>&j;</z>"
)
_OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a SYSTEM "file:///etc/passwd">]><z>&a;</z>'

WORD = [
    "check_tabstops", "compare_docx_files", "compare_docx_tables", "compare_highlighted_text",
    "compare_line_spacing", "compare_subscript_contains", "evaluate_strike_through_last_paragraph",
    "check_italic_font_size_14",
]  # fmt: skip
MAKERS = {
    ".docx": WORD,
    ".odt": ["check_highlighted_words", "compare_docx_files"],
    ".xlsx": ["compare_table"],
    ".zip": ["compare_zip_files"],
    ".png": ["compare_images", "check_structure_sim", "check_image_size"],
    ".xcu": ["find_default_font"],
    ".json": ["check_json_settings", "check_json_keybindings"],
    ".txt": ["compare_text_file", "diff_text_file"],
    ".vlcrc": ["check_qt_slider_colours", "is_vlc_recordings_folder"],
}
"""Kinds of files and the metrics that read them in this process."""


def hostile_call(rng: Random, folder: Path) -> tuple[str, list[Any], dict[str, Any]]:
    """Return a metric with arguments of which the first file is hostile."""
    suffix = rng.choice(sorted(MAKERS))
    name = rng.choice(MAKERS[suffix])
    good, bad = folder / f"gold{suffix}", folder / f"result{suffix}"
    good.write_bytes(whole(suffix))
    bad.write_bytes(spoil(rng, suffix))
    if name in ("find_default_font", "check_image_size") or suffix in (".json", ".vlcrc"):
        return name, [str(bad), {**_RULE, "recording_file_path": "x", "type": "blackish"}], {}
    options = {"rules": _RULES} if name == "compare_table" else {}
    return name, [str(bad), str(good)], options


@functools.cache
def whole(suffix: str) -> bytes:  # noqa: PLR0911  # a file of each kind
    """Return a sound file of a kind."""
    if suffix == ".docx":
        paragraph = {
            "runs": [{"text": "hello", "italic": True, "size": 14}],
            "tabs": [[72, "left"]],
        }
        return build({"docx": {"paragraphs": [paragraph] * 3, "tables": [[["a", "b"]]]}})
    if suffix == ".odt":
        return _zip({"content.xml": _odt("hello"), "mimetype": b"application/odt"})
    if suffix == ".xlsx":
        return _xlsx()
    if suffix == ".zip":
        return _zip({"a.txt": b"hello", "b.txt": b"world" * 100})
    if suffix == ".png":
        return _png(32, 32)
    if suffix == ".xcu":
        return b"<items><item><prop><value>A</value></prop></item></items>"
    return json.dumps({"a": [1, 2, {"b": None}]}).encode()


def spoil(rng: Random, suffix: str) -> bytes:
    """Return a file that is cut, mutated, a bomb or something else altogether."""
    data = whole(suffix)
    kind = rng.choice(["cut", "mutated", "mutated", "member", "bomb", "laughs", "other", "huge"])
    if kind == "cut":
        return data[: rng.randrange(len(data))]
    if kind == "mutated":
        return _mutated(rng, data)
    if kind == "member" and suffix in (".docx", ".odt", ".xlsx", ".zip"):
        return _mutated_member(rng, data)
    if kind == "other":
        return whole(rng.choice(sorted(MAKERS)))
    if kind == "laughs":
        laughs = rng.choice([_LAUGHS, _OUTSIDE])
        return laughs if suffix == ".xcu" else _with_markup(suffix, laughs)
    return _bomb(rng, suffix)


def _bomb(rng: Random, suffix: str) -> bytes:
    if suffix == ".png":
        return _png(rng.choice([60_000, 2**31 - 1]), rng.choice([60_000, 2**31 - 1]), body=False)
    if suffix == ".xlsx":
        return rng.choice([_xlsx_merged, _xlsx_far, _xlsx_wide])()
    if suffix == ".json":
        return b"[" * 200_000
    if suffix in (".txt", ".vlcrc", ".xcu"):
        return b"x" * rng.choice([1_000_000, 40_000_000])
    return _with_markup(suffix, b"<a>" * 100_000 + bytes(60_000_000))


@functools.cache
def _with_markup(suffix: str, markup: bytes) -> bytes:
    names = {
        ".docx": "word/document.xml", ".odt": "content.xml", ".xlsx": "xl/workbook.xml",
    }  # fmt: skip
    if suffix not in names:
        return _zip({"a.xml": markup, "../../up.txt": b"out", "/abs.txt": b"out"})
    with zipfile.ZipFile(io.BytesIO(whole(suffix))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return _zip({**members, names[suffix]: markup})


def _mutated(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 3, 30])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _mutated_member(rng: Random, data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice([each for each in members if members[each]])
    return _zip({**members, name: _mutated(rng, members[name])})


def _zip(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _odt(text: str) -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    words = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    return (
        f'<o:document-content xmlns:o="{office}" xmlns:t="{words}"><o:automatic-styles/>'
        f"<o:body><o:text><t:p>{text}</t:p></o:text></o:body></o:document-content>"
    ).encode()


@functools.cache
def _png(width: int, height: int, *, body: bool = True) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes((1 + 3 * width) * height if body else 5_000_000))
    parts = chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@functools.cache
def _xlsx(sheet: bytes | None = None) -> bytes:
    from openpyxl import Workbook  # of the extra [office]

    book = Workbook()
    for row in (["a", "b"], [1, 2.5], ["x", None]):
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    if sheet is None:
        return stream.getvalue()
    with zipfile.ZipFile(stream) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return _zip({**members, "xl/worksheets/sheet1.xml": sheet})


def _sheet(rows: str, more: str = "") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData>{more}</worksheet>'.encode()


@functools.cache
def _xlsx_merged() -> bytes:
    areas = '<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    return _xlsx(_sheet('<row r="1"><c r="A1"><v>1</v></c></row>', areas))


@functools.cache
def _xlsx_far() -> bytes:
    return _xlsx(_sheet('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'))


@functools.cache
def _xlsx_wide() -> bytes:
    rows = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 2000))
    return _xlsx(_sheet(rows))
