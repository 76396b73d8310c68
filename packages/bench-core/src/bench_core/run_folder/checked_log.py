"""Files of numbered, linked and checksummed records: the results and events of a run."""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Annotated, Generic, NamedTuple, TypeVar, cast

import msgspec

from bench_core.errors import RunFolderError
from bench_core.files.append_log import AppendLog, GroupSync
from bench_core.files.atomic import write_atomic
from bench_core.files.checksums import (
    add_checksum,
    checksum_holds,
    checksum_in,
    count_lines,
    line_digests,
)
from bench_core.files.inside import open_inside, read_inside
from bench_core.records import Event, RunInfo, Session, TrialResult
from bench_core.records.codec import encode_sealed
from bench_core.redaction import Redactor
from bench_core.run_folder.jsonl import BadLine, walk_lines

R = TypeVar("R", Event, TrialResult)
Q = TypeVar("Q")

LOGS: dict[str, type[Event | TrialResult]] = {
    "results.jsonl": TrialResult,
    "events.jsonl": Event,
}
"""The files of a run folder that have such lines, and the content of each."""
_LINK_DIGITS = 16


class FileEnd(NamedTuple):
    """The end of a file of such lines.

    While a file is written, and after its writer was killed, `<name>.end` next to it holds this: no later
    line tells of the last one. A closed session states the end in `run.json` and removes it.

    Attributes:
        lines: How many it was given, those set aside later included.
        checksum: Of its last line; None if that has none.
    """

    lines: int = 0
    checksum: str | None = None

    def write(self, log: Path) -> None:
        """Write down that the file `log` ends here."""
        write_atomic(end_path(log), self._text())

    def overwrite(self, file: FileIO) -> None:
        """Write it over an earlier end of the same file; this one is never shorter."""
        file.seek(0)
        file.write(self._text())

    def _text(self) -> bytes:
        return add_checksum(msgspec.json.encode(_EndText(self.lines, self.checksum)) + b"\n")


class _EndText(msgspec.Struct):
    lines: Annotated[int, msgspec.Meta(ge=0)]
    last: str | None


_END = msgspec.json.Decoder(_EndText)


class Seal(NamedTuple):
    """A file's state when its writer closed it: lines, SHA-256, and the writer, for messages."""

    lines: int
    sha256: str
    left_by: str


class CheckedLog(Generic[R]):
    """The one writer of such a file; safe to use from several threads.

    Each line has its number, the beginning of the checksum of the line before, and its own checksum. So
    one that was exchanged shows, its own checksum computed again, in the line after it; the last one, and
    lines that were cut off, in the file's end (see `FileEnd`).
    """

    def __init__(self, path: Path, sync: GroupSync, redactor: Redactor, end: FileEnd) -> None:
        self.path = path
        self.end = end
        end.write(path)
        self._log = AppendLog(path, sync)
        self._redactor = redactor
        self._lock = threading.Lock()
        # not synced: after a power loss it may be behind its file, and says so much less
        self._end_file = end_path(path).open("r+b", buffering=0)

    def append(self, record: R) -> R:
        """Add a record, and return it as it was numbered; when this returns, killing the process loses nothing.

        Raises:
            RunFolderError: The disk is full or failed, or the file is closed.
        """
        with self._lock:
            known = {
                "sequence": self.end.lines + 1,
                "previous": self.end.checksum and self.end.checksum[:_LINK_DIGITS],
            }
            numbered = record.model_copy(update=known)
            line = encode_sealed(numbered, self._redactor)
            self._log.append(line)
            self.end = FileEnd(self.end.lines + 1, checksum_in(line))
            try:
                self.end.overwrite(self._end_file)
            except (OSError, ValueError) as error:  # the latter if it is closed
                raise RunFolderError(f"cannot write to {end_path(self.path)}: {error}") from error
        return numbered

    def seal(self) -> tuple[int, str]:
        """Return how many lines the file has, all of them on the disk, and its SHA-256."""
        self._log.sync()
        return count_lines(self.path)

    def sync(self) -> None:
        """Return when everything appended so far is on the disk."""
        self._log.sync()

    def close(self, *, sealed: bool = False) -> None:
        """Sync and close the file; safe to call twice.

        Args:
            sealed: Whether the value of `seal` was written down; `<name>.end`, which proves less, is removed then.
        """
        self._end_file.close()
        if sealed:
            end_path(self.path).unlink(missing_ok=True)
        self._log.close()


