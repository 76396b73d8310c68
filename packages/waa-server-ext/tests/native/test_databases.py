"""Databases and patterns that neither write, nor fill the memory, nor hold the evaluation slot."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from waa_server_ext.native import databases
from waa_server_ext.native.databases import open_read_only, query_number, rows_of, search
from waa_server_ext.native.decoder import DecoderError

if TYPE_CHECKING:
    from pathlib import Path

WRITES = (
    "VACUUM INTO '{out}'",
    "ATTACH '{out}' AS other",
    "CREATE TABLE more(x)",
    "INSERT INTO numbers VALUES (2)",
    "PRAGMA journal_mode = WAL",
    "PRAGMA user_version = 7",
    "PRAGMA temp_store_directory = '{out}'",
    "SELECT load_extension('{out}')",
    "BEGIN IMMEDIATE",
)
LARGE = ("hex(zeroblob(400000000))", "printf('%.*c', 900000000, 'x')")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "of-the-vm.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE numbers(x)")
        connection.execute("INSERT INTO numbers VALUES (41)")
    return path


def test_a_query_gives_its_first_number(database: Path) -> None:
    assert query_number(str(database), "SELECT x + 1 FROM numbers") == 42


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_writes_is_refused(database: Path, tmp_path: Path, statement: str) -> None:
    before = database.read_bytes()

    with closing(open_read_only(database)) as connection, pytest.raises(sqlite3.DatabaseError):
        connection.execute(statement.format(out=tmp_path / "out.db")).fetchall()

    assert sorted(path.name for path in tmp_path.iterdir()) == [database.name]
    assert database.read_bytes() == before


def test_a_query_that_would_never_end_is_an_error(database: Path) -> None:
    query = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    with closing(open_read_only(database, seconds=1.0)) as connection, pytest.raises(sqlite3.Error):
        connection.execute(query).fetchone()


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 the memory of the process is the limit"
)
@pytest.mark.parametrize("value", LARGE)
def test_a_value_of_a_query_is_never_large(database: Path, value: str) -> None:
    with closing(open_read_only(database)) as connection:
        try:
            made = connection.execute(f"SELECT {value}").fetchone()[0] or ""
        except sqlite3.Error:
            made = ""

    assert len(made) <= databases.MAX_VALUE_BYTES


@pytest.mark.parametrize("value", LARGE)
def test_a_value_that_would_fill_the_memory_is_refused(database: Path, value: str) -> None:
    try:
        length = query_number(str(database), f"SELECT length({value})")
    except (DecoderError, RuntimeError):  # the latter is SQLite's own, by name
        length = 0

    assert length <= databases.MAX_VALUE_BYTES


def test_a_view_in_the_place_of_a_table_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE VIEW urls AS SELECT 'http://right.test' AS url")

    with closing(open_read_only(path)) as connection, pytest.raises(sqlite3.DatabaseError):
        rows_of(connection, "SELECT url FROM urls", "urls")


def test_a_pattern_is_found_as_re_search_finds_it() -> None:
    assert search(r"^https?://(www\.)?example\.com/.*q=[a-z]+$", "https://example.com/?q=abc")
    assert not search(r"^https?://(www\.)?example\.com/.*q=[a-z]+$", "https://example.org/?q=abc")


def test_a_pattern_without_end_does_not_hold_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "_SECONDS", 1.0)
    monkeypatch.setattr(databases, "_MARGIN_S", 5.0)

    with pytest.raises(DecoderError):
        search(r"^(a+)+$", "a" * 64 + "b")
