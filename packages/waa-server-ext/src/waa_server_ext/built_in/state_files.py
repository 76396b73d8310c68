"""Files from the descriptions of end states: text, JSON, and documents described by their essentials."""

from __future__ import annotations

import base64
import functools
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

__all__ = ["content_of", "file_of"]


def file_of(described: Any) -> dict[str, Any]:
    """Return a file of a `VmState`; `{"hidden": ...}` and `{"locked": ...}` set that attribute."""
    attribute = next((each for each in ("hidden", "locked") if each in described), None)
    if isinstance(described, dict) and attribute:
        return {**file_of(described[attribute]), attribute: True}
    return {"b64": base64.b64encode(content_of(described)).decode()}


def content_of(described: Any) -> bytes:
    """Return the content of a file: text, or an object with one of the names of `_KINDS`."""
    return described.encode() if isinstance(described, str) else _made(json.dumps(described))


@functools.lru_cache(maxsize=64)
def _made(text: str) -> bytes:
    """Make a file, once for all of a task's end states that contain it."""
    described = json.loads(text)
    return next(
        _KINDS[name](value, described) for name, value in described.items() if name in _KINDS
    )


def _workbook(sheets: Mapping[str, Any], described: Mapping[str, Any]) -> bytes:
    from openpyxl import Workbook, chart, styles

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if kind := described.get("charts", {}).get(name):
            drawn = getattr(chart, kind)()
            drawn.add_data(
                chart.Reference(sheet, min_col=len(rows[0]), min_row=1, max_row=len(rows))
            )
            sheet.add_chart(drawn, "H2")
        for cell, color in described.get("fills", {}).get(name, {}).items():
            sheet[cell].fill = styles.PatternFill("solid", fgColor=color)
        for cell, color in described.get("fonts", {}).get(name, {}).items():
            sheet[cell].font = styles.Font(color=color)
    return _saved(book.save)


def _document(paragraphs: list[Any], described: Mapping[str, Any]) -> bytes:
    """Return a .docx of paragraphs: lists of runs, which are texts or `[text, {attribute of its font: value}]`."""
    import docx

    document = docx.Document()
    for paragraph in paragraphs:
        added = document.add_paragraph()
        options = paragraph.get("format", {}) if isinstance(paragraph, dict) else {}
        for run in paragraph["runs"] if isinstance(paragraph, dict) else [paragraph]:
            text, font = run if isinstance(run, list) else (run, {})
            made = added.add_run(text)
            for name, value in font.items():
                setattr(made.font, name, docx.shared.Pt(value) if name == "size" else value)
        for name, value in options.items():
            if name == "tab_stops":
                for at, alignment in value:
                    added.paragraph_format.tab_stops.add_tab_stop(docx.shared.Cm(at), alignment)
            else:
                setattr(added.paragraph_format, name, value)
    for rows in described.get("tables", ()):
        table = document.add_table(len(rows), len(rows[0]))
        for row, texts in zip(table.rows, rows, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
    document.sections[0].footer.paragraphs[0].text = described.get("footer", "")
    return _saved(document.save)


def _picture(size: list[int], described: Mapping[str, Any]) -> bytes:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (size[0], size[1]), described.get("ground", "white"))
    drawn = ImageDraw.Draw(image)
    for shape, box, color in described.get("shapes", ()):
        getattr(drawn, shape)(box, **{"fill" if shape == "line" else "outline": color}, width=4)
    return _saved(lambda into: image.save(into, "PNG"))


def _archive(files: Mapping[str, Any], _: Any) -> bytes:
    def write(into: Any) -> None:
        with zipfile.ZipFile(into, "w") as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content_of(content))

    return _saved(write)


def _locked_archive(files: Mapping[str, str], described: Mapping[str, Any]) -> bytes:
    import py7zr

    def write(into: Any) -> None:
        with py7zr.SevenZipFile(into, "w", password=described["password"]) as archive:
            for name, content in files.items():
                archive.writestr(content, name)

    return _saved(write)


def _pdf(text: str, _: Any) -> bytes:
    """Return a page with one line; it lacks a cross-reference table, which readers can do without."""
    drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
    parts = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    body = "".join(f"{number} 0 obj\n{each}\nendobj\n" for number, each in enumerate(parts, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R >>\n%%EOF\n".encode()


def _visited(addresses: list[str], _: Any) -> bytes:
    schema = resources.files("waa_server_ext.native").joinpath("history.sql").read_text("utf-8")
    return _database(
        schema, "INSERT INTO urls(url, title, last_visit_time) VALUES (?, '', 1)", addresses
    )


def _cookies(hosts: list[str], _: Any) -> bytes:
    schema = "CREATE TABLE cookies(creation_utc INTEGER, host_key TEXT, name TEXT)"
    return _database(schema, "INSERT INTO cookies VALUES (1, ?, 'id')", hosts)


def _database(schema: str, insert: str, values: list[str]) -> bytes:
    # `Connection.serialize` needs Python 3.11
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database"
        with closing(sqlite3.connect(path)) as database:
            database.executescript(schema)
            database.executemany(insert, [(each,) for each in values])
            database.commit()
        return path.read_bytes()


def _saved(save: Callable[[Any], Any]) -> bytes:
    data = io.BytesIO()
    save(data)
    return data.getvalue()


_KINDS: dict[str, Callable[[Any, Any], bytes]] = {
    "b64": lambda text, _: base64.b64decode(text),
    "bom": lambda text, _: text.encode("utf-8-sig"),
    "json": lambda value, _: json.dumps(value).encode(),
    "xlsx": _workbook,
    "docx": _document,
    "png": _picture,
    "zip": _archive,
    "7z": _locked_archive,
    "pdf": _pdf,
    "visited": _visited,
    "cookies": _cookies,
}
