"""States of virtual machines on the disk: an overlay and a memory each, that are only read.

A state is whole or absent: it is written under another name and renamed. Size, inode and time of its files
are recorded with it, so that one that was changed, cut short or exchanged is not loaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from bench_core.files import write_atomic
from bench_core.files.atomic import sync_folder
from bench_core.machines import MachineError
from bench_core.records import Record

_DISK, _MEMORY, _DESCRIPTION = "disk.qcow2", "memory", "state.json"


class SavedState(Record):
    """A stored state.

    Attributes:
        machine: Digest of the machine that it belongs to; no other can load it.
        files: Size, inode and time of change of each file, by name.
    """

    machine: str
    files: dict[str, tuple[int, int, int]]


def keep_state(made: Path, place: Path, machine: str) -> None:
    """Make the files `disk.qcow2` and `memory` in the folder `made` the state at `place`.

    Raises:
        OSError: They are not on the disk.
    """
    files = {}
    for name in (_DISK, _MEMORY):
        file = made / name
        # overlays of running machines stand on it, and a write would break them all
        file.chmod(0o444)
        # on the disk before the state gets its name, so that none is there in part
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        files[name] = _look(file)
    state = SavedState(machine=machine, files=files)
    write_atomic(made / _DESCRIPTION, state.model_dump_json().encode())
    if place.exists():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    made.rename(place)
    sync_folder(place.parent)


def load_state(place: Path, machine: str) -> tuple[Path, Path]:
    """Return the overlay and the memory of the state at `place`.

    Raises:
        MachineError: It is of another machine, is not whole, or was changed.
    """
    try:
        state = SavedState.model_validate_json((place / _DESCRIPTION).read_bytes())
        found: Mapping[str, tuple[int, int, int]] = {
            name: _look(place / name) for name in state.files
        }
    except (OSError, ValidationError) as error:
        raise MachineError(f"the saved state {place} cannot be read: {error}") from error
    if state.machine != machine:
        raise MachineError(f"the saved state {place} is of another machine: save it again")
    changed = [name for name in (_DISK, _MEMORY) if found.get(name) != state.files.get(name)]
    if changed:
        raise MachineError(f"the saved state {place} was changed ({', '.join(changed)})")
    return place / _DISK, place / _MEMORY


def _look(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_size, found.st_ino, found.st_mtime_ns
