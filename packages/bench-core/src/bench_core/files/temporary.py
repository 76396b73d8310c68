"""Temporary folders that are named after the process that owns them, and removal of those whose owner is dead.

A run has one, and whatever it starts puts its temporary files there::

    /tmp/proctor-PID-START-NAMESPACE-xxxxxxxx/   of a run
        c-xxxxxxxx/                                a Chromium: profile, dumps, sockets
        a-xxxxxxxx/                                an agent in a process of its own: its TMPDIR
        playwright-artifacts-xxxxxx/               libraries' files in the folder of temporary files
        p-xxxxxxxx/                                a worker that the run started on this machine: the same

A run that is killed leaves it; the next start removes it, since its owner is dead.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files.locks import LOCK_FOLDER, where_locks_are
from bench_core.files.removal import remove_folder
from bench_core.process_table import command_lines, namespace, start_token

VARIABLES = ("TMPDIR", "TEMP", "TMP")
"""Variables by which programs find the folder of temporary files."""
# Short, because Chromium puts a socket below it, and paths of sockets are.
_OF_A_RUN = "proctor"
_PREFIX = "proctor-c"
_NAME = re.compile(
    # browser-use puts a folder of its own, named after its agent's id, next to ours
    r"(?:proctor(?:-(?:c|agent|browser-use))?|browser_use_agent_proctor)"
    r"-(?P<pid>\d+)-(?P<started>\w+)-(?P<namespace>[0-9a-f]+)-\w+"
)
_PATTERNS = ("proctor-*", "browser_use_agent_proctor-*")
_SWEEP_S = 10.0
"""Most seconds that the remains of one owner delay a start; the next one goes on."""
_SHORT = ("/tmp", "/dev/shm", "/var/tmp")  # noqa: S108  # a name made there tells its owner
_LONGEST_SOCKET = 107 if sys.platform == "linux" else 103
"""Most bytes of the path of a socket."""
_outside: list[Path] = []
"""Former place of temporary files, before this process got a folder for its run; empty if it has none."""
_lasting: list[Path] = []


@dataclass(frozen=True)
class _Owner:
    pid: int
    started: str
    namespace: str

    @classmethod
    def of(cls, folder: Path) -> _Owner | None:
        match = _NAME.fullmatch(folder.name)
        if match is None:
            return None
        return cls(int(match["pid"]), match["started"], match["namespace"])

    @property
    def is_dead(self) -> bool:
        return self.namespace == namespace() and start_token(self.pid) != self.started


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Let this process and its children put temporary files into a new folder that is removed afterwards.

    Those of processes that were killed are removed first. Inside such a block this does nothing
    more. The place of locks stays the same: other processes must find them.
    """
    if _outside:
        yield Path(tempfile.gettempdir())
        return
    outside = Path(tempfile.gettempdir())
    sweep_leftovers(outside)
    folder = owned_folder(_OF_A_RUN, outside)
    own = {**dict.fromkeys(VARIABLES, str(folder)), LOCK_FOLDER: str(where_locks_are())}
    before = {name: os.environ.get(name) for name in own}
    _outside.append(outside)
    os.environ.update(own)
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = str(outside)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        _outside.clear()
        _clear(folder)


def remove_temporary_folder() -> None:
    """Remove the folder of this process's run, if it is about to end without leaving `temporary_folder`."""
    if _outside:
        remove_folder(Path(tempfile.gettempdir()))


def lasting_folder(prefix: str) -> Path:
    """Make a folder as `owned_folder` that lasts until this process ends, even if its run ends before."""
    folder = owned_folder(prefix)
    _lasting.append(folder)
    atexit.register(_remove_lasting, folder, os.getpid())
    return folder


def create_profile(root: Path) -> Path:
    """Make an empty profile folder in `root` whose name tells its owner."""
    root.mkdir(parents=True, exist_ok=True)
    return owned_folder(_PREFIX, root)


