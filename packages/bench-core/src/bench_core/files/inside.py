"""Read files of folders that strangers made: plain files only, and no link is followed.

A received run folder may hold links to private files, pipes that never answer, devices, and files that
say to be of terabytes. Files opened here lie in the folder, are plain and have a bounded size.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from bench_core.errors import RefusedFileError

MAX_FILE_BYTES = 2 << 30
"""Most bytes of a file of a run folder that is read at all."""
_MOST_BYTES = dict.fromkeys(("results.jsonl", "events.jsonl", "notes.jsonl"), 64 << 30)
"""Files that are read line by line may hold more."""
MAX_DOCUMENT_BYTES = 256 << 20
"""Most bytes, after unpacking, of a document, which is read into memory whole."""

_SPARSE_FROM = 64 << 20
_SPARSE_SHARE = 64
"""A file of at least that size that takes less than this fraction (one in N) of its bytes on the disk has hardly
any content; compressing file systems save far less on a run's files."""
_BLOCK = 512
_PIECE = 1 << 20
_BY_HANDLE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PLAIN = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    # a pipe that takes the place of the file after it was looked at must not hold us
    | getattr(os, "O_NONBLOCK", 0)
)
DEEPEST = 64
"""Depth of the folders that a trial may leave; deeper ones only serve to exhaust a walk through them."""
_JUNCTION = 0xA0000003
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)


def open_inside(folder: Path, name: str) -> BinaryIO:
    """Open the plain file `name` below `folder` for reading.

    No part of `name` may be a link, so that nothing outside is read; `folder` itself may be one.

    Args:
        folder: Trusted to be where the user wants to read.
        name: With `/` between its parts.

    Raises:
        FileNotFoundError: It is missing.
        RefusedFileError: It leads out of the folder, is a link, pipe, socket, device or folder, or is
            too large.
    """
    parts = _parts(folder, name)
    try:
        return _open_by_handle(folder, parts) if _BY_HANDLE else _open_by_path(folder, parts)
    except ValueError as error:  # a null character
        raise RefusedFileError(
            folder / name, f"has a name that no file can have: {error}"
        ) from None


class Identity(NamedTuple):
    """Shows whether a file was written to, or exchanged: its number, size and date."""

    number: int
    size: int
    changed_ns: int


def identity_of(folder: Path, name: str) -> Identity | None:
    """Return the identity of a plain file; None if it is missing or cannot be read."""
    try:
        # on NFS, only opening it shows what others have written
        with open_inside(folder, name) as file:
            found = os.fstat(file.fileno())
    except OSError:
        return None
    return Identity(found.st_ino, found.st_size, found.st_mtime_ns)


def file_inside(folder: Path, name: str) -> bool:
    """Return whether `name` below `folder` is a plain file, and no part of it a link."""
    try:
        place = _last_place(folder, _parts(folder, name))
        _refuse(place, place.lstat())
    except (OSError, ValueError):
        return False
    return True


def refuse_linked(folder: Path, name: str) -> Path:
    """Return the folder `name` below `folder`, which may be missing; no part of it is a link.

    Raises:
        RefusedFileError: It leads out of the folder, or a part of it is a link.
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        _last_place(folder, (*_parts(folder, name), ""))
    return folder / name


def read_inside(
    folder: Path, name: str, *, most: int = MAX_DOCUMENT_BYTES, unpack: bool = False
) -> bytes:
    """Return the content of the plain file `name` below `folder`.

    Args:
        folder: As for `open_inside`.
        name: As for `open_inside`.
        most: How many bytes it may hold.
        unpack: Whether it is a gzip file; `most` then counts after unpacking.

    Raises:
        FileNotFoundError: It is missing.
        RefusedFileError: As for `open_inside`, or it holds more than `most` bytes.
        EOFError, OSError, zlib.error: The packed data is damaged.
    """
    with open_inside(folder, name) as plain:
        if not unpack:
            return _read_up_to(plain, most, folder / name)
        with gzip.GzipFile(fileobj=plain) as packed:
            return _read_up_to(packed, most, folder / name)


def _read_up_to(file: BinaryIO | gzip.GzipFile, most: int, path: Path) -> bytes:
    data = bytearray()
    # in pieces: memory for the most that is asked for would be taken at once
    while piece := file.read(_PIECE):
        data += piece
        if len(data) > most:
            raise RefusedFileError(path, f"holds more than {most >> 20} MB")
    return bytes(data)


def plain_files(folder: Path) -> list[str]:
    """Return the names of all plain files below `folder`, sorted; links are neither named nor followed."""
    found = (path for path, status in everything_below(folder) if stat.S_ISREG(status.st_mode))
    return sorted(path.relative_to(folder).as_posix() for path in found)


def refuse_unusual(folder: Path, *, below: bool = False) -> None:
    """Raise if `folder` holds an entry that is neither a folder nor a plain file of a usual size.

    Args:
        folder: May be missing, which counts as empty.
        below: Whether entries of its folders are looked at, too.

    Raises:
        RefusedFileError: Names one of them.
    """
    for path, found in everything_below(folder, deepest=DEEPEST if below else 1):
        if not _is_folder(found):
            _refuse(path, found)


def refuse_links(folder: Path, *, deepest: int) -> None:
    """Raise for a link among the folders below `folder`, down to `deepest` levels.

    It does not look at each file, and so takes little time for a hundred thousand.

    Raises:
        RefusedFileError: Names one of them.
    """
    left = [(folder, 1)]
    while left:
        place, depth = left.pop()
        for entry in _entries(place):
            path = place / entry.name
            if entry.is_symlink() or (os.name == "nt" and _is_junction(path.lstat())):
                raise RefusedFileError(path, "is a link, which is not followed")
            if depth < deepest and entry.is_dir(follow_symlinks=False):
                left.append((path, depth + 1))


def everything_below(
    folder: Path, *, deepest: int | None = None
) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything below `folder`, down to `deepest` levels; without it, folders deeper than a run's raise."""
    left = [(folder, 1)]
    while left:
        place, depth = left.pop()
        for entry in _entries(place):
            path = place / entry.name
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it has gone since
                continue
            yield path, found
            if _is_folder(found) and (deepest is None or depth < deepest):
                if depth >= DEEPEST:
                    raise RefusedFileError(path, f"lies more than {DEEPEST} folders deep")
                left.append((path, depth + 1))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        yield from entries


