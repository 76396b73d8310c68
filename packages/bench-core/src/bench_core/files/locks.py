"""Locks between processes of one machine, on files; the system frees them when a process dies.

The locks are advisory and hold between processes that see the same file, not across containers
with file systems of their own.

`filelock` (4.3) has locks that readers share in an SQLite database only.
"""

from __future__ import annotations

import contextlib
import errno
import getpass
import json
import logging
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.errors import InputError, LockHolder, RunFolderBusyError
from bench_core.files.atomic import folder_name

if TYPE_CHECKING:
    from typing_extensions import Self

# `filelock` is not used: it has no lock that readers share, and does not name the holder.
# The system's locks have no time limit, so waiting is trying again.
_POLL_S = 0.05
LOCK_FOLDER = "PROCTOR_LOCK_DIR"
"""The variable that names the folder of locks."""

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
"""Errors of file systems without locks."""
_ALONE = {"nolock", "local_lock=all", "local_lock=flock"}
_MOUNTS = Path("/proc/self/mountinfo")
_log = logging.getLogger(__name__)
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)


class FileLock:
    """A shared or exclusive lock on one file.

    A waiting writer keeps new readers out, so that a stream of readers cannot starve it; it
    does so through a second file, which locks that are never shared need not have (`queue=False`).

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     first = FileLock.for_resource("site:gitlab", Path(folder))
        ...     second = FileLock.for_resource("site:gitlab", Path(folder))
        ...     print(first.try_acquire(shared=True), second.try_acquire(shared=False))
        ...     first.release()
        ...     print(second.try_acquire(shared=False))
        ...     second.release()
        True False
        True
    """

    def __init__(self, path: Path, *, queue: bool = True) -> None:
        self.path = path
        self._queue = queue
        self._gate: int | None = None
        self._main: int | None = None
        self._folder: int | None = None

    @classmethod
    def for_resource(cls, name: str, folder: Path | None = None) -> FileLock:
        """Return the lock of the resource `name`, shared by all processes of this user.

        `folder` defaults to `lock_folder()`.
        """
        return cls((folder or lock_folder()) / f"{folder_name(name)}.lock")

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._main is not None

    def try_acquire(self, *, shared: bool = False) -> bool:
        """Take the lock if that is possible now.

        A refused try queues up: a writer before new readers, readers before the next writer. Call
        again to try further or `release` to give up.
        """
        if self.held:
            raise RuntimeError(f"{self.path} is already locked by this object")
        if self._queue and self._gate is None:
            self._gate = _try_lock(f"{self.path}.gate", shared=shared)
            if self._gate is None:
                return False
        self._main = _try_lock(self.path, shared=shared)
        if self._main is not None:
            self._open_gate()
        if self._main is not None and not shared:
            _write_holder(self._main)
        return self._main is not None

    def hold_folder(self, folder: Path) -> bool:
        """Lock `folder` itself, too, until the release: unlike the file, it is not removed by mistake.

        If folders cannot be locked (Windows, NFS), the file has to do.
        """
        if sys.platform == "win32":
            return True
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            locked = _lock_handle(handle, shared=False)
        except OSError:
            locked = True
        if locked:
            self._folder = handle
        else:
            os.close(handle)
        return locked

    def release(self) -> None:
        """Give the lock back, or the place in the queue; safe to call twice."""
        folder, self._folder = self._folder, None
        if folder is not None:
            os.close(folder)
        main, self._main = self._main, None
        if main is not None:
            # The file stays: if it were removed, two processes could lock two files of one name.
            os.close(main)
        self._open_gate()

    def holder(self) -> LockHolder | None:
        """Return the present or last holder of the exclusive lock; None if it was never held."""
        try:
            return LockHolder(**json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def __enter__(self) -> Self:
        while not self.try_acquire():
            time.sleep(_POLL_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def __aenter__(self) -> Self:
        import asyncio  # slow, and most users of file locks need none of it

        try:
            while not self.try_acquire():  # noqa: ASYNC110  # another process has it
                await asyncio.sleep(_POLL_S)
        except BaseException:
            self.release()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def _open_gate(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            os.close(gate)


def lock_folder() -> Path:
    """Return this user's folder for locks, made when missing: `$PROCTOR_LOCK_DIR` or a temporary one.

    Raises:
        InputError: The folder belongs to another user.
    """
    folder = where_locks_are()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32" and folder.stat().st_uid != os.getuid():
        raise InputError(f"the lock folder {folder} belongs to another user: set PROCTOR_LOCK_DIR")
    return folder


def where_locks_are() -> Path:
    """Return the path that `lock_folder` makes, whether or not it exists."""
    given = os.environ.get(LOCK_FOLDER)
    # not $XDG_RUNTIME_DIR: a cron job or a container of the same user has none and would not
    # meet a login session there
    return Path(given) if given else Path(tempfile.gettempdir()) / f"proctor-locks-{_user()}"


def lock_for_writing(folder: Path) -> FileLock:
    """Return the lock of the one writer of `folder`, taken.

    Raises:
        RunFolderBusyError: Another process holds it.
    """
    lock = FileLock(folder / ".lock", queue=False)
    before = lock.holder()
    if not lock.try_acquire():
        time.sleep(_POLL_S)  # whoever only asks (`is_written`) holds it for a moment
    if not lock.held and not lock.try_acquire():
        raise RunFolderBusyError(folder, lock.holder())
    if not lock.hold_folder(folder):  # the file was removed under its writer
        lock.release()
        raise RunFolderBusyError(folder, before)
    if holds_here_only(folder):
        _log.warning(
            "%s is on NFS without locks that other machines see: let no other machine write there",
            folder,
        )
    return lock


def is_written(folder: Path) -> bool:
    """Return whether the one writer of `folder` lives, or may live."""
    lock = FileLock(folder / ".lock", queue=False)
    if not lock.path.exists():
        return False
    try:
        return not lock.try_acquire(shared=True)
    except OSError:
        return True
    finally:
        lock.release()


def holds_here_only(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Return whether other machines do not see a lock on files in `folder`, by the mounts of Linux."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    place, longest, alone = folder.resolve(), -1, False
    for line in lines:
        before, _, after = line.partition(" - ")
        point, what = Path(before.split()[4].replace("\\040", " ")), after.split()
        if place.is_relative_to(point) and len(point.parts) >= longest:
            longest = len(point.parts)
            options = {*before.split()[5].split(","), *what[-1].split(",")}
            alone = what[0].startswith("nfs") and not _ALONE.isdisjoint(options)
    return alone


def _try_lock(path: Path | str, *, shared: bool) -> int | None:
    """Open and lock `path` without waiting; return the handle that holds the lock, or None."""
    handle = os.open(path, _FLAGS, 0o666)
    try:
        locked = _lock_handle(handle, shared=shared)
    except OSError as error:
        os.close(handle)
        if error.errno in _NO_LOCKS:
            raise InputError(
                f"{path} cannot be locked ({error.strerror}), and without a lock two runs could write one "
                f"folder: put it on a disk with locks (NFS: not mounted with `nolock`, its lock daemon "
                f"running), or, where it is no run folder, set {LOCK_FOLDER}"
            ) from error
        raise
    except BaseException:
        os.close(handle)
        raise
    if not locked:
        os.close(handle)
        return None
    return handle


def _write_holder(handle: int) -> None:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    data = json.dumps(asdict(LockHolder(pid=os.getpid(), host=platform.node(), since=now))).encode()
    # the holder's name is a help for messages: a full disk must not cost the lock
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, data)


if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _FAIL_IMMEDIATELY = 1
    _EXCLUSIVE = 2
    _LOCK_VIOLATION = 33
    # far behind the content: Windows refuses reading locked bytes, and the holder must be readable
    _LOCKED_BYTE = 1 << 30

    class _Overlapped(ctypes.Structure):
        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", wintypes.DWORD),
            ("offset_high", wintypes.DWORD),
            ("event", wintypes.HANDLE),
        )

    def _user() -> str:
        return folder_name(getpass.getuser())

    def _lock_handle(handle: int, *, shared: bool) -> bool:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        flags = _FAIL_IMMEDIATELY | (0 if shared else _EXCLUSIVE)
        where = _Overlapped(offset=_LOCKED_BYTE)
        system_handle = wintypes.HANDLE(msvcrt.get_osfhandle(handle))
        if kernel.LockFileEx(system_handle, flags, 0, 1, 0, ctypes.byref(where)):
            return True
        if ctypes.get_last_error() == _LOCK_VIOLATION:
            return False
        raise ctypes.WinError(ctypes.get_last_error())

else:
    import fcntl

    def _user() -> str:
        return str(os.getuid())

    def _lock_handle(handle: int, *, shared: bool) -> bool:
        try:
            # Not `fcntl.lockf`: its locks end when the process closes the file anywhere.
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
