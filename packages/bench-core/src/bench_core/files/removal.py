"""Removal of folders that others have filled: of any depth, within a time, and without an error.

`shutil.rmtree` recurses before Python 3.13: a folder of some thousand levels, which an agent may leave,
would end the run. It also leaves the content of a folder that may not be read. Only the standard library is
imported here, as the supervisor of a browser runs this file without anything else.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

REMOVE_S = 60.0
"""Most seconds that a removal takes; the next start removes the rest."""
_STILL_WRITES_S = 3.0
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_BY_HANDLE = {os.open, os.rename, os.unlink, os.rmdir, os.chmod} <= os.supports_dir_fd
_names = (f".proctor-{os.getpid()}-{number}" for number in itertools.count())


def remove_folder(folder: Path, *, within_s: float = REMOVE_S) -> None:
    """Remove `folder`, repeatedly for a while if a dying process still writes into it.

    Entries that cannot be removed stay; nothing is raised.
    """
    began = time.monotonic()
    while os.path.lexists(folder):
        with contextlib.suppress(OSError, RecursionError):
            if _BY_HANDLE:
                _empty(os.fspath(folder), began + within_s)
                folder.rmdir()
            else:
                shutil.rmtree(folder)
        if time.monotonic() - began > min(_STILL_WRITES_S, within_s):
            return
        time.sleep(0.01)


def _empty(folder: str, until: float) -> None:
    """Remove the entries of `folder`, whose inner folders are moved up next to each other before.

    So neither open files nor paths become more with its depth.
    """
    with _opened(folder, None) as root:
        stuck: set[str] = set()
        while left := [each for each in _entries(root) if each.name not in stuck]:
            for each in left:
                if time.monotonic() > until:
                    return
                try:
                    if _is_folder(each, root):
                        with _opened(each.name, root) as inner:
                            for below in _entries(inner):
                                if _is_folder(below, inner):
                                    os.rename(
                                        below.name, next(_names), src_dir_fd=inner, dst_dir_fd=root
                                    )
                                else:
                                    os.unlink(below.name, dir_fd=inner)
                        os.rmdir(each.name, dir_fd=root)
                    else:
                        os.unlink(each.name, dir_fd=root)
                except OSError:  # a mount, say, or a file that may not be removed
                    stuck.add(each.name)


@contextlib.contextmanager
def _opened(folder: str, within: int | None) -> Iterator[int]:
    handle = os.open(folder, _FOLDER, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)


def _entries(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _is_folder(entry: os.DirEntry[str], within: int) -> bool:
    """Return whether an entry is a folder, and make it one that we may empty."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    if entry.stat(follow_symlinks=False).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(entry.name, stat.S_IRWXU, dir_fd=within)
    return True
