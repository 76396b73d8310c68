"""Whether a disk has room, and a process files and memory: asked before work that would fail without, and of errors."""

from __future__ import annotations

import contextlib
import errno
import shutil
from pathlib import Path

from bench_core.errors import RunFolderError

_MB = 10**6
TO_BEGIN = 200 * _MB
"""Bytes that must be free before a run begins or is continued."""
TO_GO_ON = 20 * _MB
"""Bytes that must be free before each attempt: those in flight can still be written down."""
_FILES = 48
"""One trial on a simulated desktop ends with 28 and fails in odd places with 24."""
_MEMORY_MB = 512
"""One trial in a browser on simulated sites takes 462 in the run's own process."""
_EXHAUSTED = frozenset(
    {
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.ENOMEM,
        errno.EAGAIN,
        errno.EROFS,
    }
)
_NO_THREAD = ("can't start new thread", "unable to start watchdog thread")


def is_exhausted(error: BaseException | None) -> bool:
    """Return whether the system had no memory, thread, file or room left for the process."""
    if isinstance(error, OSError):
        return error.errno in _EXHAUSTED
    text = str(error) if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or text.startswith(_NO_THREAD)


def require_memory() -> None:
    """Raise if a process may not have as much memory as a run in a browser needs.

    With less, code that starts a thread waits forever for its memory, and libraries end the process.

    Raises:
        RunFolderError: Says how much it may have.
    """
    with contextlib.suppress(ImportError):  # Windows
        import resource

        for kind, option in ((resource.RLIMIT_DATA, "-d"), (resource.RLIMIT_AS, "-v")):
            most, _ = resource.getrlimit(kind)
            if most != resource.RLIM_INFINITY and most < _MEMORY_MB << 20:
                raise RunFolderError(
                    f"a process may have only {most >> 20} MB of memory, and a run in a browser needs "
                    f"{_MEMORY_MB}: allow more with `ulimit {option}`"
                )


def require_open_files() -> None:
    """Raise if this process may not open as many files as a run needs, and cannot be allowed to.

    Raises:
        RunFolderError: Says how many there may be.
    """
    with contextlib.suppress(ImportError):  # Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft >= _FILES:
            return
        if hard != resource.RLIM_INFINITY and hard < _FILES:
            raise RunFolderError(
                f"only {hard} files may be open at once, and a run needs {_FILES}: allow more with `ulimit -n`"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, hard))


def require_space(folder: Path, least: int) -> None:
    """Raise if fewer than `least` bytes are free on the disk of `folder`, which need not exist yet.

    Raises:
        RunFolderError: Says how many there are.
    """
    try:
        usage = shutil.disk_usage(folder)  # asked before each attempt, when it is there
    except FileNotFoundError:
        there = next((each for each in folder.absolute().parents if each.exists()), folder)
        usage = shutil.disk_usage(there)
    free = usage.free
    # some network file systems do not report their size
    if usage.total and free < least:
        raise RunFolderError(
            f"only {free / _MB:,.0f} MB are free on the disk of {folder}, and {least / _MB:,.0f} MB are the "
            f"least to run trials with: free some and run the same command again, or use another folder"
        )
