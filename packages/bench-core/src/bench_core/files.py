"""Whole files that are there entirely or not at all, and folder names made of ids."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from bench_core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "folder_name",
    "free_name",
    "require_writable",
    "sweep_temporary",
    "sync_folder",
    "write_atomic",
]

_MAX_NAME = 200
_WINDOWS_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)
_BINARY = getattr(os, "O_BINARY", 0)
_counter = itertools.count()


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a crash leaves the old file or the new one.

    The data reach the disk before the name does, and the folder is synced after it. A device or a
    pipe (`/dev/stdout`) is written to, and stays what it is.
    """
    if path.is_char_device() or path.is_fifo():
        path.write_bytes(data)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_counter)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def require_writable(path: Path) -> None:
    """Raise where a file could not be written, before there is work whose result would be lost.

    Its folder is made when missing.

    Raises:
        OSError: Says why.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    made = not path.exists()
    path.open("ab").close()
    if made:
        path.unlink()


def sync_folder(folder: Path) -> None:
    """Make new and renamed entries of `folder` survive a power loss, where the system can."""
    if os.name == "nt":  # Windows neither opens folders nor needs it
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep_temporary(folder: Path) -> None:
    """Remove what killed writers left of `write_atomic` in `folder`; call as its only writer."""
    for left in folder.glob(".*.tmp"):
        left.unlink(missing_ok=True)


def folder_name(identifier: str) -> str:
    """Return `identifier` as the name of one folder, percent-encoded, on every system.

    Names of digits, letters, `-`, `_` and inner dots stay as they are. Very long ones are cut
    and told apart by a hash.

    Raises:
        InputError: It is empty.
    """
    if not identifier:
        raise InputError("an id must not be empty: a folder is named after it")
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
