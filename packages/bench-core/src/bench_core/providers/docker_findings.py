"""Check a container engine for a machine's needs before one is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.machines import Finding
from bench_core.providers.engine import Engine, EngineRefusedError
from bench_core.providers.room import engine_room

if TYPE_CHECKING:
    from bench_core.providers.docker_spec import DockerSpec

_GB = 1e9
_MB = 1024 * 1024
_NOT_FOUND = 404


async def container_findings(engine: Engine, spec: DockerSpec) -> list[Finding]:
    """Return findings on the engine, its room, the image, the seeds of volumes and the devices.

    Raises:
        MachineError: The engine does not answer.
    """
    version = await engine.ask("GET", "/version")
    known = f"{version.get('Version')}, API {version.get('ApiVersion')}"
    found = [Finding(name="engine", status="ok", detail=known), await _room(engine, spec)]
    found.append(await _image(engine, spec.image))
    for each in spec.volumes.values():
        if each.seed is not None and await engine.missing(f"/volumes/{each.seed}"):
            fix = f"`docker volume create {each.seed}`, and fill it"
            detail = f"there is no volume {each.seed!r} to begin with"
            found.append(Finding(name="volume", status="fail", detail=detail, fix=fix))
    for device in spec.devices:
        if not Path(device).exists():  # noqa: ASYNC240  # a device of this computer
            detail = f"there is no {device} on this computer"
            fix = "leave it out, or use a computer that has it"
            found.append(Finding(name="device", status="fail", detail=detail, fix=fix))
    return found


async def _room(engine: Engine, spec: DockerSpec) -> Finding:
    room = await engine_room(engine=engine)
    free = room.memory if room.memory_free is None else room.memory_free
    asked = (spec.memory_mb or 0) * _MB
    detail = f"{free / _GB:.1f} GB of memory are free"
    if room.disk_free is not None:
        detail += f", and {room.disk_free / _GB:.1f} GB of disk in {room.folder}"
    if asked <= free:
        return Finding(name="room", status="ok", detail=detail)
    detail = f"a container may take {asked / _GB:.1f} GB of memory; {detail}"
    return Finding(name="room", status="warn", detail=detail, fix="end other programs")


async def _image(engine: Engine, image: str) -> Finding:
    try:
        described = await engine.ask("GET", f"/images/{image}/json")
    except EngineRefusedError as error:
        if error.status != _NOT_FOUND:
            raise
        fix = f"`docker pull {image}`"
        return Finding(name="image", status="fail", detail=f"there is no {image!r}", fix=fix)
    size = f"{int(described.get('Size', 0)) / _GB:.1f} GB"
    return Finding(name="image", status="ok", detail=f"{image}, {size}")
