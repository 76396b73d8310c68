"""Parts of a sheet: charts, pivot tables, filters, rows and columns, as plain values to compare."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from waa_server_ext.native.refusals import or_else

_DIMENSION_PROPS = frozenset(
    {"auto_size", "bestFit", "collapsed", "customFormat", "customHeight", "customWidth", "height",
     "hidden", "ht", "index", "max", "min", "outlineLevel", "outline_level", "r", "reindex", "s",
     "spans", "thickBot", "thickTop", "width"}
)  # fmt: skip


def charts(book: Any, sheet: str, rule: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each chart's properties by the cells it draws; none if the sheet does not exist."""
    worksheet = _sheet(book, sheet)
    if worksheet is None:
        return {}
    wanted = set(rule.get("chart_props", ()))
    found = {}
    for chart in worksheet._charts:  # openpyxl exposes the charts it has read only here
        source = ";".join(f"{_cells(each.val)},{_cells(each.cat)}" for each in chart.series)
        found[source] = {name: read(chart) for name, read in _CHART_PROPS.items() if name in wanted}
    return found


def pivots(book: Any, sheet: str, rule: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each pivot table's properties by its source; none if the sheet does not exist."""
    worksheet = _sheet(book, sheet)
    if worksheet is None:
        return {}
    wanted = set(rule.get("pivot_props", []))
    return dict(_pivot(each, wanted) for each in worksheet._pivots)


def filters(book: Any, sheet: str, rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sheet's filter and its order; nothing if the sheet does not exist."""
    worksheet = _sheet(book, sheet)
    if worksheet is None:
        return {}
    found = worksheet.auto_filter
    columns = sorted(map(_filter_column, found.filterColumn), key=lambda each: each["col_id"])
    described = {"ref": found.ref, "filter_column": columns}
    if found.sortState is not None:
        described["sort_state"] = _order(found.sortState)
    return described


def dimensions(
    book: Any, sheet: str, kind: str, rule: Mapping[str, Any]
) -> dict[Any, dict[str, Any]]:
    """Return properties of the rows or columns that set any themselves.

    Raises:
        AttributeError: Rows or columns do not have such a property.
    """
    worksheet = _sheet(book, sheet)
    if worksheet is None:
        return {}
    held = worksheet.row_dimensions if kind == "row" else worksheet.column_dimensions
    props = set(rule.get("props", []))
    if held and not props <= _DIMENSION_PROPS:
        raise AttributeError(f"a {kind} has no {min(props - _DIMENSION_PROPS)!r}")
    return {number: {name: getattr(each, name) for name in props} for number, each in held.items()}


def _sheet(book: Any, sheet: str) -> Any:
    try:
        return book[sheet]
    except KeyError:
        return None


def _cells(data: Any) -> str:
    """Return the cells that a series takes its values or categories from."""
    for name in ("numRef", "strRef"):
        reference: Any = getattr(data, name, None)
        if reference is not None and hasattr(reference, "f"):
            return str(reference.f)
    return ""


def _title(part: Any) -> Any:
    return or_else(None, lambda: part.title.tx.rich.p[0].r[0].t)


_CHART_PROPS: dict[str, Callable[[Any], Any]] = {
    "title": _title,
    "legend": lambda chart: chart.legend.position if chart.legend is not None else None,
    # upstream takes the last row twice and the first row never
    "anchor": lambda chart: [
        chart.anchor.editAs,
        chart.anchor._from.col,  # its name in openpyxl
        chart.anchor.to.row,
        chart.anchor.to.col,
        chart.anchor.to.row,
    ],
    "width": lambda chart: chart.width,
    "height": lambda chart: chart.height,
    "type": lambda chart: chart.tagname,
    "direction": lambda chart: chart.barDir,
    "xtitle": lambda chart: or_else(None, lambda: _title(chart.x_axis)),
    "ytitle": lambda chart: or_else(None, lambda: _title(chart.y_axis)),
    "ztitle": lambda chart: or_else(None, lambda: _title(chart.z_axis)),
}


def _pivot(pivot: Any, wanted: set[str]) -> tuple[str, dict[str, Any]]:
    """Return source and properties; ignore columns without items at the edges."""
    items = [
        [(item.h, item.x) for item in each.items if item.x is not None]
        for each in pivot.pivotFields
    ]
    left = _empty_before(items)
    right = _empty_before(list(reversed(items[left:])))
    selection = items[left : len(items) - right]
    from openpyxl.utils import coordinate_to_tuple

    first, last = pivot.cache.cacheSource.worksheetSource.ref.split(":")
    (top, start), (bottom, end) = coordinate_to_tuple(first), coordinate_to_tuple(last)
    sheet = pivot.cache.cacheSource.worksheetSource.sheet
    source = f"{pivot.cache.cacheSource.type};{(top, start + left)}:{(bottom, end - right)};{sheet}"
    readers: dict[str, Callable[[], Any]] = {
        "name": lambda: pivot.name,
        "show_total": lambda: pivot.visualTotals,
        "show_empty_row": lambda: pivot.showEmptyRow,
        "show_empty_col": lambda: pivot.showEmptyCol,
        "show_headers": lambda: pivot.showHeaders,
        "location": lambda: pivot.location,
        "col_fields": lambda: [each.x - left for each in pivot.colFields],
        "row_fields": lambda: [each.x - left for each in pivot.rowFields],
        "data_fields": lambda: [_data_field(each, left, wanted) for each in pivot.dataFields],
    }
    found = {name: read() for name, read in readers.items() if name in wanted}
    if wanted & {"filter", "selection"}:
        found["selection"] = selection if "ordered" in wanted else [set(each) for each in selection]
    if "filter" in wanted:
        found["filter_fields"] = {each.fld for each in pivot.pageFields}
    return source, found


def _empty_before(items: list[Any]) -> int:
    return len(list(itertools.takewhile(lambda each: not each, items)))


def _data_field(field: Any, left: int, wanted: set[str]) -> str:
    name = field.name if "data_fields_name" in wanted else ""
    return f"{field.fld - left:d};{name};{field.subtotal};{field.showDataAs}"


def _filter_column(column: Any) -> dict[str, Any]:
    described = {
        "col_id": column.colId,
        "hidden_button": column.hiddenButton,
        "show_button": column.showButton,
    }
    if column.filters is not None:
        described["filters_blank"] = column.filters.blank
        described["filters"] = set(column.filters.filter)
    if column.customFilters is not None:
        described["custom_filters_op"] = column.customFilters._and  # its name in openpyxl
        described["custom_filters"] = {
            (each.operator, each.val) for each in column.customFilters.customFilter
        }
    return described


def _order(state: Any) -> dict[str, Any]:
    return {
        "sort": state.columnSort,
        "case": state.caseSensitive,
        "method": state.sortMethod,
        "ref": state.ref,
        "condition": [
            {
                "descending": each.descending,
                "key": each.sortBy,
                "ref": each.ref,
                "custom_list": each.customList,
                "dxf_id": each.dxfId,
                "icon": each.iconSet,
                "iconid": each.iconId,
            }
            for each in state.sortCondition
        ],
    }
