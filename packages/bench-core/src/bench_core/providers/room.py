"""Free disk and memory of a container engine, and its images and volumes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from bench_core.providers.engine import Engine
from bench_core.records import Record

_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


class EngineRoom(Record):
    """A container engine's resources.

    Attributes:
        folder: Folder with its images, containers and volumes.
        disk_free: Bytes that are free there; None if the folder is on another computer or in a VM.
        memory: Bytes of memory of the engine's computer.
        memory_free: Bytes of it that are free; None if unknown.
        there: The requested images and volumes that it has.
    """

    folder: str
    disk_free: int | None = None
    memory: int
    memory_free: int | None = None
    there: frozenset[str] = frozenset()


async def engine_room(
    images: Iterable[str] = (),
    volumes: Iterable[str] = (),
    *,
    engine: Engine | None = None,
    meminfo: Path = Path("/proc/meminfo"),
) -> EngineRoom:
    """Ask an engine for its resources.

    Args:
        images: Names of images to look for.
        volumes: Names of volumes to look for.
        engine: By default the one that `engine_socket` finds.
        meminfo: The kernel's file.

    Raises:
        MachineError: The engine does not answer.
    """
    asked = engine or Engine()
    info = await asked.ask("GET", "/info")
    paths = {f"/images/{each}/json": each for each in images}
    paths |= {f"/volumes/{each}": each for each in volumes}
    there = [name for path, name in paths.items() if not await asked.missing(path)]
    folder = str(info["DockerRootDir"])
    room = EngineRoom(folder=folder, memory=int(info["MemTotal"]), there=frozenset(there))
    try:
        # images are elsewhere where containerd keeps them, but as a rule on the same disk
        disk_free = shutil.disk_usage(folder).free
    except OSError:  # Docker Desktop runs in a VM, whose memory is not this computer's either
        return room
    return room.model_copy(update={"disk_free": disk_free, "memory_free": _memory_free(meminfo)})


def _memory_free(meminfo: Path) -> int | None:
    try:
        found = _AVAILABLE.search(meminfo.read_text(encoding="ascii"))
    except OSError:
        return None
    return None if found is None else int(found[1]) * 1024
