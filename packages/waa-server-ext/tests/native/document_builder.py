"""Builds the input files of a case from its recipe, so that committed cases stay small and readable.

A recipe names the kind of file and what is in it: `{"docx": {"paragraphs": [...]}}`. Builders put in
what a recipe says and leave everything else at the library's default.
"""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import tempfile
import wave
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

__all__ = ["build", "resolve"]

Recipe = Mapping[str, Any]


def resolve(argument: Any, folder: Path) -> Any:
    """Return a case's argument as a metric takes it: the path of a built file, or the value."""
    if isinstance(argument, dict) and set(argument) == {"value"}:
        return argument["value"]
    if isinstance(argument, dict) and "file" in argument:
        path = folder / argument["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        recipe = {kind: what for kind, what in argument.items() if kind != "file"}
        if recipe:
            path.write_bytes(build(recipe))
        return str(path)
    raise ValueError(f"neither a value nor a file: {argument!r}")


def build(recipe: Recipe) -> bytes:
    """Return the bytes of the file that `recipe` describes."""
    ((kind, what),) = recipe.items()
    return _BUILDERS[kind](what)


def _text(what: str) -> bytes:
    return what.encode("utf-8")


def _json(what: Any) -> bytes:
    return json.dumps(what).encode()


def _raw(what: str) -> bytes:
    return base64.b64decode(what)


def _cut(what: Mapping[str, Any]) -> bytes:
    """The first `keep` (a share) of another file's bytes."""
    whole = build(what["of"])
    return whole[: int(len(whole) * what["keep"])]


def _docx(what: Mapping[str, Any]) -> bytes:
    import docx  # of the extra [office]

    document = docx.Document()
    for paragraph in what.get("paragraphs", []):
        _fill_paragraph(document.add_paragraph(style=paragraph.get("style")), paragraph)
    for rows in what.get("tables", []):
        table = document.add_table(len(rows), max(map(len, rows), default=0))
        for y, row in enumerate(rows):
            for x, text in enumerate(row):
                table.cell(y, x).text = text
    for index, text in enumerate(what.get("footers", [])):
        section = document.sections[0] if index == 0 else document.add_section()
        section.footer.is_linked_to_previous = False
        section.footer.paragraphs[0].text = text
    return _saved(document)


_ALIGNMENTS = {"left": 0, "center": 1, "right": 2, "justify": 3}
_TABS = {"left": 0, "center": 1, "right": 2, "decimal": 3, "clear": 101}
_HIGHLIGHTS = {"yellow": 7, "green": 4, "none": 0}


def _fill_paragraph(paragraph: Any, what: Mapping[str, Any]) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_TAB_ALIGNMENT
    from docx.shared import Pt

    form = paragraph.paragraph_format
    if "spacing" in what:
        spacing = what["spacing"]
        form.line_spacing = Pt(spacing["pt"]) if isinstance(spacing, dict) else spacing
    if "align" in what:
        form.alignment = WD_ALIGN_PARAGRAPH(_ALIGNMENTS[what["align"]])
    for position, alignment in what.get("tabs", []):
        form.tab_stops.add_tab_stop(Pt(position), WD_TAB_ALIGNMENT(_TABS[alignment]))
    for run in what.get("runs", []):
        _format_run(paragraph.add_run(run["text"]), run)


def _format_run(run: Any, what: Mapping[str, Any]) -> None:
    from docx.enum.text import WD_COLOR_INDEX
    from docx.shared import Pt

    for name in ("bold", "italic", "strike", "subscript", "superscript"):
        if name in what:
            setattr(run.font, name, what[name])
    if "size" in what:
        run.font.size = Pt(what["size"])
    if "font" in what:
        run.font.name = what["font"]
    if "highlight" in what:
        run.font.highlight_color = WD_COLOR_INDEX(_HIGHLIGHTS[what["highlight"]])


_ODT_NAMESPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in (("office", "office"), ("text", "text"), ("style", "style"))
)
_FO = 'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'


