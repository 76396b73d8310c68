"""The report's tables as CSV files and as Parquet."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from unicodedata import normalize

from bench_core.errors import MissingExtraError
from bench_core.files import write_atomic
from bench_core.terminal import plain_text
from bench_report.formats.tables import tables_of
from bench_report.model import Report

# OWASP's list for CSV injection: the signs of a formula, and characters skipped before one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(report: Report, folder: Path) -> list[Path]:
    """Write each table to `<name>.csv` (RFC 4180, UTF-8) in `folder`.

    Text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table in tables_of(report):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(table.columns)
        writer.writerows([cell(row.get(name)) for name in table.columns] for row in table.rows)
        files.append(_written(folder / f"{table.name}.csv", text.getvalue().encode()))
    return files


def cell(value: Any) -> Any:
    """Write booleans as JSON does; keep spreadsheets from running text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Some readers of CSV stop at NUL, and UTF-8 cannot encode an unpaired surrogate.
        text = value.replace("\0", "\u2400").encode("utf-8", "replace").decode()
        # NFKC makes the full-width signs those that spreadsheets take them for
        plain = plain_text(normalize("NFKC", text)).lstrip()
        return f"'{text}" if text.startswith(_FORMULA) or plain.startswith(_FORMULA) else text
    return value


def write_parquet(report: Report, folder: Path) -> list[Path]:
    """Write each table to `<name>.parquet` (zstd) in `folder`.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # an extra, and slow to load
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "pyarrow", "bench-report", "parquet") from None
    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table in tables_of(report):
        schema = pa.schema([(name, kinds[kind]) for name, kind in table.columns.items()])
        sink = pa.BufferOutputStream()  # in memory, so that the file appears whole or not at all
        parquet.write_table(
            pa.Table.from_pylist(table.rows, schema=schema), sink, compression="zstd"
        )
        files.append(_written(folder / f"{table.name}.parquet", sink.getvalue().to_pybytes()))
    return files


def _written(path: Path, data: bytes) -> Path:
    write_atomic(path, data)
    return path
