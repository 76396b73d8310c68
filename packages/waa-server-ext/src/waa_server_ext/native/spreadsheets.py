"""Spreadsheets: `compare_table` and the rules of its options."""

from __future__ import annotations

import itertools
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waa_server_ext.native.files import read_text
from waa_server_ext.native.refusals import RefusedFileError, check_archive, or_else, read_member
from waa_server_ext.native.registry import metric
from waa_server_ext.native.rules import matches_rule
from waa_server_ext.native.sheet_cells import cell_styles, cell_value, parsed_sheet, style_of
from waa_server_ext.native.sheet_parts import charts, dimensions, filters, pivots
from waa_server_ext.native.sheet_values import SheetFrame, open_values, read_frame

__all__: list[str] = []

_AREA = re.compile(rb"<(?:\w+:)?(?:mergeCell|hyperlink)\b[^>]*?\bref=[\"']([^\"']*)[\"']")
_MAX_AREA = 200_000
_SPARKLINE = "{http://schemas.microsoft.com/office/spreadsheetml/2009/9/main}sparkline"
_XM = "{http://schemas.microsoft.com/office/excel/2006/main}"


@dataclass(frozen=True)
class _Book:
    """One workbook: its path, its formulas and formats, its values, the names of its sheets."""

    path: str
    styled: Any
    values: Any
    names: list[str]


Pair = tuple[_Book, "_Book | None"]


@metric("table.py", needs=("openpyxl", "defusedxml", "rapidfuzz"))
def compare_table(result: str | None, expected: str | None = None, **options: Any) -> float:
    """Whether two workbooks satisfy every rule of the task's `options`.

    Fails as: 0.0 for None and a result that is not .xlsx; a damaged reference raises.

    Oddities: Rules: sheet_name, sheet_data, sheet_print, sheet_fuzzy, sparkline, chart, style,
    freeze, zoom, data_validation, row_props, col_props, filter, pivot_table, check_cell. Values
    are compared as pandas' read_excel gives them, to four digits.
    """
    if result is None:
        return 0.0
    ours = or_else(None, _open, result)
    if ours is None:
        return 0.0
    gold = None
    try:
        gold = _open(expected) if expected is not None else None
        for rule in options["rules"]:
            if rule["type"] not in _RULES:
                raise NotImplementedError(f"Unimplemented sheet check: {rule['type']}")
            if not _RULES[rule["type"]](rule, (ours, gold)):
                return 0.0
        return 1.0
    finally:
        ours.values.close()
        if gold is not None:
            gold.values.close()


def _open(path: str) -> _Book:
    from openpyxl import load_workbook

    # Refuse merged cells and links over large areas, which openpyxl would fill cell by cell
    from openpyxl.utils import range_boundaries

    with zipfile.ZipFile(check_archive(path)) as archive:
        for name in archive.namelist():
            if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
                continue
            areas = _AREA.findall(read_member(archive, name))
            total = 0
            for area in areas:
                bounds = or_else((1, 1, 1, 1), range_boundaries, area.decode("ascii", "replace"))
                left, top, right, bottom = (edge or 2**20 for edge in bounds)
                total += abs(right - left + 1) * abs(bottom - top + 1)
            if total > _MAX_AREA:
                raise RefusedFileError(Path(path).name, f"{name} merges or links {total} cells")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of parts that it drops
        styled = load_workbook(path)
    values = open_values(path)
    return _Book(path, styled, values, [sheet.title for sheet in values.worksheets])


def _locate(index: int | str, pair: Pair) -> tuple[Any, str]:
    """Return the book and the sheet's name for an index (`RI0`, `RNname`, `EI0`, `ENname`)."""
    ours, gold = pair
    if isinstance(index, int):
        return ours, _name_at(ours, index)
    side, how, rest = index[:1], index[1:2], index[2:]
    if side not in ("R", "E") or how not in ("I", "N"):
        raise ValueError("Unrecognized sheet index")
    book = ours if side == "R" else gold
    return book, rest if how == "N" else _name_at(book, rest)


def _name_at(book: _Book | None, index: Any) -> str:
    return str(or_else("", lambda: book.names[int(index)]))  # type: ignore[union-attr]  # None has none


def _frame(index: int | str, pair: Pair) -> SheetFrame | None:
    book, name = _locate(index, pair)
    return or_else(None, lambda: read_frame(book.values, name))


def _worksheet(index: int | str, pair: Pair) -> Any:
    book, name = _locate(index, pair)
    return or_else(None, lambda: book.styled[name])


def _sheet_name(rule: Mapping[str, Any], pair: Pair) -> bool:
    return pair[0].names == (pair[1].names if pair[1] is not None else None)


def _sheet_data(rule: Mapping[str, Any], pair: Pair) -> bool:
    digits = rule.get("precision", 4)
    first = _frame(rule["sheet_idx0"], pair)
    if first is None:
        return False
    second = _frame(rule["sheet_idx1"], pair)
    if second is None:
        raise AttributeError("the reference has no such sheet")
    return first.rounded(digits).equals(second.rounded(digits))


def _sheet_print(rule: Mapping[str, Any], pair: Pair) -> bool:
    first = or_else(None, _printed, rule["sheet_idx0"], pair)
    if first is None:
        return False
    second = or_else(None, _printed, rule["sheet_idx1"], pair)
    if rule.get("ignore_case", False):
        if second is None:
            raise TypeError("the reference has no such printed sheet")
        first, second = ([line.lower() for line in each] for each in (first, second))
    return bool(first == second)


def _printed(index: int | str, pair: Pair) -> list[str]:
    """Return the lines of the CSV file next to the workbook, last first, as upstream does."""
    book, name = _locate(index, pair)
    path = Path(book.path)
    lines = reversed(read_text(path.with_name(f"{path.stem}-{name}.csv")).splitlines())
    return list(itertools.dropwhile(lambda line: not line, (line.strip() for line in lines)))


