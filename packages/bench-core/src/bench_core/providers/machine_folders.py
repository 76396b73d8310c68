"""A folder for each machine of this computer: its labels, its specification, its process group.

The folder defines the machine: a process is started only while its folder has its name, so that
renaming the folder ends the machine in one step, during any other operation.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from bench_core.errors import InputError
from bench_core.files import FileLock, write_atomic
from bench_core.machines import Found, MachineError, NameTakenError
from bench_core.processes import ProcessGroups
from bench_core.records import Record

# Writes down the group's id, since which start of the computer it is that, and when its leader began, then
# leaves the command running in the group.
# Absolute paths: once the folder was renamed nothing is written, and nothing starts. The shell ends,
# so the command is not a child of this process: the driver's death neither ends the command nor leaves a zombie.
_LAUNCH = """
folder=$1; shift
cd "$folder/work" || exit 1
boot=-
if [ -r "$1" ]; then read -r boot < "$1"; fi; shift
began=-
if [ -r "/proc/$$/stat" ]; then IFS= read -r began < "/proc/$$/stat"; fi
printf '%s %s %s\\n' "$$" "$boot" "$began" > "$folder/process.new" || exit 1
mv "$folder/process.new" "$folder/process" || exit 1
"$@" < /dev/null >> "$folder/log.txt" 2>&1 &
"""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STARTED = 19  # of the fields after the name, see proc(5)
_POLL_S = 0.05
_TRIES = 5
_GONE = ".gone-"


def lock_of(name: str, folder: Path) -> FileLock:
    """Return the lock of `name` in a folder, which is made when missing."""
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock.for_resource(name, folder)


class Described(Record):
    """The stored facts about a machine."""

    labels: dict[str, str] = Field(default_factory=dict)
    spec: dict[str, JsonValue] = Field(default_factory=dict)


class MachineFolders:
    """The machines of one folder.

    Args:
        folder: Made when needed.
        stop_s: How long a process group may take to end by itself before it is killed, in seconds.
    """

    def __init__(self, folder: Path, *, stop_s: float = 10.0) -> None:
        self.folder = folder
        self._stop_s = stop_s

    def make(self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]) -> Path:
        """Make the folder of a machine.

        Raises:
            NameTakenError: There is one.
        """
        place = self.folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            # the folder is the claim to its name: of several that make it, one succeeds
            place.mkdir()
        except FileExistsError:
            raise NameTakenError(name) from None
        (place / "work").mkdir()
        described = Described(labels=dict(labels), spec=dict(spec))
        write_atomic(place / "machine.json", described.model_dump_json().encode())
        return place

    def names(self) -> list[str]:
        """Return the names of all machines and of all that were not removed entirely."""
        if not self.folder.is_dir():
            return []
        found = (each.name for each in self.folder.iterdir() if each.is_dir())
        return sorted({each.removeprefix(_GONE) for each in found})

    def described(self, name: str) -> Described:
        """Return the stored facts about a machine; empty if it died before they were written."""
        for place in self._places(name):
            with contextlib.suppress(OSError, ValidationError):
                return Described.model_validate_json((place / "machine.json").read_bytes())
        return Described()

    def since(self, name: str) -> datetime | None:
        """Return when a machine's folder was made or last renewed."""
        for place in self._places(name):
            with contextlib.suppress(OSError):
                return datetime.fromtimestamp(place.stat().st_mtime, timezone.utc)
        return None

    def found(self, name: str) -> Found:
        """Describe a machine, or the remains of one."""
        group = self.group(name)
        return Found(
            name=name,
            id=str(group[0]) if group else "",
            labels=self.described(name).labels,
            since=self.since(name),
            running=self.runs(name),
            urls=self.urls(name) or {},
        )

    def urls(self, name: str) -> dict[str, str] | None:
        """Return where a machine answers; None while that is not known."""
        with contextlib.suppress(OSError, ValueError):
            found: Any = json.loads((self.folder / name / "urls.json").read_bytes())
            return {str(key): str(url) for key, url in found.items()}
        return None

    def work(self, name: str) -> Path:
        """Return the folder in which a machine's process runs."""
        return self.folder / name / "work"

    async def empty(self, name: str) -> None:
        """Remove all files that a machine's process left in its folder.

        Raises:
            MachineError: Some part of it is still there, or the machine was removed.
        """
        await asyncio.to_thread(shutil.rmtree, self.work(name), ignore_errors=True)
        try:
            self.work(name).mkdir()  # fails where not all was removed
        except OSError as error:
            raise MachineError(f"the folder of {name!r} cannot be emptied: {error}") from error

    def instance(self, name: str) -> str:
        """Return an identity that changes with the machine's process."""
        group = self.group(name)
        return f"{group[0]}:{group[1]}" if group else ""

    def group(self, name: str) -> tuple[int, str | None] | None:
        """Return the id of a machine's process group and when its leader began; None for no process."""
        return _read_group(self.folder / name)

    def runs(self, name: str) -> bool:
        """Whether a process of the machine lives, and the machine was not removed."""
        group = self.group(name)
        return group is not None and bool(ProcessGroups(dict([group])).alive())

    async def launch(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start the machine's process in its folder `work`, in its own process group.

        Raises:
            MachineError: The machine was removed meanwhile, or the disk is full.
        """
        place = str(self.folder / name)
        arguments = ["/bin/sh", "-c", _LAUNCH, "proctor-machine", place, str(_BOOT), *command]
        done = await asyncio.to_thread(
            subprocess.run, arguments, env={**os.environ, **env}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip()
            raise MachineError(f"no process was started for {name!r}: {why}")

    async def end(self, name: str) -> None:
        """End the machine's process group; its folder stays.

        Raises:
            MachineError: Some part of it still runs.
        """
        place = self.folder / name
        await self._end(place)
        (place / "process").unlink(missing_ok=True)

    async def remove(self, name: str) -> None:
        """End the machine and remove its folder; one that is gone already is fine.

        Raises:
            MachineError: Some part of it is still there.
        """
        gone = self.folder / f"{_GONE}{name}"
        await self._clear(gone)  # a removal that was cut short
        with contextlib.suppress(FileNotFoundError):
            # From here on no process starts for it.
            (self.folder / name).rename(gone)
        await self._clear(gone)
        if self._places(name):
            raise MachineError(f"{gone} is still there: remove it by hand")

    async def _clear(self, place: Path) -> None:
        if _there(place):
            await self._end(place)
            for _ in range(_TRIES):  # another reaper may be at it, too
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
                if not _there(place):
                    return
                await asyncio.sleep(_POLL_S)

    async def _end(self, place: Path) -> None:
        group = _read_group(place)
        if group is None:
            return
        processes = ProcessGroups(dict([group]))
        processes.terminate()
        if not await _ended(processes, self._stop_s):
            processes.kill()
            if not await _ended(processes, self._stop_s):
                raise MachineError(f"process group {group[0]} of {place.name!r} does not end")

    def _places(self, name: str) -> list[Path]:
        both = (self.folder / name, self.folder / f"{_GONE}{name}")
        return [each for each in both if each.exists()]


class FolderBackend:
    """Shared parts of backends with a folder for each machine."""

    def __init__(self, folders: MachineFolders) -> None:
        self._folders = folders

    async def find(self) -> Sequence[Found]:
        """Return all machines, and the folders that are left of any."""
        return [self._folders.found(name) for name in self._folders.names()]

    async def instance(self, name: str) -> str:
        """Return the identity of the machine's process; empty if it has none."""
        return self._folders.instance(name)

    async def remove(self, name: str) -> None:
        """End the machine's processes and remove its folder with its contents.

        Raises:
            MachineError: Some part of it is still there.
        """
        await self._folders.remove(name)


def require_posix() -> None:
    """Refuse systems without process groups.

    Raises:
        InputError: Says so.
    """
    if sys.platform == "win32":
        raise InputError("machines made of processes need process groups, which Windows has not")


def _read_group(place: Path) -> tuple[int, str | None] | None:
    """Return the process group that is written down; None for one of before the computer last started.

    The same number may be another program's since then.
    """
    try:
        text = (place / "process").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    pid, boot, *stat = [*text.split(" ", 2), "", ""]
    if not pid.isdigit() or boot != _this_boot():  # cut short when the computer went down
        return None
    fields = stat[0].rpartition(")")[2].split()
    return int(pid), fields[_STARTED] if len(fields) > _STARTED else None


def _this_boot() -> str:
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return "-"


def _there(place: Path) -> bool:
    return place.exists()


async def _ended(processes: ProcessGroups, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while processes.alive():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_POLL_S)
    return True