def _last_place(folder: Path, parts: tuple[str, ...]) -> Path:
    """Return the path of the last of `parts`, none before it a link."""
    place = folder
    for part in parts[:-1]:
        place /= part
        found = place.lstat()
        if stat.S_ISLNK(found.st_mode) or _is_junction(found):
            raise RefusedFileError(place, "is a link, which is not followed")
    return place / parts[-1]


def _parts(folder: Path, name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    parts = path.parts
    if not parts or path.root or ".." in parts or os.path.splitdrive(name)[0]:
        raise RefusedFileError(folder / name, "leads out of its folder")
    return parts


def _open_by_handle(folder: Path, parts: tuple[str, ...]) -> BinaryIO:
    """Open each part relative to the one before, so that none can be exchanged in between."""
    place = folder
    handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            place /= part
            # `O_NOFOLLOW` below refuses a link as well, but calls it "not a directory"
            found = os.stat(part, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                raise RefusedFileError(place, "is a link, which is not followed")
            below = os.open(part, os.O_RDONLY | _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        place /= parts[-1]
        # before it is opened: opening a device may have an effect
        _refuse(place, os.stat(parts[-1], dir_fd=handle, follow_symlinks=False))
        return _checked(place, os.open(parts[-1], os.O_RDONLY | _PLAIN, dir_fd=handle))
    except OSError as error:
        if not isinstance(error, RefusedFileError):
            error.filename = str(place)  # else the part alone
        raise
    finally:
        os.close(handle)


def _open_by_path(folder: Path, parts: tuple[str, ...]) -> BinaryIO:
    """Do the same on systems that cannot open files relative to a handle (Windows)."""
    place = _last_place(folder, parts)
    _refuse(place, place.lstat())
    return _checked(place, os.open(place, os.O_RDONLY | _PLAIN))


def _checked(path: Path, handle: int) -> BinaryIO:
    try:
        # once more: it may have been exchanged since it was looked at
        _refuse(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _refuse(path: Path, found: os.stat_result) -> None:
    what = kind_of(found)
    if what is not None:
        ending = ", which is not followed" if what == "a link" else ", not a plain file"
        raise RefusedFileError(path, f"is {what}{ending}")
    most = _MOST_BYTES.get(path.name, MAX_FILE_BYTES)
    if found.st_size > most:
        raise RefusedFileError(
            path,
            f"has {found.st_size / 2**30:,.1f} GB: files up to {most >> 30} GB are read",
        )
    if is_sparse(found):
        raise RefusedFileError(
            path, f"says it has {found.st_size >> 20:,} MB, of which nearly none are there"
        )


def is_sparse(found: os.stat_result) -> bool:
    """Return whether hardly any of a file's stated size is on the disk."""
    blocks = getattr(found, "st_blocks", None)
    return (
        blocks is not None
        and found.st_size > _SPARSE_FROM
        and blocks * _BLOCK < found.st_size // _SPARSE_SHARE
    )


def kind_of(found: os.stat_result) -> str | None:
    """Return the kind of an entry that is not a plain file, such as `a link`; None for a plain file."""
    if _is_junction(found):
        return "a link"
    if stat.S_ISREG(found.st_mode):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "no plain file")


def _is_junction(found: os.stat_result) -> bool:
    return getattr(found, "st_reparse_tag", 0) == _JUNCTION


def _is_folder(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and not _is_junction(found)