def _sheet_fuzzy(rule: Mapping[str, Any], pair: Pair) -> bool:
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.cell_range import MultiCellRange

    sides = [_locate(rule[key], pair) for key in ("sheet_idx0", "sheet_idx1")]
    holds = True
    for each in rule["rules"]:
        for area in MultiCellRange(each["range"]):
            for row, column in area.cells:
                cell = f"{get_column_letter(column)}{row}"
                texts = [str(cell_value(book.path, name, cell)) for book, name in sides]
                holds = holds and _fuzzy(each, *(_cleaned(text, each) for text in texts))
    return holds


def _cleaned(text: str, rule: Mapping[str, Any]) -> str:
    for old, new in rule.get("normalization", []):
        text = text.replace(old, new)
    if "trim_leadings" in rule:
        text = text.lstrip(rule["trim_leadings"])
    if "trim_trailings" in rule:
        text = text.rstrip(rule["trim_trailings"])
    ignored = set(rule.get("ignore_chars", ""))
    text = "".join(character for character in text if character not in ignored)
    return text.lower() if rule.get("ignore_case", False) else text


def _fuzzy(rule: Mapping[str, Any], first: str, second: str) -> bool:
    from rapidfuzz import fuzz

    kind = rule["type"]
    if kind == "fuzzy_match":
        return bool(fuzz.ratio(first, second) >= rule.get("threshold", 85.0))
    checks = {
        "includes": lambda: second in first,
        "included_by": lambda: first in second,
        "exact_match": lambda: first == second,
    }
    if kind not in checks:
        raise UnboundLocalError(f"unknown fuzzy rule {kind!r}")
    return checks[kind]()


def _sparkline(rule: Mapping[str, Any], pair: Pair) -> bool:
    sides = [_locate(rule[key], pair) for key in ("sheet_idx0", "sheet_idx1")]
    return _sparklines(*sides[0]) == _sparklines(*sides[1])


def _sparklines(book: _Book, sheet: str) -> dict[str | None, str | None]:
    with zipfile.ZipFile(check_archive(book.path)) as archive:
        root = parsed_sheet(archive, sheet)
    return {
        each.find(f"{_XM}sqref").text: each.find(f"{_XM}f").text for each in root.iter(_SPARKLINE)
    }


def _style(rule: Mapping[str, Any], pair: Pair) -> bool:
    sides = [_locate(rule[key], pair) for key in ("sheet_idx0", "sheet_idx1")]
    styles = [cell_styles(book.styled, name, book.path, rule) for book, name in sides]
    return styles[0] == styles[1]


def _freeze(rule: Mapping[str, Any], pair: Pair) -> bool:
    first = _worksheet(rule["sheet_idx0"], pair)
    if first is None:
        return False
    return bool(first.freeze_panes == _worksheet(rule["sheet_idx1"], pair).freeze_panes)


def _zoom(rule: Mapping[str, Any], pair: Pair) -> bool:
    sheet = _worksheet(rule["sheet_idx"], pair)
    return sheet is not None and matches_rule(sheet.sheet_view.zoomScale or 100.0, rule)


def _data_validation(rule: Mapping[str, Any], pair: Pair) -> bool:
    sheet = _worksheet(rule["sheet_idx"], pair)
    if sheet is None:
        return False
    validations, wanted = sheet.data_validations.dataValidation, rule["dv_props"]
    return len(validations) >= len(wanted) and all(
        any(_validates(validation, each) for each in wanted) for validation in validations
    )


def _validates(validation: Any, wanted: Mapping[str, Any]) -> bool:
    known = validation.__elements__ + validation.__attrs__ + ("ranges",)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise AttributeError(f"a data validation has no {unknown[0]!r}")
    return all(matches_rule(getattr(validation, name), each) for name, each in wanted.items())


def _check_cell(rule: Mapping[str, Any], pair: Pair) -> bool:
    sheet = _worksheet(rule["sheet_idx"], pair)
    if sheet is None:
        return False
    cell = sheet[rule["coordinate"]]
    book, name = _locate(rule["sheet_idx"], pair)
    holds = True
    for prop, each in rule["props"].items():
        value = (
            cell_value(book.path, name, rule["coordinate"])
            if prop == "value"
            else style_of(prop, cell)
        )
        holds = holds and matches_rule(value, each)
    return holds


def _by(read: Callable[..., Any]) -> Callable[[Mapping[str, Any], Pair], bool]:
    """Return a rule that compares the results of `read(book, sheet, rule)` for both sheets."""

    def compare(rule: Mapping[str, Any], pair: Pair) -> bool:
        sides = [_locate(rule[key], pair) for key in ("sheet_idx0", "sheet_idx1")]
        first, second = (read(book.styled, name, rule) for book, name in sides)
        return bool(first == second)

    return compare


_RULES: dict[str, Callable[[Mapping[str, Any], Pair], bool]] = {
    "sheet_name": _sheet_name,
    "sheet_data": _sheet_data,
    "sheet_print": _sheet_print,
    "sheet_fuzzy": _sheet_fuzzy,
    "sparkline": _sparkline,
    "chart": _by(charts),
    "style": _style,
    "freeze": _freeze,
    "zoom": _zoom,
    "data_validation": _data_validation,
    "row_props": _by(lambda book, name, rule: dimensions(book, name, "row", rule)),
    "col_props": _by(lambda book, name, rule: dimensions(book, name, "column", rule)),
    "filter": _by(filters),
    "pivot_table": _by(pivots),
    "check_cell": _check_cell,
}
