"""The values of a sheet as upstream compares them: in the form that pandas' `read_excel` gives them.

The first row names the columns. A column becomes whole numbers, numbers, booleans, dates or
anything; text that is a number becomes one, and certain words (`NA`, `null`, ...) are gaps. Two
columns are equal only if both became the same kind, so that 1 and 1.0 may differ. Written after the
observed behavior of pandas 2, without its 60 MB.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from waa_server_ext.native.refusals import RefusedFileError, check_archive

Kind = Literal["int", "uint", "float", "bool", "datetime", "timedelta", "object"]

_GAPS = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)  # fmt: skip
_NUMBER = re.compile(r"[ \t\n\r\v\f]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t\n\r\v\f]*", re.ASCII)
_WHOLE = re.compile(r"[ \t\n\r\v\f]*[+-]?\d+[ \t\n\r\v\f]*", re.ASCII)
_INFINITE = {"inf": math.inf, "infinity": math.inf}
_TRUE, _FALSE = {"True", "TRUE", "true"}, {"False", "FALSE", "false"}
_MIN_INT, _MAX_INT, _MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1
_MAX_ROWS = 1_048_576  # Excel's own limit
_MAX_CELLS = 4_000_000  # a sheet may declare far more cells than it stores


class _NotNumericError(Exception):
    pass


@dataclass(frozen=True)
class Column:
    """The kind of a column and its values; gaps are NaN."""

    kind: Kind
    values: tuple[Any, ...]

    def rounded(self, digits: int) -> Column:
        """Return the column with floating-point numbers rounded, halves to even."""
        if self.kind != "float":
            return self
        return Column("float", tuple(_round(value, digits) for value in self.values))


@dataclass(frozen=True)
class SheetFrame:
    """A sheet: column names and columns."""

    names: tuple[Any, ...]
    columns: tuple[Column, ...]

    def rounded(self, digits: int) -> SheetFrame:
        """Return the sheet with floating-point numbers rounded."""
        return SheetFrame(self.names, tuple(column.rounded(digits) for column in self.columns))

    def equals(self, other: SheetFrame) -> bool:
        """Whether names, kinds and values are the same; gaps are equal to gaps."""
        if not _same(self.names, other.names):
            return False
        pairs = zip(self.columns, other.columns, strict=True)
        return all(one.kind == two.kind and _same(one.values, two.values) for one, two in pairs)


def open_values(path: str) -> Any:
    """Open a workbook for its values as last computed.

    Raises:
        RefusedFileError: Unpacking it would take too much.
    """
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of parts that it drops
        return load_workbook(check_archive(path), read_only=True, data_only=True, keep_links=False)


def read_frame(book: Any, sheet: str) -> SheetFrame:
    """Return the values of a sheet.

    Raises:
        KeyError: The sheet does not exist.
        RefusedFileError: It has too many cells.
    """
    if sheet not in [each.title for each in book.worksheets]:
        raise KeyError(sheet)
    rows = _rows(book[sheet])
    if not rows:
        return SheetFrame((), ())
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else ((),) * len(rows[0])
    # Name the columns: unnamed ones by position, repeated ones by a suffix, given names first
    header = rows[0]
    names = [f"Unnamed: {index}" if name == "" else name for index, name in enumerate(header)]
    unnamed = [index for index, name in enumerate(header) if name == ""]
    given = [index for index in range(len(names)) if index not in set(unnamed)]
    seen: defaultdict[Any, int] = defaultdict(int)
    for index in (*given, *unnamed):
        name = original = names[index]
        count = seen[name]
        while count > 0:
            seen[original] = count + 1
            name = f"{original}.{count}"
            count = count + 1 if name in names else seen[name]
        names[index] = name
        seen[name] = count + 1
    return SheetFrame(tuple(names), tuple(_inferred(each) for each in columns))


def last_row(path: str) -> list[str]:
    """Return the last row of the first sheet as strings.

    Raises:
        IndexError: It has no row besides the names.
    """
    book = open_values(path)
    try:
        frame = read_frame(book, book.worksheets[0].title)
    finally:
        book.close()
    if not frame.columns or not frame.columns[0].values:
        raise IndexError("single positional indexer is out-of-bounds")
    kinds = {column.kind for column in frame.columns}
    values = [column.values[-1] for column in frame.columns]
    if kinds <= {"int", "float"} and "float" in kinds:
        return [str(float(value)) for value in values]
    return [str(value) for value in values]


def _rows(sheet: Any) -> list[list[Any]]:
    """Return the cells up to the last row and column with a value; blanks are empty strings."""
    sheet.reset_dimensions()
    rows: list[list[Any]] = []
    filled = cells = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in sheet.rows:
            values = [_value(cell) for cell in row]
            cells += len(values)
            if cells > _MAX_CELLS or len(rows) >= _MAX_ROWS:
                raise RefusedFileError(sheet.title, "the sheet has too many cells")
            while values and values[-1] == "":
                values.pop()
            rows.append(values)
            filled = len(rows) if values else filled
    width = max((len(row) for row in rows), default=0)
    if width * filled > _MAX_CELLS:
        raise RefusedFileError(sheet.title, f"the sheet has {width} times {filled} cells")
    return [row + [""] * (width - len(row)) for row in rows[:filled]]


def _value(cell: Any) -> Any:
    if cell.value is None:
        return ""
    if cell.data_type == "e":
        return math.nan
    if cell.data_type == "n":
        whole = int(cell.value)
        return whole if whole == cell.value else float(cell.value)
    return cell.value


def _inferred(values: Sequence[Any]) -> Column:
    if not values:
        return Column("object", ())
    try:
        return _numbers(values)
    except _NotNumericError:
        cleaned = [math.nan if _is_gap(value) else value for value in values]
    booleans = _booleans(cleaned)
    if booleans is not None:
        return booleans
    for kind, types in (("datetime", datetime), ("timedelta", timedelta)):
        if all(isinstance(value, types) or _is_nan(value) for value in cleaned):
            return Column(kind, tuple(cleaned))  # type: ignore[arg-type]
    return Column("object", tuple(cleaned))


def _numbers(values: Iterable[Any]) -> Column:
    """Make numbers of a column: one gap or fraction makes all of it floating-point."""
    numbers = [_number(value) for value in values]
    whole = [value for value in numbers if isinstance(value, int) and not isinstance(value, bool)]
    if any(isinstance(value, float) for value in numbers):
        return Column("float", tuple(float(value) for value in numbers))
    if not whole:
        return Column("bool", tuple(numbers))
    low, high = min(whole), max(whole)
    if low < _MIN_INT or high > _MAX_UINT or (low < 0 and high > _MAX_INT):
        return Column("float", tuple(float(value) for value in numbers))
    kind: Kind = "uint" if high > _MAX_INT else "int"
    return Column(kind, tuple(int(value) for value in numbers))


def _number(value: Any) -> Any:
    if _is_gap(value):
        return math.nan
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, str):
        raise _NotNumericError
    if _WHOLE.fullmatch(value):
        return int(value)
    if _NUMBER.fullmatch(value):
        return float(value)
    sign = -1.0 if value.startswith("-") else 1.0
    bare = value.lower().removeprefix("-") if sign < 0 else value.lower().removeprefix("+")
    if bare not in _INFINITE:
        raise _NotNumericError
    return sign * _INFINITE[bare]


def _booleans(values: Sequence[Any]) -> Column | None:
    found: list[Any] = []
    for value in values:
        if isinstance(value, bool) or _is_nan(value):
            found.append(value)
        elif isinstance(value, str) and value in _TRUE | _FALSE:
            found.append(value in _TRUE)
        else:
            return None
    gaps = any(_is_nan(value) for value in found)
    return Column("object" if gaps else "bool", tuple(found))


def _is_gap(value: Any) -> bool:
    return _is_nan(value) or (isinstance(value, str) and value in _GAPS)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _round(value: float, digits: int) -> float:
    if not math.isfinite(value):
        return value
    factor = 10.0 ** abs(digits)
    scaled = value * factor if digits >= 0 else value / factor
    if not math.isfinite(scaled):
        return scaled
    whole = float(round(scaled))
    return whole / factor if digits >= 0 else whole * factor


def _same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    if len(first) != len(second):
        return False
    pairs = zip(first, second, strict=True)
    return all(one == two or (_is_nan(one) and _is_nan(two)) for one, two in pairs)
