"""Single cells of a workbook: their stored value, their style, and conditional formatting."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from waa_server_ext.native.refusals import (
    RefusedFileError,
    check_archive,
    or_else,
    parse_xml,
    read_member,
)

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MAX_STYLED = 1_000_000
_ABSOLUTE = re.compile(r"\$([A-Z]{1,3})\$(\d+)(?::\$([A-Z]{1,3})\$(\d+))?")


def cell_value(path: str, sheet: str, coordinate: str) -> Any:
    """Return a cell's stored value, a number or a text; None for anything else, and if the file is no archive.

    Raises:
        KeyError: The sheet does not exist; sheets are found by their id, as upstream does.
    """
    try:
        with zipfile.ZipFile(check_archive(path)) as archive:
            # a workbook without texts has no list of them
            strings = or_else(None, _shared_strings, archive)
            root = parsed_sheet(archive, sheet)
    except zipfile.BadZipFile:
        return None
    return _stored(root, strings, coordinate)


def parsed_sheet(archive: zipfile.ZipFile, sheet: str) -> Any:
    """Return the XML of a sheet, found by its id.

    Raises:
        KeyError: The sheet does not exist.
    """
    workbook = _part(archive, "xl/workbook.xml")
    ids = {
        each.get("name"): each.get("sheetId")
        for sheets in workbook.iter(f"{_MAIN}sheets")
        for each in sheets.findall(f"{_MAIN}sheet")
    }
    return _part(archive, f"xl/worksheets/sheet{ids[sheet]}.xml")


def style_of(name: str, cell: Any, differential: Any = None) -> Any:
    """Return one property of a cell, or of the style that a condition lays over it.

    Raises:
        NotImplementedError: The property is unknown.
        AttributeError: The cell does not set a color itself.
    """
    styled = differential or cell
    if name in ("fill_type", "bgcolor", "fgcolor"):
        return or_else(None, _fill, name, styled)
    readers: dict[str, Callable[[], Any]] = {
        "number_format": lambda: _number_format(cell, differential),
        "font_name": lambda: styled.font.name,
        "font_family": lambda: styled.font.family,
        "font_color": lambda: styled.font.color.rgb,
        "font_bold": lambda: styled.font.bold,
        "font_italic": lambda: styled.font.italic,
        "font_underline": lambda: styled.font.underline,
        "font_size": lambda: styled.font.size,
        "hyperlink": lambda: cell.hyperlink or "",
    }
    if name not in readers:
        raise NotImplementedError(f"Unsupported Style: {name}")
    return readers[name]() if cell.value is not None else None


def cell_styles(book: Any, sheet: str, path: str, rule: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the properties of every cell of a sheet; none if it does not exist.

    Raises:
        NotImplementedError: Conditional formatting of a kind that upstream does not know.
        RefusedFileError: The sheet has too many cells.
    """
    try:
        worksheet = book[sheet]
    except KeyError:
        return {}
    if worksheet.max_row * worksheet.max_column > _MAX_STYLED:
        raise RefusedFileError(sheet, "the sheet has too many cells")
    props: Sequence[str] = rule.get("props", [])
    styles = {
        cell.coordinate: [style_of(name, cell) for name in props]
        for column in worksheet.iter_cols()
        for cell in column
    }
    for formatting in worksheet.conditional_formatting:
        for each in formatting.rules:
            for cell in _active(each, formatting, worksheet, path):
                styles[cell.coordinate] = [style_of(name, cell, each.dxf) for name in props]
    return styles


def _part(archive: zipfile.ZipFile, name: str) -> Any:
    return parse_xml(name, read_member(archive, name))


def _shared_strings(archive: zipfile.ZipFile) -> list[str]:
    root = _part(archive, "xl/sharedStrings.xml")
    return ["".join(text.text for text in each.iter(f"{_MAIN}t")) for each in root]


def _stored(root: Any, strings: list[str] | None, coordinate: str) -> Any:
    found = (
        cell
        for row in root.iter(f"{_MAIN}row")
        for cell in row.findall(f"{_MAIN}c")
        if cell.get("r") == coordinate
    )
    cell = next(found, None)
    value = cell.find(f"{_MAIN}v") if cell is not None else None
    if cell is None or value is None:
        return None
    text, kind = (value.text or "").strip() or None, cell.get("t")
    try:
        if kind in (None, "n"):
            return float(text)  # type: ignore[arg-type]  # an empty value raises, as upstream
        if kind == "s":
            if strings is None:
                raise NameError("the shared strings cannot be read")
            return strings[int(text)]  # type: ignore[arg-type]  # same
    except ValueError:
        return None
    return text if kind == "str" else None


def _number_format(cell: Any, differential: Any) -> Any:
    if cell.data_type != "n":
        return None
    return cell.number_format if differential is None else differential.numFmt.formatCode


def _fill(name: str, styled: Any) -> Any:
    if name == "fill_type":
        return styled.fill.tagname
    return styled.fill.bgColor.rgb if name == "bgcolor" else styled.fill.fgColor.rgb


def _active(rule: Any, formatting: Any, worksheet: Any, path: str) -> list[Any]:
    """Return the cells whose condition holds."""
    from openpyxl.utils import get_column_letter

    from waa_server_ext.native.formulas import compile_condition

    if rule.type != "expression":
        raise NotImplementedError(f"Not Implemented Condition Type: {rule.type}")
    condition = compile_condition(rule.formula[0])
    cells = [cell for area in formatting.cells for cell in _cells_of(area)]
    fixed = [_fixed(path, worksheet.title, each) for each in _ABSOLUTE.findall(rule.formula[0])]
    with zipfile.ZipFile(check_archive(path)) as archive:
        strings = or_else(None, _shared_strings, archive)
        root = parsed_sheet(archive, worksheet.title)
    active = []
    for row, column in cells:
        value = _stored(root, strings, f"{get_column_letter(column)}{row}")
        if condition(value, *fixed):
            active.append(worksheet.cell(row=row, column=column))
    return active


def _cells_of(area: Any) -> list[tuple[int, int]]:
    size = (area.max_row - area.min_row + 1) * (area.max_col - area.min_col + 1)
    if size > 20_000:  # each is searched for in the sheet
        raise RefusedFileError(str(area), "conditional formatting of too many cells")
    return list(area.cells)


def _fixed(path: str, sheet: str, match: tuple[str, str, str, str]) -> Any:
    """Return the value of an absolute cell, or the values of an absolute area."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.cell_range import CellRange

    first_column, first_row, last_column, last_row = match
    # upstream asks for the last cell even if there is none, which raises
    area = CellRange(f"{first_column}{first_row}:{last_column}{last_row}")
    return [
        cell_value(path, sheet, f"{get_column_letter(column)}{row}")
        for row, column in _cells_of(area)
    ]
