"""Workbooks and the rules of `compare_table`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from recipes.common import Call, Drawn, damaged, file, sometimes

if TYPE_CHECKING:
    from random import Random

__all__ = ["compare_table"]

_CELLS: list[Any] = [
    1, 2, 1.0, 2.5, 0.123456, 0.12344, -3, 0, "", "text", " text", "Text", "NA", "N/A", "null", "nan", "1",
    "1.0", "TRUE", True, False, None, {"date": "2024-01-31T00:00:00"}, {"date": "2024-01-31T12:30:00"},
    "=SUM(A1:A2)", "#DIV/0!", 10**15, 1e-7, "Größe",
]  # fmt: skip


def _column(rng: Random, length: int) -> list[Any]:
    kind = rng.randint(0, 4)
    if kind == 0:
        return [rng.randint(-5, 50) for _ in range(length)]
    if kind == 1:
        return [round(rng.uniform(-5, 50), rng.randint(0, 6)) for _ in range(length)]
    if kind == 2:
        return [rng.choice(["north", "south", "", None, "east "]) for _ in range(length)]
    return [rng.choice(_CELLS) for _ in range(length)]


def _rows(rng: Random) -> list[list[Any]]:
    width, length = rng.randint(0, 4), rng.randint(0, 5)
    columns = [_column(rng, length) for _ in range(width)]
    names = [
        rng.choice(["name", "value", "value", "total", None, 3, " value"]) for _ in range(width)
    ]
    return [names, *[[column[row] for column in columns] for row in range(length)]]


def _changed_rows(rng: Random, rows: list[list[Any]]) -> list[list[Any]]:
    other = copy.deepcopy(rows)
    change = rng.randint(0, 9)
    filled = [(y, x) for y, row in enumerate(other) for x in range(len(row))]
    if not filled:
        return other
    y, x = rng.choice(filled)
    if change == 0:
        other[y][x] = rng.choice(_CELLS)
    elif (
        change == 1 and isinstance(other[y][x], (int, float)) and not isinstance(other[y][x], bool)
    ):
        other[y][x] += rng.choice([1e-6, 4e-5, 0.0001, 1, 0.0])
    elif change == 2:
        other.append([None] * len(other[0]))
    elif change == 3:
        other.insert(0, [None] * len(other[0]))
    elif change == 4:
        rng.shuffle(other)
    elif change == 5:
        other = [[*row, None] for row in other]
    elif change == 6:
        other[y][x] = str(other[y][x]) if other[y][x] is not None else ""
    elif change == 7 and isinstance(other[y][x], int):
        other[y][x] = float(other[y][x])
    return other


def _chart(rng: Random) -> Call:
    kind = rng.choice(["bar", "line", "pie", "area", "scatter"])
    chart: Call = {
        "type": kind,
        "values": rng.choice(["B1:B4", "C1:C4", "B2:B4"]),
        "categories": "A2:A4",
    }
    if kind != "scatter" and sometimes(rng, 0.3):
        del chart["categories"]
    if kind != "scatter" and sometimes(rng, 0.5):
        chart["titled"] = True
    if sometimes(rng, 0.6):
        chart["title"] = rng.choice(["Sales", "sales", ""])
    if sometimes(rng, 0.6):
        chart["legend"] = rng.choice(["r", "b", None])
    return chart


_RANGE = [["name", "q1", "q2"], ["a", 1, 2], ["b", 3, 4], ["c", 5, 6]]


def _chart_rule(rng: Random) -> tuple[Call, Call, Call]:
    charts = [{**_chart(rng), "at": at} for at in ("E2", "M2")[: rng.randint(0, 2)]]
    other = copy.deepcopy(charts)
    if other and sometimes(rng, 0.5):
        other[-1] = {**_chart(rng), "at": other[-1]["at"]}
    props = rng.choice([["type"], ["type", "legend"], ["type", "legend", "title"], []])
    rule = {"type": "chart", "sheet_idx0": 0, "sheet_idx1": "EI0", "chart_props": props}
    return {"rows": _RANGE, "charts": charts}, {"rows": _RANGE, "charts": other}, rule


def _pivot(rng: Random) -> Call:
    return {
        "ref": rng.choice(["A1:C4", "A1:C5"]),
        "sheet": rng.choice(["Sheet1", "Data"]),
        "names": ["name", "q1", "q2"],
        "fields": rng.choice(
            [
                [[[None, 0], [None, 1]], None, None],
                [[[True, 0], [None, 1]], None, None],
                [None, [[None, 0]], None],
                [None, None, None],
                [[[None, 1], [None, 0]], [[None, 0]], None],
            ]
        ),
        "rows": rng.choice([[0], [1], []]),
        "columns": rng.choice([[], [1], [-2]]),
        "filters": rng.choice([[], [0], [2]]),
        "data": rng.choice([[[1, "sum"]], [[2, "count"]], [[1, "sum"], [2, "average"]]]),
    }


def _pivot_rule(rng: Random) -> tuple[Call, Call, Call]:
    pivots = [_pivot(rng)] if sometimes(rng, 0.9) else []
    other = copy.deepcopy(pivots) if sometimes(rng, 0.5) else [_pivot(rng)]
    props = ["col_fields", "filter", "row_fields", "data_fields"]
    rule = {"type": "pivot_table", "sheet_idx0": 0, "sheet_idx1": "EI0", "pivot_props": props}
    return {"rows": _RANGE, "pivots": pivots}, {"rows": _RANGE, "pivots": other}, rule


_BLUE, _WHITE = "FF0000FF", "FFFFFFFF"


def _style(rng: Random) -> Call:
    style: Call = {}
    if sometimes(rng, 0.6):
        style["fill"] = rng.choice([[_BLUE, _BLUE], [_BLUE], ["FFFF0000", _BLUE]])
    if sometimes(rng, 0.6):
        style["color"] = rng.choice([_WHITE, "FF000000", "00FFFFFF"])
    if sometimes(rng, 0.5):
        style["bold"] = sometimes(rng, 0.7)
    return style


def _style_rule(rng: Random) -> tuple[Call, Call, Call]:
    styles = {at: _style(rng) for at in ("A1", "B2", "D5") if sometimes(rng, 0.6)}
    other = copy.deepcopy(styles)
    if sometimes(rng, 0.5):
        other[rng.choice(["A1", "B2", "C3"])] = _style(rng)
    props = [rng.choice(["bgcolor", "font_color", "fgcolor", "font_bold"])]
    rule = {"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": props}
    return {"rows": _RANGE, "styles": styles}, {"rows": _RANGE, "styles": other}, rule


def _cell_rule(rng: Random) -> tuple[Call, Call, Call]:
    exact = {"fill": [_BLUE, _BLUE], "color": _WHITE, "bold": True}
    style = exact if sometimes(rng, 0.6) else _style(rng)
    title = rng.choice(["Demographic Profile", "Demographic profile", 3, None])
    sheet = {"rows": [[title, 1]], "styles": {"A1": style}}
    props = {
        "bgcolor": {"method": "eq", "ref": _BLUE},
        "font_color": {"method": "eq", "ref": _WHITE},
        "font_bold": {"method": "eq", "ref": True},
        "value": {"method": "eq", "ref": "Demographic Profile"},
    }
    chosen = {name: props[name] for name in props if sometimes(rng, 0.85)}
    rule = {"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": chosen}
    return sheet, sheet, rule


def _data_rule(rng: Random) -> tuple[Call, Call, Call]:
    rows = _rows(rng)
    rule: Call = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}
    if sometimes(rng, 0.1):
        rule["precision"] = rng.choice([0, 2, 6])
    if sometimes(rng, 0.1):
        rule["sheet_idx0"] = rng.choice(["RI0", "RNSheet1", "EI0", 7, "RN nowhere", 1])
    return {"rows": rows}, {"rows": _changed_rows(rng, rows)}, rule


def compare_table(rng: Random) -> Drawn:
    kinds = [_data_rule, _chart_rule, _pivot_rule, _style_rule, _cell_rule]
    actual, expected, rule = rng.choices(kinds, [8, 3, 3, 3, 2])[0](rng)
    books = []
    for name, sheet in (("actual.xlsx", actual), ("expected.xlsx", expected)):
        sheets = [{"name": "Sheet1" if sometimes(rng, 0.9) else "Sheet 2", **sheet}]
        if sometimes(rng, 0.2):
            sheets.append({"name": "More", "rows": _rows(rng)})
        books.append(file(name, xlsx={"sheets": sheets}))
    rules = [rule]
    if sometimes(rng, 0.2):
        rules.insert(0, {"type": "sheet_name"})
    if sometimes(rng, 0.03):
        rules.append({"type": "unknown"})
    options: Call = {"rules": rules} if sometimes(rng, 0.98) else {}
    return [damaged(rng, books[0]), books[1]], options
