"""Keep an agent's files within limits of number and size, each complete, and report the others.

The one place that decides it, for agents in a process of their own, whose files are moved into the
trial's folder, and for those in the process of the run, which write there themselves.
"""

from __future__ import annotations

import codecs
import contextlib
import heapq
import itertools
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from bench_core.errors import InputError, RefusedFileError
from bench_core.files.atomic import is_temporary
from bench_core.files.inside import is_sparse, kind_of, open_inside
from bench_core.files.removal import remove_folder
from bench_core.records import LeftOut
from bench_core.redaction import Redactor
from bench_core.run_folder.artifacts import OBSERVATIONS, TRAJECTORY, checked_name

_SUFFIXES = (
    ".json",
    ".jsonl",
    ".txt",
    ".log",
    ".md",
    ".html",
    ".htm",
    ".csv",
    ".har",
    ".xml",
    ".yaml",
)
_NAMES_OF_FILES = (*_SUFFIXES, ".gz", ".png", ".zip")
LOG = "log.txt"
"""File of a trial's own log lines while it runs."""
_FIRST = frozenset({TRAJECTORY, OBSERVATIONS, LOG})
OF_AGENT = "agent"
"""The subfolder of a trial for its agent's files; nothing there is scored from."""
_ACCOUNT = re.compile(
    rf"{TRAJECTORY}|{OBSERVATIONS}|conversation\.jsonl|model_calls\.jsonl|screenshots/[^/]+",
    re.DOTALL,
)
_LONGEST_PATH = 1_000
_PIECE, _HEAD = 1 << 20, 1 << 12
_MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_AS_THEY_ARE = {
    "utf-8": "surrogateescape", "latin-1": "strict", "utf-16-le": "surrogatepass",
    "utf-16-be": "surrogatepass",
}  # fmt: skip
"""The error handler by encoding that keeps bytes which the encoding does not have."""
_UNSTEADY = "grew, or was not read in time, while it was taken over"
_counter = itertools.count()


@dataclass(frozen=True)
class FileLimits:
    """Limits on the files that are kept of an agent.

    Attributes:
        files: How many.
        file_bytes: The most that one may hold.
        total_bytes: The most that all may hold; the oldest are kept first, after those that runs know by name.
        deepest: Folders in folders.
        within_s: Seconds for looking at them and taking them over.
    """

    files: int = 10_000
    file_bytes: int = 1 << 30
    total_bytes: int = 2 << 30
    deepest: int = 32
    within_s: float = 60.0


AGENT_LIMITS = FileLimits()
"""Limits for an agent's own folder."""
TRIAL_LIMITS = FileLimits(files=20_000, file_bytes=(2 << 30) - 1, total_bytes=4 << 30, deepest=33)
"""Limits for a trial's folder at the end of its agent's part: the agent's files and those of the run."""


def keep_files(
    source: Path,
    trial: Path,
    limits: FileLimits = AGENT_LIMITS,
    redactor: Redactor | None = None,
) -> tuple[LeftOut, ...]:
    """Move an agent's files from `source` into the folder of its trial, and return those left out.

    An agent's own account (steps, pictures, model calls) keeps its names; all else of `source` goes into a
    subfolder, so that it is never read as the run's. A name the trial's folder has stays the run's. Left-out
    files stay in `source`, unless it is the trial's folder itself: then they are removed.

    Args:
        source: The folder the agent wrote to; none of its processes may still run.
        trial: The trial's folder, perhaps the same.
        limits: How much is kept.
        redactor: Takes the run's secrets out of the texts that are moved.
    """
    return _Taking(source, trial, limits, redactor).keep()


def _encoding_of(head: bytes) -> str:
    """Guess from its first bytes the encoding in which to search a file; latin-1 reads any bytes."""
    if len(head) > 1:
        for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
            if head.startswith(_MARKS[encoding]) or zeros.count(0) * 2 > len(zeros):
                return encoding
    return "latin-1" if 0 in head else "utf-8"