def owned_folder(prefix: str, root: Path | None = None) -> Path:
    """Make an empty folder in `root`, by default that of temporary files, and return it.

    Its name tells its owner, so that a later start removes it if this process is killed. Below
    a folder whose name does so already, a short one does.

    Args:
        prefix: `proctor`, `proctor-c`, `proctor-agent` or `proctor-browser-use`.
        root: The folder for it.
    """
    root = root or Path(tempfile.gettempdir())
    below = any(_Owner.of(each) for each in (root, *root.parents))
    name = prefix.removeprefix("proctor-")[0] if below else owned_name(prefix)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))


def shared_folder(folder: Path) -> Path:
    """Return the outermost owned folder that contains a folder, with all of its owner's other files."""
    return next((each for each in reversed(folder.parents) if _Owner.of(each)), folder.parent)


def folder_for_sockets(wanted: Path, name: str) -> Path:
    """Make a folder for a socket called `name`, and return it.

    It is `wanted`, if the system allows a socket's path of that length, else one in a folder of a short path.

    Raises:
        InputError: No place has a shorter path.
    """
    if sys.platform == "win32" or _fits(wanted, name):
        wanted.mkdir()
        return wanted
    for root in map(Path, filter(None, (*_SHORT, os.environ.get("XDG_RUNTIME_DIR")))):
        with contextlib.suppress(OSError):
            # a start sweeps the folder that TMPDIR names, and this may be another one
            sweep_leftovers(root)
            made = owned_folder(_PREFIX, root)
            if _fits(made, name):
                return made
            made.rmdir()
    raise InputError(
        f"{wanted} is too long for the paths of sockets, and no folder can be made in "
        f"{', '.join(_SHORT)}: set TMPDIR to a folder of a short path"
    )


def _fits(folder: Path, name: str) -> bool:
    return len(os.fsencode(folder / name)) <= _LONGEST_SOCKET


def owned_name(prefix: str) -> str:
    """Return a name that marks this process as the owner; a suffix is to follow it."""
    pid = os.getpid()
    return f"{prefix}-{pid}-{start_token(pid) or 0}-{namespace()}"


def sweep_leftovers(root: Path | None = None) -> list[Path]:
    """End browsers and remove folders in `root` whose owner is dead; return the folders.

    A live owner's folder is never touched, nor one of another container or another user.
    Does nothing on Windows, which cannot tell owners from later processes.
    """
    if sys.platform == "win32":
        return []
    root = root or Path(tempfile.gettempdir())
    found = (folder for pattern in _PATTERNS for folder in root.glob(pattern))
    leftovers = [folder for folder in found if _is_leftover(folder)]
    if leftovers:
        _end_browsers_of(leftovers)
    for folder in leftovers:
        remove_folder(folder, within_s=_SWEEP_S)
    return leftovers


def _clear(folder: Path) -> None:
    """Remove a run's folder, except for files this process needs until its end."""
    if not any(each.parent == folder for each in _lasting):
        remove_folder(folder)
        return
    with contextlib.suppress(OSError):  # others may have removed it, or parts of it
        for each in folder.iterdir():
            if each in _lasting:
                continue
            if each.is_dir() and not each.is_symlink():
                remove_folder(each)
            else:
                each.unlink(missing_ok=True)


def _remove_lasting(folder: Path, owner: int) -> None:
    if os.getpid() != owner:  # a fork of it
        return
    remove_folder(folder)
    if _Owner.of(folder.parent):  # the run's, which may be over
        with contextlib.suppress(OSError):
            folder.parent.rmdir()


def _is_leftover(folder: Path) -> bool:
    owner = _Owner.of(folder)
    if owner is None or not owner.is_dead:
        return False
    try:
        return folder.is_dir() and folder.stat().st_uid == os.getuid()
    except FileNotFoundError:  # another process sweeps too
        return False


def _end_browsers_of(folders: list[Path]) -> None:
    # a profile is such a folder, or lies in that of a run
    marks = [f"--user-data-dir={folder}{end}" for folder in folders for end in (" ", "/")]
    for pid, line in command_lines():
        if any(mark in f"{line} " for mark in marks):
            try:
                os.killpg(os.getpgid(pid), signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # its group was ended with an earlier process, or is not ours
