"""Files that only grow, line by line, and lose no acknowledged line.

A line is handed to the operating system before `append` returns, so killing the process loses
none. A background thread makes the lines of the last moments survive a power loss, too: it
syncs in groups, because a sync per line costs milliseconds on real disks.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from bench_core.errors import RunFolderError

SYNC_INTERVAL_S = 0.5
"""A line is on the disk at most this long after it was appended."""

# O_BINARY: Windows would write two bytes for each line feed, and no checksum would hold.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


class GroupSync:
    """Syncs the files that were written to, at most `interval_s` after the first write."""

    def __init__(self, interval_s: float = SYNC_INTERVAL_S) -> None:
        self._interval_s = interval_s
        self._changed = threading.Condition()
        self._syncing = threading.Lock()
        self._dirty: set[int] = set()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._error: OSError | None = None

    def mark(self, handle: int) -> None:
        """Note that the file `handle` was written to.

        Raises:
            OSError: An earlier sync failed; the data it covered may not be on the disk.
        """
        with self._changed:
            if self._error is not None:
                raise self._error
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="group-sync", daemon=True)
                self._thread.start()
            if not self._dirty:
                self._changed.notify()
            self._dirty.add(handle)

    def sync(self, handle: int) -> None:
        """Sync the file `handle` now."""
        with self._changed:
            self._dirty.discard(handle)
        with self._syncing:
            os.fsync(handle)

    def close(self) -> None:
        """Stop the thread; sync or forget every file before."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while self._wait_for_work():
            with self._syncing:
                with self._changed:
                    handles, self._dirty = self._dirty, set()
                try:
                    for handle in handles:
                        os.fsync(handle)
                except OSError as error:
                    self._error = error

    def _wait_for_work(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._dirty or self._closed)
            # more lines may come in this time: one sync covers them all
            self._changed.wait_for(lambda: self._closed, timeout=self._interval_s)
            return not self._closed


class AppendLog:
    """The one writer of a file of lines; safe to use from several threads."""

    def __init__(self, path: Path, sync: GroupSync) -> None:
        self.path = path
        self._sync = sync
        self._lock = threading.Lock()
        self._handle: int | None = os.open(path, _FLAGS, 0o666)
        self._size = path.stat().st_size

    def append(self, line: bytes) -> None:
        """Hand one line (without its line feed) to the operating system.

        Raises:
            RunFolderError: The disk is full or failed, or the log is closed; the file holds whole
                lines only.
        """
        with self._lock:
            handle = self._open_handle()
            try:
                _write_all(handle, line + b"\n")
                self._sync.mark(handle)
                self._size += len(line) + 1
            except OSError as error:
                with contextlib.suppress(OSError):
                    # A full disk takes part of a line: the file must end with a whole one.
                    os.ftruncate(handle, self._size)
                raise RunFolderError(
                    f"cannot write to {self.path}: {error.strerror or error}; free the disk and "
                    f"run the same command again: what was written before is kept"
                ) from error

    def sync(self) -> None:
        """Return when everything appended so far is on the disk."""
        with self._lock:
            self._sync.sync(self._open_handle())

    def close(self) -> None:
        """Sync and close the file; safe to call twice."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is None:
                return
            try:
                self._sync.sync(handle)
            finally:
                os.close(handle)

    def _open_handle(self) -> int:
        if self._handle is None:
            raise RunFolderError(f"{self.path} is closed")
        return self._handle


def _write_all(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    while written < len(data):  # the disk is nearly full, or the line is huge
        written += os.write(handle, memoryview(data)[written:])
