"""Machines that are containers of Docker or Podman, asked over the engine's socket.

A reset removes the container and its volumes, and creates them again from the image. The containers
carry their specification in their labels: nothing about them is in files.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from bench_core.errors import InputError
from bench_core.machines import Finding, Found, Health, MachineError, NameTakenError
from bench_core.machines.labels import NONCE
from bench_core.providers.docker_findings import container_findings
from bench_core.providers.docker_spec import (
    DockerSpec,
    container_body,
    container_ports,
    volume_name,
)
from bench_core.providers.engine import Engine, EngineRefusedError
from bench_core.providers.probes import answers, ask, filled
from bench_core.providers.specs import read_spec
from bench_core.records import Record

_MACHINE = "proctor.machine"
_ASKED = "proctor.asked"
_MARK = ".proctor-mark"
_ANSWER_S = 10.0
_POLL_S = 0.2
_TRIES = 50
_GONE = 404
_CONFLICT = 409


class _Asked(Record):
    """A container's specification, written on its labels."""

    labels: dict[str, str] = Field(default_factory=dict)
    spec: dict[str, JsonValue] = Field(default_factory=dict)
    image: str = ""


class DockerBackend:
    """A `Backend` whose machines are containers, each with volumes of its own.

    Args:
        folder: Not used; the engine knows all there is.
        socket: Of the engine; by default `$DOCKER_HOST` or the first of the usual ones.
    """

    name = "docker"
    begins_anew = True
    saves = False

    def __init__(self, folder: Path, *, socket: str | None = None) -> None:
        del folder
        self._engine = Engine(None if socket is None else Path(socket))

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Refuse a specification that cannot be used.

        Raises:
            InputError: The specification cannot be used; the message says why.
        """
        read_spec(DockerSpec, spec)

    async def findings(self, spec: Mapping[str, JsonValue]) -> list[Finding]:
        """Return findings on the engine, image, seeds and devices."""
        return await container_findings(self._engine, read_spec(DockerSpec, spec))

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Create volumes and container, start it, and send its first requests.

        Raises:
            NameTakenError: The engine has a container or volume of that name.
            MachineError: It was not created, or the outcome is unknown.
        """
        image = await self._image(read_spec(DockerSpec, spec).image)
        asked = _Asked(labels=dict(labels), spec=dict(spec), image=image)
        await self._make(name, asked)
        return await self._found(name)

    async def find(self) -> Sequence[Found]:
        """Return all machines, and the volumes and helpers that are left of any."""
        containers = await self._containers({"label": [_MACHINE]})
        volumes = await self._volumes({"label": [_MACHINE]})
        found = {each.name: each for each in map(_left, (*volumes, *containers))}
        found |= {each.name: each for each in (_listed(one) for one in containers if _is_main(one))}
        return [found[name] for name in sorted(found)]

    async def remove(self, name: str) -> None:
        """Remove everything with a machine's label: container, helpers and volumes.

        Raises:
            MachineError: Some part of it is still there.
        """
        await self._clear(name)

    async def health(self, name: str) -> Health:
        """Look whether the container runs and its servers answer, and read the mark left in it."""
        try:
            inspected = await self._inspect(name)
            state = inspected["State"]
            labels = _labels(inspected["Config"])
            spec = self._spec(name, labels)
            values = _values(spec, inspected)
        except MachineError as error:
            return Health(ok=False, reason=str(error))
        health = Health(
            ok=False,
            nonce=labels.get(NONCE, ""),
            urls={key: filled(url, values) for key, url in spec.urls.items()},
        )
        reason = _why_down(state)
        if reason is None:
            try:
                found = {
                    "ok": True,
                    "state": await self._digest(labels, spec, values),
                    "soiled": await self._mark(name, spec),
                }
                await _await_ready(spec, values, health.urls.values())
                return health.model_copy(update=found)
            except MachineError as error:
                reason = str(error)
        return health.model_copy(update={"reason": reason})

    async def instance(self, name: str) -> str:
        """Return which container it is, and since when it runs.

        Raises:
            MachineError: It is gone, or the engine does not answer.
        """
        inspected = await self._inspect(name)
        return f"{inspected['Id']} {inspected['State'].get('StartedAt', '')}"

    async def soil(self, name: str, mark: str) -> None:
        """Write `mark` as a file into the container, and into each of its volumes.

        Raises:
            MachineError: It could not be written.
        """
        labels = _labels((await self._inspect(name))["Config"])
        for place in _places(self._spec(name, labels)):
            await self._engine.write_file(name, place, _MARK, mark)

    async def save(self, name: str, tag: str) -> None:
        """Refuse: an engine saves no memory, and an image has no volumes.

        Raises:
            MachineError: Always.
        """
        raise MachineError(
            f"{name!r} was not saved as {tag!r}: a container's memory cannot be saved"
        )

    async def restore(self, name: str, tag: str) -> Found:
        """Remove the container and its volumes, and create them again from the same image.

        Raises:
            MachineError: It was not reset, or the outcome is unknown.
        """
        del tag  # containers have only the initial state
        labels = _labels((await self._inspect(name))["Config"])
        asked = _asked(labels)
        if asked is None:
            raise MachineError(f"{name!r} does not say any more what it was asked to be")
        if await self._engine.missing(f"/images/{asked.image}/json"):
            raise MachineError(f"the image of {name!r} was removed: {asked.image}")
        await self._clear(name)
        await self._make(name, asked)
        return await self._found(name)

    # --- making

    async def _make(self, name: str, asked: _Asked) -> None:
        spec = self._read(asked.spec)
        labels = {**asked.labels, _MACHINE: name, _ASKED: asked.model_dump_json()}
        try:
            await self._make_volumes(name, spec, labels, asked.image)
            image = spec.image if await self._still(spec.image, asked.image) else asked.image
            await self._add(name, container_body(name, spec, labels, image))
            await self._engine.send("POST", f"/containers/{name}/start")
            await self._begin(name, spec)
        except NameTakenError:
            raise
        except MachineError:
            # such as a port that is taken: nothing that never ran is left to be found
            with contextlib.suppress(MachineError):
                await self._clear(name, asked.labels.get(NONCE))
            raise

    async def _add(self, name: str, body: Mapping[str, JsonValue]) -> None:
        try:
            await self._engine.ask("POST", "/containers/create", body=body, name=name)
        except EngineRefusedError as error:
            # podman 4 answers 500
            if error.status == _CONFLICT or "already in use" in error.message:
                raise NameTakenError(name) from error
            raise

    async def _make_volumes(
        self, name: str, spec: DockerSpec, labels: Mapping[str, str], image: str
    ) -> None:
        for key, each in spec.volumes.items():
            body = {"Name": volume_name(name, key), "Labels": dict(labels)}
            made = await self._engine.ask("POST", "/volumes/create", body=body)
            if _labels(made) != dict(labels):  # engines return one that is there already
                raise NameTakenError(volume_name(name, key))
            if each.seed is not None:
                await self._seed(name, volume_name(name, key), each.seed, labels, image)

    async def _seed(
        self, name: str, volume: str, seed: str, labels: Mapping[str, str], image: str
    ) -> None:
        """Copy the volume `seed` into an empty one, by a container that does nothing else."""
        if await self._engine.missing(f"/volumes/{seed}"):  # engines would make an empty one
            raise MachineError(f"there is no volume {seed!r} to begin with")
        helper = f"{volume}-seed"
        body: dict[str, JsonValue] = {
            "Image": image,
            "Entrypoint": ["cp", "-a", "/proctor-seed/.", "/proctor-volume/"],
            "Cmd": [],
            "User": "0",
            "Labels": {**labels, _MACHINE: name, "proctor.part": "seed"},
            "HostConfig": {
                "NetworkMode": "none",
                "Binds": [f"{seed}:/proctor-seed:ro", f"{volume}:/proctor-volume"],
            },
        }
        await self._add(helper, body)
        await self._engine.send("POST", f"/containers/{helper}/start")
        state = await self._state(helper)
        while state["Running"]:
            await asyncio.sleep(_POLL_S)
            state = await self._state(helper)
        if state["ExitCode"]:
            raise MachineError(
                f"the volume {seed!r} was not copied: cp ended with {state['ExitCode']}"
            )
        await self._engine.send("DELETE", f"/containers/{helper}", force=True, v=True)

    async def _begin(self, name: str, spec: DockerSpec) -> None:
        """Send a container's initial requests, each until it is answered."""
        if not spec.begin:
            return
        values = _values(spec, await self._inspect(name))
        deadline = time.monotonic() + spec.begin_s
        for probe in spec.begin:
            while True:
                try:
                    await ask(probe, values, within_s=_ANSWER_S)
                    break
                except MachineError:
                    running = (await self._state(name)).get("Running")
                    if not running or time.monotonic() >= deadline:
                        raise
                await asyncio.sleep(_POLL_S)

    async def _image(self, image: str) -> str:
        try:
            return str((await self._engine.ask("GET", f"/images/{image}/json"))["Id"])
        except EngineRefusedError as error:
            if error.status != _GONE:
                raise
            raise MachineError(
                f"the engine has no image {image!r}: `docker pull {image}` brings it"
            ) from error

    async def _still(self, image: str, known: str) -> bool:
        """Whether a name still refers to the image that a machine began with."""
        try:
            return await self._image(image) == known
        except MachineError:
            return False

    # --- removing

    async def _clear(self, name: str, nonce: str | None = None) -> None:
        label = [f"{_MACHINE}={name}", *([] if nonce is None else [f"{NONCE}={nonce}"])]
        problem: MachineError | None = None
        for _ in range(_TRIES):
            containers = await self._containers({"label": label})
            volumes = await self._volumes({"label": label})
            if not containers and not volumes:
                return
            for each in containers:
                problem = await self._delete("containers", each["Id"]) or problem
            for each in volumes:
                problem = await self._delete("volumes", each["Name"]) or problem
            await asyncio.sleep(0 if problem is None else _POLL_S)
        raise MachineError(f"something of {name!r} is still there: {problem}")

    async def _delete(self, kind: str, which: str) -> MachineError | None:
        """Remove a part; return an error that may pass, e.g. because another reaper removes it, too."""
        try:
            if kind == "containers":
                # kill it at once: anything that it would still write is removed
                with contextlib.suppress(EngineRefusedError):
                    await self._engine.send("POST", f"/containers/{which}/kill")
                await self._engine.send("DELETE", f"/containers/{which}", force=True, v=True)
            else:
                await self._engine.send("DELETE", f"/volumes/{which}")
        except EngineRefusedError as error:
            if error.status == _GONE:
                return None
            if error.status in {_CONFLICT, 500}:
                return error
            raise
        return None

    # --- asking

    async def _inspect(self, name: str) -> Any:
        try:
            found = await self._engine.ask("GET", f"/containers/{name}/json")
        except EngineRefusedError as error:
            if error.status != _GONE:
                raise
            raise MachineError(f"the container {name!r} is gone") from error
        if _labels(found["Config"]).get(_MACHINE) != name:
            raise MachineError(f"the container {name!r} is not a machine of this program")
        return found

    async def _state(self, container: str) -> Any:
        return (await self._engine.ask("GET", f"/containers/{container}/json"))["State"]

    async def _found(self, name: str) -> Found:
        inspected = await self._inspect(name)
        labels = _labels(inspected["Config"])
        spec = self._spec(name, labels)
        values = _values(spec, inspected)
        asked = _asked(labels)
        return Found(
            name=name,
            id=inspected["Id"],
            labels={} if asked is None else asked.labels,
            running=bool(inspected["State"].get("Running")),
            urls={key: filled(url, values) for key, url in spec.urls.items()},
        )

    async def _containers(self, filters: Mapping[str, object]) -> list[Any]:
        found = await self._engine.ask("GET", "/containers/json", all=True, filters=filters)
        return list(found or [])

    async def _volumes(self, filters: Mapping[str, object]) -> list[Any]:
        found = await self._engine.ask("GET", "/volumes", filters=filters)
        return list(found.get("Volumes") or [])

    async def _digest(
        self, labels: Mapping[str, str], spec: DockerSpec, values: Mapping[str, str]
    ) -> str:
        asked = _asked(labels)
        text = "" if asked is None else f"{asked.image}\0{json.dumps(asked.spec, sort_keys=True)}"
        if spec.state is not None:
            text += "\0" + await ask(spec.state, values, within_s=_ANSWER_S)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    async def _mark(self, name: str, spec: DockerSpec) -> str | None:
        for place in _places(spec):
            try:
                return await self._engine.read_file(name, f"{place.rstrip('/')}/{_MARK}")
            except EngineRefusedError as error:  # noqa: PERF203  # the next place is asked only then
                if error.status != _GONE:
                    raise
        return None

    def _spec(self, name: str, labels: Mapping[str, str]) -> DockerSpec:
        asked = _asked(labels)
        if asked is None:
            raise MachineError(f"{name!r} does not say what it was asked to be")
        return self._read(asked.spec)

    def _read(self, spec: Mapping[str, JsonValue]) -> DockerSpec:
        try:
            return read_spec(DockerSpec, spec)
        except InputError as error:  # of another version of this program
            raise MachineError(f"what it was asked to be cannot be read: {error}") from error