@dataclass
class _Taking:
    source: Path
    trial: Path
    limits: FileLimits
    redactor: Redactor | None
    told: dict[str, LeftOut] = field(default_factory=dict)
    until: float = 0.0
    fitting: int = 0

    def keep(self) -> tuple[LeftOut, ...]:
        if self.source.is_symlink():  # replaced the folder: its target is not the agent's
            return (LeftOut(why="is a link", first="."),)
        # looking at a million files must leave the time to take some of them
        self.until = time.monotonic() + self.limits.within_s / 2
        in_place = self.source == self.trial
        # a million names need not be in memory to know the first of them
        chosen = heapq.nsmallest(self.limits.files, self._fitting_files())
        self.until = max(self.until, time.monotonic()) + self.limits.within_s / 2
        self._tell(f"more than {self.limits.files:,} files", "", files=self.fitting - len(chosen))
        kept: set[str] = set()
        room = self.limits.total_bytes
        for _, _, name, size in chosen:
            if size > room:
                self._tell(f"more than {self.limits.total_bytes >> 20:,} MB together", name, size)
            elif time.monotonic() > self.until:
                self._tell(f"not taken over within {self.limits.within_s:g} s", name, size)
            else:
                try:
                    kept.add(self._take(name, size))
                    room -= size
                except RefusedFileError as refused:
                    self._tell(refused.problem, name, size)
                except OSError as error:
                    self._tell(error.strerror or type(error).__name__, name, size)
                except UnicodeError:
                    self._tell(_UNSTEADY, name, size)
        if in_place and self.told:
            self._remove_others(kept)
        return tuple(self.told.values())

    def _fitting_files(self) -> Iterator[tuple[bool, int, str, int]]:
        """Yield order, name and size of each file that may be kept, and report the others."""
        left = [(self.source, 1)]
        while left:
            place, depth = left.pop()
            try:
                with os.scandir(place) as entries:
                    for entry in entries:
                        if time.monotonic() > self.until:
                            late = f"not looked at within {self.limits.within_s / 2:g} s"
                            self._tell(late, os.path.relpath(place, self.source))
                            return
                        path = place / entry.name
                        name = path.relative_to(self.source).as_posix()
                        found = entry.stat(follow_symlinks=False)
                        why = next(self._why_not(name, found, depth), None)
                        if why is not None:
                            self._tell(why, name, found.st_size)
                        elif entry.is_dir(follow_symlinks=False):
                            left.append((path, depth + 1))
                        else:
                            self.fitting += 1
                            yield name not in _FIRST, found.st_mtime_ns, name, found.st_size
            except FileNotFoundError:  # nothing was left, or it has gone meanwhile
                continue
            except OSError as error:
                name = os.path.relpath(place, self.source)
                self._tell(error.strerror or type(error).__name__, name)

    def _why_not(self, name: str, found: os.stat_result, depth: int) -> Iterator[str]:
        """Yield the reasons not to keep a file."""
        last, kind = name.rpartition("/")[2], kind_of(found)
        try:
            name.encode()
            checked_name(name)
        except (UnicodeEncodeError, InputError):
            yield "its name is not UTF-8, or none that every system has"
        if len(os.fsencode(self._placed(name))) > _LONGEST_PATH:
            yield f"its path is longer than {_LONGEST_PATH:,} bytes"
        if kind == "a folder":
            if depth >= self.limits.deepest:
                yield f"folders more than {self.limits.deepest} levels deep"
            if last.lower().endswith(_NAMES_OF_FILES):
                yield "a folder with the name of a file"
            return
        if kind is not None:
            yield f"is {kind}"
        if is_temporary(last):
            yield "has the name of a file that was not finished"
        if found.st_size > self.limits.file_bytes:
            yield f"has more than {(self.limits.file_bytes + 1) >> 20:,} MB"
        if is_sparse(found):
            yield "says to be large, and hardly any of it is there"

    def _placed(self, name: str) -> str:
        """Return the name in the trial's folder of the file `name` of the source."""
        name = self._without_secrets(name)
        in_place = self.source == self.trial
        return name if in_place or _ACCOUNT.fullmatch(name) else f"{OF_AGENT}/{name}"

    def _without_secrets(self, name: str) -> str:
        return name if self.redactor is None else self.redactor.redact(name, evidence=True)

    def _tell(self, why: str, name: str, size: int = 0, *, files: int = 1) -> None:
        if not files:
            return
        before = self.told.get(why)
        if before is None:
            name = self._without_secrets(name)
            shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            self.told[why] = LeftOut(why=why, first=shown[:_LONGEST_PATH], files=files, bytes=size)
        else:
            more = {"files": before.files + files, "bytes": before.bytes + size}
            self.told[why] = before.model_copy(update=more)

    def _take(self, name: str, size: int) -> str:
        """Move one file, as a whole or not at all, and return its name in the trial's folder."""
        placed = self._placed(name)
        source, target = self.source / name, self.trial / placed
        same = source == target
        with open_inside(self.source, name) as file:
            found = os.fstat(file.fileno())
            # a file with a second link elsewhere belongs not only to the trial, and may change through it
            linked = found.st_nlink > 1
            # the trial's log is open, and has no secrets
            clean = None if same and name == LOG else self._cleaned(file)
            if same and not linked and clean is None:
                return placed
            if not same and os.path.lexists(target):
                raise RefusedFileError(target, "has a name under which the run writes one itself")
            target.parent.mkdir(parents=True, exist_ok=True)
            moved = False
            if not linked and clean is None:
                with contextlib.suppress(OSError):  # on another disk
                    source.rename(target)
                    moved = True
            if not moved:
                file.seek(0)
                self._copy(clean or self._pieces(file), target, size if clean is None else None)
        if not moved and not same:
            source.unlink()
        if not same and self.source == self.trial:
            with contextlib.suppress(OSError):
                os.removedirs(source.parent)
        return placed

    def _cleaned(self, file: BinaryIO) -> Iterator[bytes] | None:
        """Return a file's content in pieces without the run's secrets; None if it has none."""
        if self.redactor is None:
            return None
        redacted = self.redactor.redact_stream
        encoding = _encoding_of(file.read(_HEAD))
        try:
            file.seek(0)
            changed = any(old != new for old, new in redacted(self._texts(file, encoding)))
        except UnicodeDecodeError:  # not UTF-16, or not to its end
            encoding = "latin-1"
            file.seek(0)
            changed = any(old != new for old, new in redacted(self._texts(file, encoding)))
        if not changed:
            return None
        file.seek(0)
        return (
            new.encode(encoding, _AS_THEY_ARE[encoding])
            for _, new in redacted(self._texts(file, encoding))
        )

    def _pieces(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield a file's content, which may be written to meanwhile.

        Raises:
            RefusedFileError: The file is endless.
        """
        done = 0
        while piece := file.read(_PIECE):
            done += len(piece)
            if done > self.limits.file_bytes or time.monotonic() > self.until:
                raise RefusedFileError(self.source, _UNSTEADY)
            yield piece

    def _texts(self, file: BinaryIO, encoding: str) -> Iterator[str]:
        """Yield a file as text in pieces; bytes that `encoding` does not have are kept."""
        decoder = codecs.getincrementaldecoder(encoding)(_AS_THEY_ARE[encoding])
        for piece in self._pieces(file):
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)

    def _copy(self, pieces: Iterator[bytes], target: Path, size: int | None) -> None:
        """Write a file under another name, and give it its own when it is complete."""
        part = target.with_name(f".taken.{os.getpid()}-{next(_counter)}.tmp")
        try:
            with part.open("xb", buffering=0) as file:
                written = self._fill(file, pieces)
            if size not in {None, written}:
                raise RefusedFileError(target, _UNSTEADY)
            part.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()
            raise

    def _fill(self, file: FileIO, pieces: Iterator[bytes]) -> int:
        """Write all, and return how many bytes."""
        written = 0
        for piece in pieces:
            written += len(piece)
            if piece.count(0) == len(piece):  # a hole stays one, and takes no room
                file.seek(len(piece), os.SEEK_CUR)
                continue
            view = memoryview(piece)
            while view:
                view = view[file.write(view) :]
        file.truncate(written)
        return written

    def _remove_others(self, kept: set[str]) -> None:
        """Remove the other files from the trial's folder, so that no reader finds them."""
        left = [self.trial]
        while left and time.monotonic() < self.until + self.limits.within_s / 2:
            place = left.pop()
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    path = place / entry.name
                    name = path.relative_to(self.trial).as_posix()
                    with contextlib.suppress(OSError):
                        found = entry.stat(follow_symlinks=False)
                        why = next(self._why_not(name, found, name.count("/") + 1), None)
                        if not entry.is_dir(follow_symlinks=False):
                            if name not in kept:
                                path.unlink()
                        elif why is None:
                            left.append(path)
                        else:
                            remove_folder(path)
