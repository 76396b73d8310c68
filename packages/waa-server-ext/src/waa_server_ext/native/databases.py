"""Reading SQLite databases and searching with a task's patterns, neither of which is trusted.

Databases come from the VM, and their views are programs; queries and patterns come from tasks. Both
run in the child of `isolated`, read-only and bounded, so that they can neither write a file nor fill
the memory nor occupy the evaluation slot for long.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from waa_server_ext.native.decoder import isolated

MAX_VALUE_BYTES = 1024 * 1024
"""The most bytes of one text or blob that a query builds or reads."""

_SECONDS = 10.0
_MARGIN_S = 30.0  # starting the child takes seconds on a busy machine
_OPERATIONS = 100  # between two looks at the clock; one may handle `MAX_VALUE_BYTES`
_QUICK_TEXT = 10_000  # the square of it still takes little time
_QUICK_TOTAL = 200_000
_MAX_ROWS = 500_000
_MAX_HELD = 128 * 1024 * 1024  # as all rows are held at once
_COMPUTED = re.compile(r"\bAS\s*\(|\bVIRTUAL\b", re.IGNORECASE)
_QUANTIFIERS = frozenset("*+?{")
_ALLOWED = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_REFUSED_FUNCTIONS = frozenset(
    {"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"}
)
_READING_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info"}
)


def open_read_only(path: str | Path, *, seconds: float = _SECONDS) -> sqlite3.Connection:
    """Return a connection that can only read `path`, for `seconds` from now.

    Nothing is attached, loaded or written, not even by the database's own views; a statement that tries
    raises `sqlite3.DatabaseError` ("not authorized"). A write-ahead log next to the file is ignored.
    """
    place = Path(path).resolve().as_uri()
    connection = sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)
    deadline = time.monotonic() + seconds
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _OPERATIONS)
    if sys.version_info >= (3, 11):  # older versions have only the process's memory as a limit
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
    return connection


def query_number(path: str, query: str) -> float:
    """Return the first number in a query's result on a database, 0 for NULL.

    Raises:
        DecoderError: The query took too long or too much memory.
        RuntimeError: Named after SQLite's own error; the file is not a database, or the query
            does something forbidden.
    """
    number: float = isolated("databases:first_number", path, query, seconds=_SECONDS + _MARGIN_S)
    return number


def first_number(path: str, query: str) -> float:
    """Run `query_number` in this process."""
    with closing(open_read_only(path)) as connection:
        return float(connection.execute(query).fetchone()[0] or 0)


def search(pattern: str, text: str, flags: re.RegexFlag | int = 0) -> bool:
    """Return whether a task's pattern is found in `text`, as `re.search` does.

    Raises:
        DecoderError: The search took too long.
        re.error: The pattern is invalid.
    """
    return search_lines([pattern], [text], flags)[0]


def search_lines(
    patterns: Sequence[str], lines: Sequence[str], flags: re.RegexFlag | int = 0
) -> list[bool]:
    """Return for each pattern whether it is found in any of `lines`; see `search`."""
    for pattern in patterns:
        re.compile(pattern, flags)
    quick = len(lines) <= 1 or sum(map(len, lines)) <= _QUICK_TOTAL
    # one repetition costs at most the square of the text; only several can cost more
    if quick and max(map(len, lines), default=0) <= _QUICK_TEXT and all(map(_simple, patterns)):
        return lines_found(list(patterns), list(lines), int(flags))
    found: list[bool] = isolated(
        "databases:lines_found",
        list(patterns),
        list(lines),
        int(flags),
        seconds=_SECONDS + _MARGIN_S,
        of="a pattern",
    )
    return found


def lines_found(patterns: list[str], lines: list[str], flags: int) -> list[bool]:
    """Run `search_lines` in this process."""
    compiled = [re.compile(pattern, flags) for pattern in patterns]
    return [any(each.search(line) for line in lines) for each in compiled]


def rows_of(connection: sqlite3.Connection, query: str, table: str) -> list[Any]:
    """Return the rows of a query on one table, up to a number and a size.

    Raises:
        sqlite3.DatabaseError: `table` computes its rows, as a view does, or they are too large.
    """
    kind = connection.execute(
        "SELECT type, sql FROM sqlite_master WHERE lower(name) = ?", (table,)
    ).fetchone()
    if kind and (kind[0] != "table" or _COMPUTED.search(kind[1] or "")):
        raise sqlite3.DatabaseError(f"{table} computes its rows: not authorized")
    rows: list[Any] = []
    held = 0
    for row in connection.execute(query):
        held += sum(len(each) for each in row if isinstance(each, str | bytes)) + 100
        if held > _MAX_HELD:
            raise sqlite3.DatabaseError(f"{table} holds more than {_MAX_HELD} bytes")
        rows.append(row)
        if len(rows) >= _MAX_ROWS:
            break
    return rows


def _simple(pattern: str) -> bool:
    return sum(char in _QUANTIFIERS for char in pattern) <= 1


def _authorize(action: int, first: Any, second: Any, *_: Any) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _READING_PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