def _is_main(container: Mapping[str, Any]) -> bool:
    return "proctor.part" not in _labels(container)


def _labels(described: Mapping[str, Any]) -> dict[str, str]:
    return dict(described.get("Labels") or {})


def _asked(labels: Mapping[str, str]) -> _Asked | None:
    try:
        return _Asked.model_validate_json(labels.get(_ASKED, ""))
    except ValidationError:
        return None


def _listed(container: Mapping[str, Any]) -> Found:
    return _left(container).model_copy(
        update={"id": str(container["Id"]), "running": container.get("State") == "running"}
    )


def _left(part: Mapping[str, Any]) -> Found:
    """Describe a machine by one of its parts."""
    labels = _labels(part)
    asked = _asked(labels)
    return Found(
        name=labels[_MACHINE],
        labels={} if asked is None else asked.labels,
        since=_since(part),
        running=False,
    )


def _since(part: Mapping[str, Any]) -> datetime | None:
    if isinstance(seconds := part.get("Created"), int):
        return datetime.fromtimestamp(seconds, timezone.utc)
    # fractions of a second have up to nine digits, which Python 3.10 does not read
    text = str(part.get("CreatedAt", ""))[:19]
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _values(spec: DockerSpec, inspected: Mapping[str, Any]) -> dict[str, str]:
    """Return where each of the container's ports is reached."""
    if spec.network in {"host", "none"}:
        return {f"port:{port}": port for port in container_ports(spec)}
    bound = inspected.get("NetworkSettings", {}).get("Ports") or {}
    found = {
        f"port:{port}": next((str(each["HostPort"]) for each in bound.get(f"{port}/tcp") or ()), "")
        for port in container_ports(spec)
    }
    return {key: port for key, port in found.items() if port}


def _why_down(state: Mapping[str, Any]) -> str | None:
    if not state.get("Running"):
        return (
            f"the container is {state.get('Status', 'not running')}, "
            f"exit code {state.get('ExitCode')}{', out of memory' if state.get('OOMKilled') else ''}"
        )
    if state.get("Paused"):
        return "the container is paused"
    checked = (state.get("Health") or {}).get("Status")
    return f"its health check says {checked}" if checked in {"starting", "unhealthy"} else None


async def _await_ready(spec: DockerSpec, values: Mapping[str, str], urls: Iterable[str]) -> None:
    if spec.ready is not None:
        await ask(spec.ready, values, within_s=_ANSWER_S)
        return
    for url in urls:
        if url.startswith(("http://", "https://")):
            await answers(url, within_s=_ANSWER_S)


def _places(spec: DockerSpec) -> list[str]:
    """Return where a mark is left: in the container's own files, and in each volume."""
    return ["/", *(each.path for each in spec.volumes.values())]
