"""Restricts a process to writing in some folders and to starting known programs.

It hooks into Python's audit events, which report every `open` in Python, whoever calls it. For
foreign code, this is a second line of defense behind the checks of tasks and names.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

_PROGRAMS = frozenset({"ffmpeg", "fpcalc", "node"})
"""The programs that vanilla's code may start: for two audio metrics, and Playwright's driver."""

_DECODER = (sys.executable, "-m", "waa_server_ext.native.decoder")
"""The process in which native evaluators decode files from a VM; bounded in time and memory."""

_READ_ONLY_URI = re.compile(r"file:[^?#]*\?mode=ro(&immutable=1)?")
"""A database that SQLite opens for reading alone."""

_CREATES = ("os.truncate", "sqlite3.connect")
_CHANGES = ("os.mkdir", "os.remove", "os.rmdir")
_MOVES = ("os.rename", "os.link", "os.symlink")
_STARTS = ("os.exec", "os.spawn", "os.system", "pty.spawn")


class _WriteGuard:
    def __init__(self, *writable: Path) -> None:
        roots = (*writable, Path(tempfile.gettempdir()))
        self._roots = [root.resolve() for root in roots]

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*arguments)
        elif event in _CREATES:
            self._check(arguments[0])
        elif event in _CHANGES:
            self._check_in(arguments[-1], arguments[0])
        elif event in _MOVES:
            self._check_in(arguments[-1], arguments[1])
        elif event == "os.posix_spawn":  # subprocess starts programs this way from Python 3.13 on
            _check_program(arguments[0], list(map(os.fsdecode, arguments[1])))
        elif event in _STARTS:
            raise PermissionError(f"{event} is refused while tasks are evaluated")
        elif event == "subprocess.Popen":
            _check_program(*arguments[:2])

    def _opened(self, path: object, mode: object, flags: object) -> None:
        if (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or (
            isinstance(mode, str) and set(mode) & set("wax+")
        ):
            self._check(path)

    def _check_in(self, descriptor: object, path: object) -> None:
        """Check a path that may be relative to an open folder, if the system tells which."""
        if not isinstance(descriptor, int) or descriptor < 0:
            self._check(path)
        elif (link := Path(f"/proc/self/fd/{descriptor}")).exists():
            self._check(path, link.resolve())

    def _check(self, path: object, folder: Path | None = None) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # an already open descriptor
        shown = os.fsdecode(path)
        if shown in (os.devnull, ":memory:", "") or _READ_ONLY_URI.fullmatch(shown):
            return
        real = (folder or Path()).joinpath(shown).resolve()
        if not any(real == root or root in real.parents for root in self._roots):
            raise PermissionError(f"writing {shown!r} is refused: only the cache may be written")


def guard_files(*writable: Path) -> None:
    """Restrict this process's writing to `writable` and its temporary folder from now on.

    Reading stays unrestricted. The restriction cannot be undone and sees Python's own calls only: apply it
    to a process that exists to run foreign code.
    """
    sys.addaudithook(_WriteGuard(*writable))


def _check_program(executable: object, command: object) -> None:
    if isinstance(command, list) and tuple(command[:3]) == _DECODER:
        return
    first = executable or (command[0] if isinstance(command, list | tuple) else command)
    name = (
        Path(os.fsdecode(first)).name.lower()
        if isinstance(first, str | bytes | os.PathLike)
        else ""
    )
    if name.removesuffix(".exe") not in _PROGRAMS:
        raise PermissionError(f"starting {name!r} is refused while tasks are evaluated")