class CheckedLines(Generic[R]):
    """One pass over such a file, which finds all that was changed since it was written.

    Attributes:
        bad: Lines that are not records.
        count: How many lines are records.
        end: The end of the file.
        changed: Missing, exchanged, doubled or reordered lines, a sentence each.
        lost: Lost lines, a sentence each: the file has fewer than it had, or its end is not known.
        cut_off: Whether a closed session left more lines than the file has.
        astray: Number and first byte of the lines that do not fit the others, as a second writer leaves them.
    """

    def __init__(
        self,
        path: Path,
        model: type[R],
        seals: Sequence[Seal] = (),
        *,
        written_by: str | None = None,
    ) -> None:
        """Prepare to read `path`, which was closed with `seals`."""
        self.path = path
        self.bad: list[BadLine] = []
        self.count = 0
        self.end = FileEnd()
        self.changed: list[str] = []
        self.lost: list[str] = []
        self.cut_off = False
        self.astray: list[tuple[int, int]] = []
        self._model: type[R] = model
        self._seals = seals
        self._written_by = written_by

    def walk(self, read: Callable[[bytes], Q]) -> Iterator[tuple[int, int, Q | R]]:
        """Yield the items of `walk_lines`; the other findings are complete once all have been asked for."""
        written = self._written_end()  # before the lines, which may be more by then
        set_aside, (trusted, other) = count_set_aside(self.path), self._compare_seals()
        ahead, last, bad, before, suspect, count = 0, 0, 0, 0, (0, 0), 0
        checksum: str | None = None
        lines = walk_lines(
            self.path, self._model, read, self.bad, written_by=self._written_by, trusted=trusted
        )
        for number, start, found in lines:
            count += 1
            if number < trusted:  # in the order in which they were left
                yield number, start, found
                continue
            line = cast("R", found)  # or the part of one that has these fields
            if line.sequence is None:  # written by another program
                suspect = number, start
                yield number, start, found
                continue
            now = line.sequence - number
            linked = (
                line.previous is None
                or checksum is None
                # lines between were set aside, or are damaged
                or line.sequence - last != number - before
                or bad != len(self.bad)
                or checksum.startswith(line.previous)
            )
            if not (linked and ahead <= now <= set_aside) and not self.changed:
                self._note(number, line.sequence, missing=now > ahead, linked=linked)
            ahead = now
            if line.sequence == written.lines and line.checksum != written.checksum:
                self.astray.append((number, start))
                self.changed.append(
                    f"{self.path.name}, line {number} is not the one that was written last: it was exchanged; "
                    f"restore the file from a copy"
                )
            if line.sequence <= last:
                self.astray.append((number, start))
            else:
                if not linked:
                    self.astray.append(suspect)
                last, bad, before, suspect = line.sequence, len(self.bad), number, (number, start)
                checksum = line.checksum
            yield number, start, found
        self.count = count
        self.end = FileEnd(max(last, count), checksum)
        if not self.bad:  # which say more
            self.changed += other
        left = last if written.checksum else count
        if left < written.lines and not self.lost and all(each.torn for each in self.bad):
            self.lost.append(
                f"{self.path.name} has {left} lines of the {written.lines} that were written: the others were "
                f"cut off or lost with the power; restore it from a copy, or run the same command again, which "
                f"runs trials without a result"
            )

    def _note(self, number: int, sequence: int, *, missing: bool, linked: bool) -> None:
        what = "it is not of the same writing as the line before, or that was exchanged"
        if linked:
            what = "lines are missing before it" if missing else "it is doubled or out of order"
        self.changed.append(
            f"{self.path.name}, line {number} was written as line {sequence}: {what}; restore the file from a "
            f"copy"
        )

    def _written_end(self) -> FileEnd:
        name = end_path(self.path).name
        try:
            for _ in range(5):  # its writer may be overwriting it
                text = read_inside(self.path.parent, name)
                if checksum_holds(text):
                    known = _END.decode(text)
                    return FileEnd(known.lines, known.last)
        except FileNotFoundError:
            return FileEnd()
        except msgspec.DecodeError:
            pass
        self.lost.append(f"{name} was changed after it was written: restore it from a copy")
        return FileEnd()

    def _compare_seals(self) -> tuple[int, list[str]]:
        """Return how many lines from the first on are as they were left, and whose are not, a sentence each."""
        counts = sorted({each.lines for each in self._seals})
        try:
            with open_inside(self.path.parent, self.path.name) as file:
                digests = dict(zip(counts, line_digests(file, counts), strict=True))
        except FileNotFoundError:
            digests = dict(zip(counts, line_digests(io.BytesIO(), counts), strict=True))
        trusted, told = 0, []
        for each in self._seals:
            if digests[each.lines] == each.sha256:
                trusted = max(trusted, each.lines)
            elif digests[each.lines] is None:
                what = f"has fewer lines than the {each.lines} that {each.left_by} left"
                self.lost, self.cut_off = [f"{self.path.name} {what}: restore it from a copy"], True
            else:
                told.append(
                    f"{self.path.name} is not what {each.left_by} left: restore it from a copy"
                )
        return trusted, told


def seals_of(info: RunInfo, name: str) -> list[Seal]:
    """Return the seals of the file `name` that the sessions of a run wrote on closing it."""
    return [
        Seal(lines, digest, f"session {number}")
        for number, session in enumerate(info.sessions, 1)
        for lines, digest in [_left(session, name)]
        if lines is not None and digest is not None
    ]


def unsealed(info: RunInfo, names: Collection[str]) -> RunInfo:
    """Return `info` without its sessions' seals of the files `names`, which no longer hold."""
    fields = {"results.jsonl": "results", "events.jsonl": "events"}
    known = [each for name in names for each in (fields[name], f"{fields[name]}_sha256")]
    sessions = [each.model_copy(update=dict.fromkeys(known)) for each in info.sessions]
    finished = None if "results.jsonl" in names else info.finished
    return info.model_copy(update={"sessions": tuple(sessions), "finished": finished})


def lines_left(info: RunInfo, name: str) -> float:
    """Return how many lines the file `name` of a run has since its last session closed it; infinity until then."""
    lines = _left(info.sessions[-1], name)[0] if info.sessions else None
    return math.inf if lines is None else lines


def _left(session: Session, name: str) -> tuple[int | None, str | None]:
    if name == "results.jsonl":
        return session.results, session.results_sha256
    return session.events, session.events_sha256


def end_path(log: Path) -> Path:
    """Return the file that states the end of the file `log`."""
    return log.with_name(f"{log.name}.end")


def lacks_end(log: Path) -> list[str]:
    """Return a sentence if no session has closed the file `log` and its `.end` file is missing."""
    if not log.exists() or end_path(log).exists():  # which is there before it
        return []
    return [f"{end_path(log).name} is missing: whether {log.name} ends as it did cannot be said"]


def count_set_aside(path: Path) -> int:
    """Return how many damaged lines of a file were moved to files next to it."""
    return sum(count_lines(each)[0] for each in path.parent.glob(f"{path.name}.damaged-*"))
