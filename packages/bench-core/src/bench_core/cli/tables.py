"""Plain aligned tables for terminals and logs."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bench_core.terminal import pad, plain_text, shorten, width

if TYPE_CHECKING:
    from pydantic import BaseModel

_GAP = "  "
_MINIMUM_WIDTH = 60
_LEAST_CELLS = 8
_COLUMN = re.compile(r".*\S {2,}(?=\S)| +")


def terminal_width() -> int | None:
    """Return the terminal's width, or None where the output goes elsewhere and nothing is cut."""
    if not sys.stdout.isatty():
        return None
    return max(_MINIMUM_WIDTH, os.get_terminal_size(sys.stdout.fileno()).columns)


def echo_wrapped(text: str) -> None:
    """Print text; on a terminal, lines that are too long go on below their last column, and no word is broken."""
    cells = terminal_width()
    click.echo(text if cells is None else wrapped(text, cells))


def json_text(record: BaseModel, indent: int | None = 2) -> str:
    """Return a record as JSON of ASCII alone: a terminal obeys some other characters, too."""
    return json.dumps(record.model_dump(mode="json"), indent=indent)


def wrapped(text: str, cells: int) -> str:
    r"""Return text whose lines are broken between words, each under the column in which it began.

    Example:
        >>> print(wrapped("disk  ok\nport  something else listens there", 22))
        disk  ok
        port  something else
              listens there
    """
    lines = []
    for line in text.split("\n"):
        plain = click.unstyle(line)
        column = _COLUMN.match(plain)
        hang = 0 if column is None or column.end() > cells // 2 else column.end()
        first, *others = textwrap.wrap(
            plain, cells, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
        ) or [""]  # fmt: skip
        # what is coloured is a mark at the beginning
        lines += [line[: len(line) - len(plain) + len(first)], *others]
    return "\n".join(lines)


def render_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    max_width: int | None = None,
) -> str:
    """Return an aligned table: numbers to the right, text to the left, None as a dash.

    With `max_width` text columns are shortened until a line fits, the widest first; the first one, which is
    what readers copy, never.

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


def render_split_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], max_width: int | None
) -> str:
    """Return a table of which nothing is shortened: columns that do not fit stand below, after the first again.

    Example:
        >>> print(render_split_table(("run", "rate", "tasks"), [("a", "40.0%", 12)], 12))
        run  rate
        ---  -----
        a    40.0%
        <BLANKLINE>
        run  tasks
        ---  -----
        a       12
    """
    tables, places = [""], [0]
    for place in range(1, len(headers)):
        wider = _columns(headers, rows, [*places, place])
        if max_width is None or width(wider.partition("\n")[2].partition("\n")[0]) <= max_width:
            places, tables[-1] = [*places, place], wider
        else:
            places = [0, place]
            tables.append(_columns(headers, rows, places))
    return "\n\n".join(filter(None, tables))


def _columns(
    headers: Sequence[str], rows: Sequence[Sequence[object]], places: Sequence[int]
) -> str:
    return render_table([headers[n] for n in places], [[row[n] for n in places] for row in rows])


def _cell(value: object) -> str:
    return "-" if value is None else plain_text(str(value))


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) for value in known)


def _squeeze(widths: Sequence[int], right: Sequence[bool], max_width: int) -> list[int]:
    squeezed = list(widths)
    excess = sum(squeezed) + len(_GAP) * (len(squeezed) - 1) - max_width
    texts = [i for i, numeric in enumerate(right) if i and not numeric]
    for widest in sorted(texts, key=lambda i: -widths[i]):
        less = min(max(0, excess), max(0, squeezed[widest] - _LEAST_CELLS))
        squeezed[widest], excess = squeezed[widest] - less, excess - less
    return squeezed


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        pad(shorten(cell, cells_wide), cells_wide, right=numeric)
        for cell, cells_wide, numeric in zip(cells, widths, right, strict=True)
    )
    return _GAP.join(padded).rstrip()
