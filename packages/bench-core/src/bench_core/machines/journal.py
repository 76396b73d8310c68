"""The journal of machines: a line on the disk before every create and every removal.

A process that dies between a line and the act it announces leaves enough to find the machine again. Several
processes write one journal, one at a time, under the lock of its folder.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from bench_core.errors import RecordError
from bench_core.files import FileLock, write_atomic
from bench_core.files.atomic import sync_folder
from bench_core.machines.records import JournalEvent, JournalLine

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_COMPACT_BYTES = 1_000_000


class Entry:
    """All that the journal says of one machine: its lines, the oldest first."""

    def __init__(self, first: JournalLine) -> None:
        self.lines = [first]

    @property
    def last(self) -> JournalLine:
        """The newest line."""
        return self.lines[-1]

    @property
    def ended(self) -> bool:
        """Whether its removal was confirmed."""
        return self.last.event == "ended"

    @property
    def usable(self) -> bool:
        """Whether it may be adopted: neither quarantined nor about to end."""
        return not any(line.event in {"quarantined", "ending", "ended"} for line in self.lines)

    def digest_of(self, tag: str) -> str | None:
        """Return the digest of the state that was saved as `tag`; None if none was."""
        found = [line.digest for line in self.lines if line.event == "snapshot" and line.tag == tag]
        return found[-1] if found else None


class Journal:
    """The lines about the machines of one folder.

    Args:
        folder: Made when missing; shared by all who are to see the same machines.

    Attributes:
        namespace: Drawn for the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "journal.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.namespace = self._namespace()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the journal against other processes while a decision is made."""
        with FileLock(self.folder / "journal.lock", queue=False):
            yield

    def append(self, line: JournalLine) -> None:
        """Append a line and return once it is on the disk; the caller holds the lock.

        Raises:
            OSError: It was not written; the announced act must not be done.
        """
        made = not self.path.exists()
        handle = os.open(self.path, _FLAGS, 0o666)
        try:
            size = os.fstat(handle).st_size
            # a writer that was killed may have left half a line, which must not swallow this one
            start = b"" if _ends_whole(handle, size) else b"\n"
            data = start + line.model_dump_json(exclude_defaults=True).encode() + b"\n"
            try:
                written = os.write(handle, data)
                while written < len(data):
                    written += os.write(handle, memoryview(data)[written:])
                os.fsync(handle)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
        if made:
            # the name of a new file is on the disk only once its folder is
            sync_folder(self.folder)

    def follow(
        self,
        before: JournalLine,
        event: JournalEvent,
        at: datetime,
        **changed: object,
    ) -> JournalLine:
        """Append the next line about the machine of `before`, and return it; the caller holds the lock.

        Fields of a single line (tag, digest, ending, note) are not carried over.
        """
        alone = {"tag": None, "digest": None, "ending": None, "note": ""}
        line = before.model_copy(update={**alone, **changed, "event": event, "at": at})
        self.append(line)
        return line

    def entries(self, provider: str) -> dict[str, Entry]:
        """Return the entries of a provider's machines, by name, the oldest first.

        Raises:
            RecordError: A whole line cannot be read; half a journal is not a basis for decisions.
        """
        found: dict[str, Entry] = {}
        for line in self._lines():
            if line.provider != provider:
                continue
            if line.name in found:
                found[line.name].lines.append(line)
            else:
                found[line.name] = Entry(line)
        return found

    def compact(self, *, above_bytes: int = _COMPACT_BYTES) -> None:
        """Drop the lines of ended machines, except each key's newest generation; hold the lock."""
        if not self.path.exists() or self.path.stat().st_size <= above_bytes:
            return
        lines = list(self._lines())
        ended = {(each.provider, each.name) for each in lines if each.event == "ended"}
        newest: dict[tuple[str, str], int] = {}
        for each in lines:
            at = (each.provider, each.key)
            newest[at] = max(newest.get(at, 0), each.generation)
        kept = [
            each
            for each in lines
            if (each.provider, each.name) not in ended
            # a generation must never be given twice: removed machines may be listed for a while
            or newest[each.provider, each.key] == each.generation
        ]
        write_atomic(self.path, b"".join(_encoded(each) for each in kept))

    def _namespace(self) -> str:
        """Return the id of this folder, a label of all its machines: others' are never touched."""
        path = self.folder / "namespace"
        if not path.exists():
            with self.locked():
                # asked again under the lock: another process may have drawn one meanwhile
                if not path.exists():
                    write_atomic(path, secrets.token_hex(6).encode())
        return path.read_text(encoding="ascii").strip()

    def _lines(self) -> Iterator[JournalLine]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        *whole, torn = data.split(b"\n")
        yield from _parsed(self.path, [*whole, torn])


def _parsed(path: Path, lines: list[bytes]) -> Iterable[JournalLine]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield JournalLine.model_validate_json(line)
        except ValidationError as error:
            # Half a line was never acknowledged, so nothing was done on it. It ends in no brace.
            if not line.rstrip().endswith(b"}"):
                continue
            raise RecordError(
                f"{path} line {number} cannot be read ({error.error_count()} errors): look at the "
                f"machines that run, remove that line, and try again"
            ) from error


def _encoded(line: JournalLine) -> bytes:
    return line.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _ends_whole(handle: int, size: int) -> bool:
    if size == 0:
        return True
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"
