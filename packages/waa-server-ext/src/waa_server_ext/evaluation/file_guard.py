"""A process that writes in one place only and starts known programs only.

Python's own audit events are the place: they see every `open` from Python, whoever calls it. It is
a second line behind the checks of tasks and names, for foreign code.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

_PROGRAMS = frozenset({"ffmpeg", "fpcalc", "node"})
"""What vanilla's code may start: for two metrics of audio, and Playwright's driver."""

_DECODER = (sys.executable, "-m", "waa_server_ext.native.decoder")
"""The process in which native evaluators decode what a VM sends; bounded in time and memory."""

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
        elif event == "os.posix_spawn":  # how subprocess starts programs from Python 3.13 on
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
        """Check a path that may be relative to an open folder, where the system says which."""
        if not isinstance(descriptor, int) or descriptor < 0:
            self._check(path)
        elif (link := Path(f"/proc/self/fd/{descriptor}")).exists():
            self._check(path, link.resolve())

    def _check(self, path: object, folder: Path | None = None) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor that is open already
        shown = os.fsdecode(path)
        if shown in (os.devnull, ":memory:", "") or _READ_ONLY_URI.fullmatch(shown):
            return
        real = (folder or Path()).joinpath(shown).resolve()
        if not any(real == root or root in real.parents for root in self._roots):
            raise PermissionError(f"writing {shown!r} is refused: only the cache may be written")


def guard_files(*writable: Path) -> None:
    """From now on this process writes below `writable` and its temporary folder only.

    Reading is not restricted. It cannot be undone and sees Python's own calls only: give it a
    process that exists to run foreign code.
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
