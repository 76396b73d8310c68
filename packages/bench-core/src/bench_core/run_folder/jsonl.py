"""Read files of records line by line, and sort the lines that cannot be read.

A *torn* line is the last one, cut short by a crash while it was written: it is set aside and the
trial it belonged to runs again. A *damaged* line is any other that is not a record, or no longer the
one that was written: it may hide a result, so nothing goes on until the user has decided
(`bench-core repair`).
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from pydantic import ValidationError

from bench_core.errors import RecordError, RunFolderError, SchemaVersionError
from bench_core.files.atomic import free_name, sync_folder, write_atomic
from bench_core.files.checksums import checksum_holds
from bench_core.files.inside import open_inside
from bench_core.records import Record
from bench_core.records.base import share_names
from bench_core.records.codec import decode, is_json

R = TypeVar("R", bound=Record)
Q = TypeVar("Q")

MAX_LINE_BYTES = 64 << 20
"""Most bytes of a line that is read; a longer one counts as several damaged lines."""
_TOO_LONG = f"it has more than {MAX_LINE_BYTES >> 20} MB"
_MOST_BAD = 10_000
"""From here on a file is refused: each damaged line is remembered."""


@dataclass(frozen=True)
class BadLine:
    """A line that is not a record; `start` and `end` are its bytes in the file."""

    path: Path
    number: int
    start: int
    end: int
    reason: str
    torn: bool = False

    def __str__(self) -> str:
        kind = "torn, as a crash leaves it" if self.torn else "damaged"
        return f"{self.path}, line {self.number} is {kind}: {self.reason}"


@dataclass
class Lines(Generic[R]):
    """The records of a file in order, and the lines that are not records."""

    path: Path
    records: list[R] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)


def refuse_damage(run: Path, bad: Iterable[BadLine]) -> None:
    """Raise for lines that are damaged, not merely torn.

    Raises:
        RunFolderError: Names the first such line and the way out.
    """
    damaged = [line for line in bad if not line.torn]
    if damaged:
        more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        raise RunFolderError(
            f"{damaged[0]}{more}; restore the file, or set damaged lines aside with "
            f"`bench-core repair {run}`: their trials then run again on resume"
        )


def read_lines(path: Path, model: type[R], *, written_by: str | None = None) -> Lines[R]:
    """Read all records of `path` into memory; a missing file holds none.

    Raises:
        SchemaVersionError: A newer bench-core wrote one of them.
        RefusedFileError: It is a link, a pipe, a device or of a size that no run has.
        RunFolderError: More than 10,000 lines are not records.
    """
    lines: Lines[R] = Lines(path)
    read = model.__pydantic_validator__.validate_json
    with collector_paused():
        for _, _, record in walk_lines(path, model, read, lines.bad, written_by=written_by):
            share_names(record)
            lines.records.append(record)
    return lines


def walk_lines(
    path: Path,
    model: type[R],
    read: Callable[[bytes], Q],
    bad: list[BadLine],
    *,
    written_by: str | None = None,
    trusted: int = 0,
) -> Iterator[tuple[int, int, Q | R]]:
    """Yield number (from 1), first byte and content of each line of `path` that is a record.

    One line is in memory at a time. Once all have been asked for, `bad` holds those that are not records.

    Args:
        path: The file; a missing one holds none.
        model: The record type of its lines.
        read: Reads a line, or the needed part of it. If it raises that a line does not fit, the
            line is read as a whole record, which gives the reason, or migrates it.
        bad: Receives the lines that are not records.
        written_by: The version of bench-core that wrote them, if known.
        trusted: Number of lines, from the first on, known to be as they were written.

    Raises:
        SchemaVersionError: A newer bench-core wrote one of them.
        RefusedFileError: It is a link, a pipe, a device or of a size that no run has.
        RunFolderError: More than 10,000 lines are not records.
    """
    sealed, unread = "checksum" in model.model_fields, 0
    for number, start, line in _numbered(path):
        try:
            found = read(line)
            if not sealed or number <= trusted or is_intact(found, line):
                yield number, start, found
                continue
            bad.append(_changed(path, number, start, line))
        # an invalid UTF-8 byte gives another error in a name than in a value
        except (ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # Lines of older versions take the slow way, through `decode`.
            record = _record_or_problem(path, model, (number, start, line), written_by, bad)
            if record is not None:
                yield number, start, record
                continue
        unread += 1
        if unread > _MOST_BAD:
            raise RunFolderError(
                f"{path} has more than {_MOST_BAD:,} lines that are no records: restore it from a copy"
            )
    if bad:
        bad[-1] = _perhaps_torn(bad[-1])


def _record_or_problem(
    path: Path,
    model: type[R],
    numbered: tuple[int, int, bytes],
    written_by: str | None,
    bad: list[BadLine],
) -> R | None:
    """Return the record of a line of an older bench-core; note why any other line is not a record."""
    number, start, line = numbered
    if len(line) > MAX_LINE_BYTES:
        bad.append(BadLine(path, number, start, start + len(line), _TOO_LONG))
        return None
    try:
        record = decode(model, line, written_by=written_by)
        if is_intact(record, line):
            return record
        bad.append(_changed(path, number, start, line))
    except SchemaVersionError as error:
        if b'"checksum":' not in line or checksum_holds(line.removesuffix(b"\n")):
            raise error.in_file(path) from None
        bad.append(_changed(path, number, start, line))  # in its version, say
    except RecordError as error:
        if line.strip():
            bad.append(BadLine(path, number, start, start + len(line), str(error)))
    return None


def is_intact(record: object, line: bytes) -> bool:
    """Whether a line is as it was written; lines of other programs, which have no checksum, count as such.

    Args:
        record: The decoded line, by a model or a decoder.
        line: The line.
    """
    unsealed = (
        getattr(record, "checksum", None) is None and getattr(record, "sequence", None) is None
    )
    return unsealed or checksum_holds(line.removesuffix(b"\n"))


def _changed(path: Path, number: int, start: int, line: bytes) -> BadLine:
    reason = "it was changed after it was written: its checksum does not hold"
    return BadLine(path, number, start, start + len(line), reason)


def set_aside_torn(path: Path, bad: Iterable[BadLine]) -> Path | None:
    """Make `path` end with a whole line; return the file to which a torn one was moved, if there was one."""
    torn = [line for line in bad if line.torn]
    kept = None
    if torn:
        with path.open("rb") as file:
            file.seek(torn[0].start)
            rest = file.read()
        # Copied before it is cut off: a crash in between leaves the line twice, not nowhere.
        kept = free_name(path, "torn")
        write_atomic(kept, rest)
        os.truncate(path, torn[0].start)
        sync_folder(path.parent)
    _end_last_line(path)
    return kept


def set_aside_lines(path: Path, bad: Iterable[BadLine]) -> Path | None:
    """Move the `bad` lines of `path` to a file next to it; return that file, if there were any."""
    spans = [(line.start, line.end) for line in bad]
    if not spans:
        return None
    content = path.read_bytes()
    # Copied before they are taken out: a crash in between loses none.
    kept = free_name(path, "damaged")
    write_atomic(kept, b"".join(content[start:end] for start, end in spans))
    write_atomic(path, _without(content, spans))
    return kept


def _numbered(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number (from 1), first byte and content of each line."""
    start = 0
    try:
        file = open_inside(path.parent, path.name)
    except FileNotFoundError:
        return
    with file:
        # a file of one endless line must not be in memory whole
        lines = iter(partial(file.readline, MAX_LINE_BYTES + 1), b"")
        for number, line in enumerate(lines, start=1):
            yield number, start, line
            start += len(line)


def _perhaps_torn(line: BadLine) -> BadLine:
    """Return `line` as torn when it is the last one and not JSON at all."""
    with open_inside(line.path.parent, line.path.name) as file:
        file.seek(line.start)
        rest = file.read(MAX_LINE_BYTES + 1)
    is_last = line.start + len(rest) == line.end and len(rest) <= MAX_LINE_BYTES
    # its line feed is the last byte that is written of a line
    return replace(line, torn=is_last and not rest.endswith(b"\n") and not is_json(rest))


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from visiting all records again and again.

    Records hold no cycles; with the collector running, reading takes twice the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # Move new objects to the oldest generation: else the collector visits all of them at
            # once
            if not gc.get_freeze_count():  # else the caller has frozen objects that must stay so
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _without(content: bytes, spans: list[tuple[int, int]]) -> bytes:
    pieces, position = [], 0
    for start, end in spans:
        pieces.append(content[position:start])
        position = end
    pieces.append(content[position:])
    return b"".join(pieces)


def _end_last_line(path: Path) -> None:
    """Append the line feed that a crash cut off after a complete record."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")
            file.flush()
            os.fsync(file.fileno())
