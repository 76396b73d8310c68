"""Whole files that are there entirely or not at all, and folder names made of ids."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from bench_core.errors import InputError
from bench_core.files.inside import DEEPEST, everything_below

# File systems take 255 bytes; suffixes of locks and temporary files come on top.
_MAX_NAME = 200
# Windows opens a device under these names, with any suffix.
_WINDOWS_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)
_BINARY = getattr(os, "O_BINARY", 0)
# such as .run.json.1234-0.tmp, where 1234 is the process that writes it
_TEMPORARY = re.compile(r"\..+\.\d+-\d+\.tmp", re.DOTALL)
_counter = itertools.count()


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a crash leaves the old file or the new one; see `open_atomic`."""
    with open_atomic(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Open `path` for writing so that a crash, or an error in the block, leaves the old file, not half a new one.

    The data reach the disk before the name does, and the folder is synced after it. A device or a
    pipe (`/dev/stdout`) is written to, and stays as it is.

    Raises:
        OSError: Names `path`.
    """
    if path.is_char_device() or path.is_fifo():
        with path.open("wb") as device:
            yield device
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_counter)}.tmp")
    try:
        # exclusive: a link that someone put there under this name is not written through
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                # Before the rename: otherwise a power loss can leave the new name on an empty file.
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        if error.errno is None or error.filename not in {None, str(temporary)}:
            raise  # of another file, which the block reads
        # the error of a full disk names no file, and that of a read-only one the temporary file
        raise OSError(error.errno, error.strerror, str(path)) from error


def require_writable(path: Path) -> None:
    """Raise if a file could not be written, before there is work whose result would be lost.

    Its folder is made when missing.

    Raises:
        OSError: Says why.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    made = not path.exists()
    # Only opening it shows a read-only disk, missing rights and a folder of that name alike.
    path.open("ab").close()
    if made:
        path.unlink()


def ignores_case(folder: Path) -> bool:
    """Return whether names that differ only in case are one name in `folder`, which must be writable."""
    probe = folder / f".Case-{os.getpid()}-{next(_counter)}.tmp"
    probe.touch()
    try:
        return probe.with_name(probe.name.swapcase()).exists()
    finally:
        probe.unlink()


def sync_folder(folder: Path) -> None:
    """Make new and renamed entries of `folder` survive a power loss, if the system can."""
    if os.name == "nt":  # Windows neither opens folders nor needs it
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep_temporary(folder: Path) -> None:
    """Remove killed writers' remains of `write_atomic` in `folder`; call as its only writer."""
    for left in folder.glob(".*.tmp"):
        left.unlink(missing_ok=True)


def sweep_temporary_below(folder: Path) -> None:
    """Remove killed writers' remains of `write_atomic` in `folder` and all below; call as its only writer.

    Other files with such endings are left: they may be other programs'.
    """
    for left, _ in everything_below(folder, deepest=DEEPEST):
        if is_temporary(left.name):
            with contextlib.suppress(OSError):
                left.unlink()


def is_temporary(name: str) -> bool:
    """Return whether a file of this name is an unfinished one of `write_atomic`."""
    return _TEMPORARY.fullmatch(name) is not None


@lru_cache(maxsize=1024)  # each trial asks for its task and for its locks
def folder_name(identifier: str) -> str:
    """Return `identifier` as the name of one folder, percent-encoded, on every system.

    Names of digits, letters, `-`, `_` and inner dots stay as they are. Very long ones are cut
    and end in a hash.

    Raises:
        InputError: It is empty.
    """
    if not identifier:
        raise InputError("an id must not be empty: a folder is named after it")
    # `~` marks names that were cut, so it is encoded in all others.
    name = quote(identifier, safe="", errors="surrogatepass").replace("~", "%7E")
    if name.strip(".") == "" or name.partition(".")[0].lower() in _WINDOWS_DEVICES:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if name.endswith("."):  # Windows drops trailing dots
        name = f"{name[:-1]}%2E"
    if len(name) > _MAX_NAME:
        digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()
        name = f"{name[: _MAX_NAME - 17]}~{digest[:16]}"
    return name


def free_name(path: Path, suffix: str) -> Path:
    """Return the first of `path.suffix-1`, `path.suffix-2`, ... that does not exist."""
    candidates = (path.with_name(f"{path.name}.{suffix}-{n}") for n in itertools.count(1))
    return next(each for each in candidates if not each.exists())