def _odt(what: Mapping[str, Any]) -> bytes:
    """Paragraphs of parts; a part is a text or `{"text": ..., "background": "#ffff00" or null}`."""
    styles, paragraphs = [], []
    for paragraph in what["paragraphs"]:
        parts = []
        for part in paragraph:
            if isinstance(part, str):
                parts.append(escape(part))
                continue
            name = f"T{len(styles) + 1}"
            styles.append(_odt_style(name, part.get("background")))
            parts.append(f'<text:span text:style-name="{name}">{escape(part["text"])}</text:span>')
        paragraphs.append(f"<text:p>{''.join(parts)}</text:p>")
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_ODT_NAMESPACES} {_FO} '
        f'office:version="1.3"><office:automatic-styles>{"".join(styles)}</office:automatic-styles>'
        f"<office:body><office:text>{''.join(paragraphs)}</office:text></office:body>"
        "</office:document-content>"
    )
    mimetype = "application/vnd.oasis.opendocument.text"
    manifest = (
        '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" '
        f'manifest:version="1.3"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{mimetype}"/><manifest:file-entry '
        'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    parts_of = {"mimetype": mimetype, "content.xml": content, "META-INF/manifest.xml": manifest}
    return _archive({name: text.encode() for name, text in parts_of.items()})


def _odt_style(name: str, background: str | None) -> str:
    colour = "" if background is None else f" fo:background-color={quoteattr(background)}"
    return (
        f'<style:style style:name="{name}" style:family="text">'
        f"<style:text-properties{colour}/></style:style>"
    )


def _xlsx(what: Mapping[str, Any]) -> bytes:
    import openpyxl  # of the extra [office]

    book = openpyxl.Workbook()
    book.remove(book.active)
    for sheet in what["sheets"]:
        _fill_sheet(book.create_sheet(sheet["name"]), sheet)
    return _saved(book)


def _fill_sheet(sheet: Any, what: Mapping[str, Any]) -> None:
    for y, row in enumerate(what.get("rows", []), 1):
        for x, value in enumerate(row, 1):
            if value is not None:
                sheet.cell(y, x, _cell_value(value))
    for at, style in what.get("styles", {}).items():
        _style_cell(sheet[at], style)
    for chart in what.get("charts", []):
        sheet.add_chart(_chart(sheet, chart), chart.get("at", "H2"))
    for pivot in what.get("pivots", []):
        sheet.add_pivot(_pivot(pivot))


def _cell_value(value: Any) -> Any:
    if isinstance(value, dict):  # {"date": "2024-01-31T00:00:00"}
        return datetime.fromisoformat(value["date"])
    return value


def _style_cell(cell: Any, style: Mapping[str, Any]) -> None:
    from openpyxl.styles import Font, PatternFill

    if "fill" in style:
        colours = dict(zip(("start_color", "end_color"), style["fill"], strict=False))
        cell.fill = PatternFill("solid", **colours)
    font = {name: style[name] for name in ("bold", "italic", "color", "size") if name in style}
    if font:
        cell.font = Font(**font)
    if "number_format" in style:
        cell.number_format = style["number_format"]


def _chart(sheet: Any, what: Mapping[str, Any]) -> Any:
    from openpyxl import chart

    kinds = {"bar": chart.BarChart, "line": chart.LineChart, "pie": chart.PieChart}
    kinds |= {"area": chart.AreaChart, "scatter": chart.ScatterChart}
    made = kinds[what["type"]]()
    values = chart.Reference(sheet, range_string=f"'{sheet.title}'!{what['values']}")
    if what["type"] == "scatter":
        across = chart.Reference(sheet, range_string=f"'{sheet.title}'!{what['categories']}")
        made.series.append(chart.Series(values, across))
    else:
        made.add_data(values, titles_from_data=what.get("titled", False))
        if "categories" in what:
            across = chart.Reference(sheet, range_string=f"'{sheet.title}'!{what['categories']}")
            made.set_categories(across)
    if what.get("title") is not None:
        made.title = what["title"]
    if "legend" in what and what["legend"] is None:
        made.legend = None
    elif "legend" in what:
        made.legend.position = what["legend"]
    return made


def _pivot(what: Mapping[str, Any]) -> Any:
    """A pivot table over a range; a field is null, or the indices its items stand for."""
    from openpyxl.pivot import cache, fields, record, table

    source = cache.WorksheetSource(ref=what["ref"], sheet=what["sheet"])
    names = what["names"]
    cached = cache.CacheDefinition(
        cacheSource=cache.CacheSource(type="worksheet", worksheetSource=source),
        cacheFields=[
            cache.CacheField(
                name=name, sharedItems=cache.SharedItems(_fields=[fields.Text(v="x")], count=1)
            )
            for name in names
        ],
        refreshOnLoad=True,
        id="rId1",
    )
    cached.records = record.RecordList()
    made = table.TableDefinition(
        name=what.get("name", "pivot"),
        cacheId=1,
        dataCaption="Values",
        location=table.Location(ref="A3:B8", firstHeaderRow=1, firstDataRow=2, firstDataCol=1),
        pivotFields=[_pivot_field(items) for items in what["fields"]],
        rowFields=[table.RowColField(x=x) for x in what.get("rows", [])],
        colFields=[table.RowColField(x=x) for x in what.get("columns", [])],
        pageFields=[table.PageField(fld=x, hier=-1) for x in what.get("filters", [])],
        dataFields=[
            table.DataField(name=f"of {names[fld]}", fld=fld, subtotal=subtotal)
            for fld, subtotal in what.get("data", [])
        ],
    )
    made.cache = cached
    return made


def _pivot_field(items: list[list[Any]] | None) -> Any:
    from openpyxl.pivot.table import FieldItem, PivotField

    if items is None:
        return PivotField(showAll=False)
    made = [FieldItem(h=hidden, x=x) for hidden, x in items]
    return PivotField(axis="axisRow", showAll=False, items=[*made, FieldItem(t="default")])


def _pdf(what: Mapping[str, Any]) -> bytes:
    import pymupdf  # of the extra [pdf-agpl]

    document = pymupdf.open()
    for text in what["pages"]:
        page = document.new_page()
        if text.strip():
            page.insert_text((72, 72), text)
    return bytes(document.tobytes(no_new_id=True))


def _image(what: Mapping[str, Any]) -> bytes:
    written = io.BytesIO()
    _drawn(what).convert(what.get("mode", "RGB")).save(written, what.get("format", "PNG"))
    return written.getvalue()


def _drawn(what: Mapping[str, Any]) -> Any:
    """A gradient with rectangles on it: what a screenshot or a photograph has of both."""
    from PIL import Image, ImageDraw  # of the extra [media]

    width, height = what["size"]
    across = Image.linear_gradient("L").resize((width, height))
    down = Image.radial_gradient("L").resize((width, height))
    image = Image.merge("RGB", (across, down, across.transpose(Image.Transpose.ROTATE_180)))
    draw = ImageDraw.Draw(image)
    for x, y, w, h, colour in what.get("boxes", []):
        draw.rectangle((x, y, x + w, y + h), fill=colour)
    return image


def _video(what: Mapping[str, Any]) -> bytes:
    """Frames of the same size, each the boxes on it."""
    import cv2  # of the extra [media]
    import numpy as np

    size = what["size"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "video.avi"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, tuple(size))
        for boxes in what["frames"]:
            frame = np.array(_drawn({"size": size, "boxes": boxes}))
            writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        writer.release()
        return path.read_bytes()


def _wav(what: Mapping[str, Any]) -> bytes:
    """Tones one after another, each `[hertz, seconds, loudness]`."""
    rate = what.get("rate", 22050)
    samples: list[int] = []
    for hertz, seconds, loudness in what["tones"]:
        steps = range(int(rate * seconds))
        samples += [
            int(32000 * loudness * math.sin(2 * math.pi * hertz * step / rate)) for step in steps
        ]
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return written.getvalue()


def _zip(what: Mapping[str, Any]) -> bytes:
    return _archive({name: build(recipe) for name, recipe in what.items()})


def _archive(members: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)
    return written.getvalue()


def _saved(document: Any) -> bytes:
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


_BUILDERS: Mapping[str, Callable[[Any], bytes]] = {
    "cut": _cut,
    "docx": _docx,
    "image": _image,
    "json": _json,
    "odt": _odt,
    "pdf": _pdf,
    "raw": _raw,
    "text": _text,
    "video": _video,
    "wav": _wav,
    "xlsx": _xlsx,
    "zip": _zip,
}
