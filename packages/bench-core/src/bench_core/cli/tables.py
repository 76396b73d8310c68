"""Plain aligned tables for terminals and logs."""

from __future__ import annotations

from collections.abc import Sequence

from bench_core.terminal import pad, plain_text, shorten, width

_GAP = "  "


def render_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    max_width: int | None = None,
) -> str:
    """Return an aligned table: numbers to the right, text to the left, None as a dash.

    With `max_width` the widest text column is shortened until a line fits.

    Example:
        >>> print(render_table(("task", "score"), [("7", 1.0), ("103", None)]))
        task  score
        ----  -----
        7       1.0
        103       -
    """
    cells = [[_cell(value) for value in row] for row in rows]
    right = [_is_numeric([row[i] for row in rows]) for i in range(len(headers))]
    widths = [
        max([width(header), *(width(row[i]) for row in cells)]) for i, header in enumerate(headers)
    ]
    if max_width is not None:
        widths = _squeeze(widths, right, max_width)
    lines = [list(headers), ["-" * each for each in widths], *cells]
    return "\n".join(_line(line, widths, right) for line in lines)


def _cell(value: object) -> str:
    return "-" if value is None else plain_text(str(value))


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) for value in known)


def _squeeze(widths: Sequence[int], right: Sequence[bool], max_width: int) -> list[int]:
    """Shorten the widest text column until a line fits; it keeps at least eight cells."""
    squeezed = list(widths)
    text_columns = [i for i, numeric in enumerate(right) if not numeric]
    excess = sum(squeezed) + len(_GAP) * (len(squeezed) - 1) - max_width
    if excess > 0 and text_columns:
        widest = max(text_columns, key=lambda i: squeezed[i])
        squeezed[widest] = max(8, squeezed[widest] - excess)
    return squeezed


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        pad(shorten(cell, cells_wide), cells_wide, right=numeric)
        for cell, cells_wide, numeric in zip(cells, widths, right, strict=True)
    )
    return _GAP.join(padded).rstrip()
