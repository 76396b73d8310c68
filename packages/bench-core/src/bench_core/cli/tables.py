"""Plain aligned tables for terminals and logs."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import IO, TYPE_CHECKING

import click

from bench_core.terminal import pad, plain_text, shorten, width

if TYPE_CHECKING:
    from pydantic import BaseModel

_GAP = "  "
_MINIMUM_WIDTH = 60
_LEAST_CELLS = 8
_LEAST_BROKEN = 24
"""Texts of at most so many cells are not broken: a number with its unit, an interval."""
_COLUMN = re.compile(r".*\S {2,}(?=\S)| +")


def terminal_width(output: IO[str] | None = None) -> int | None:
    """Return the terminal's width, or None if the output goes elsewhere and lines are not broken."""
    if not (output or sys.stdout).isatty():
        return None
    return max(_MINIMUM_WIDTH, shutil.get_terminal_size().columns)


def echo_wrapped(text: str, output: IO[str] | None = None) -> None:
    """Print text; on a terminal, long lines go on below their last column, without breaking words."""
    cells = terminal_width(output)
    click.echo(text if cells is None else wrapped(text, cells), output)


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
        # only a mark at the beginning is coloured
        lines += [line[: len(line) - len(plain) + len(first)], *others]
    return "\n".join(lines)


def render_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    one_line: bool = False,
    max_width: int | None = None,
) -> str:
    """Return an aligned table: numbers to the right, text to the left, None as a dash.

    On a terminal, or with `max_width`, no line is wider: text goes on below, between words, and columns for which
    there is no room stand below the others, each time after the first one, which readers copy. With
    `one_line` the texts of the other columns are shortened instead.

    Example:
        >>> print(render_table(("task", "score"), [("7", 1.0), ("103", None)]))
        task  score
        ----  -----
        7       1.0
        103       -
    """
    cells = [[*headers], *([_cell(value) for value in row] for row in rows)]
    right = [_is_numeric([row[i] for row in rows]) for i in range(len(headers))]
    widths = [max(width(row[i]) for row in cells) for i in range(len(headers))]
    room = max_width or terminal_width()
    if room is None or sum(widths) + len(_GAP) * (len(widths) - 1) <= room:
        return _lines(cells, widths, right, one_line=one_line)
    if one_line:
        least = [
            each if not i or right[i] else min(each, _LEAST_CELLS) for i, each in enumerate(widths)
        ]
    else:
        words = [
            max(_LEAST_BROKEN, *(width(word) for row in cells for word in row[i].split()))
            for i in range(len(right))
        ]
        first = min(widths[0], max(words[0], room // 2))
        least = [
            first,
            *(
                min(each, word, room - first - len(_GAP))
                for each, word in zip(widths[1:], words[1:], strict=True)
            ),
        ]
    parts = []
    for group in _groups(least, room):
        beside = _shrunk([widths[i] for i in group], [least[i] for i in group], room)
        parts.append(
            _lines(
                [[row[i] for i in group] for row in cells],
                beside,
                [right[i] for i in group],
                one_line=one_line,
            )
        )
    return "\n\n".join(parts)


def _groups(least: Sequence[int], room: int) -> list[list[int]]:
    """Group columns that fit side by side into `room`, each group with the first column."""
    groups = [[0]]
    for column in range(1, len(least)):
        taken = sum(least[i] + len(_GAP) for i in groups[-1])
        if taken + least[column] > room and len(groups[-1]) > 1:
            groups.append([0])
        groups[-1].append(column)
    return groups


def _shrunk(widths: list[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths that fit the room, the widest made narrower first and none narrower than its least."""
    shrinking = [i for i, each in enumerate(least) if widths[i] > each]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    while excess > 0 and shrinking:
        widest = max(shrinking, key=widths.__getitem__)
        widths[widest], excess = widths[widest] - 1, excess - 1
        if widths[widest] == least[widest]:
            shrinking.remove(widest)
    return widths


def _cell(value: object) -> str:
    return "-" if value is None else plain_text(str(value))


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) for value in known)


def _lines(
    cells: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool], *, one_line: bool
) -> str:
    fit = _shortened if one_line else _broken
    lines = []
    for row in (cells[0], ["-" * each for each in widths], *cells[1:]):
        for line in zip_longest(*map(fit, row, widths), fillvalue=""):
            padded = [
                pad(text, each, right=numeric)
                for text, each, numeric in zip(line, widths, right, strict=True)
            ]
            lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def _shortened(cell: str, cells_wide: int) -> list[str]:
    return [shorten(cell, cells_wide)]


def _broken(cell: str, cells_wide: int) -> list[str]:
    if width(cell) <= cells_wide:
        return [cell]
    return textwrap.wrap(cell, cells_wide, break_long_words=False, break_on_hyphens=False)
