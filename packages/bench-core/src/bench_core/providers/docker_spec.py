"""The specification of a container, and the requests that create it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt

from bench_core.providers.probes import Probe
from bench_core.records import Record

_PORT = re.compile(r"\{port:(\d+)\}")
_MB = 1024 * 1024


class VolumeSpec(Record):
    """A volume that belongs to one machine and is made anew at each reset.

    Attributes:
        path: Its path in the container.
        seed: A volume whose content it begins with, copied by the image's own `cp`; None for the content that the
            image has at `path`.
    """

    path: str = Field(pattern="^/.*[^/]$")
    seed: str | None = None


class DockerSpec(Record):
    """A container.

    Attributes:
        image: An image that the engine has; none is downloaded.
        command: Instead of the image's.
        entrypoint: Instead of the image's.
        env: Variables.
        urls: Addresses of its servers, by name; `{port:N}` is the address of its port N.
        host_ports: The port of this computer for one of the container's; else a free one.
        host_ip: The address of this computer on which ports are published.
        volumes: By name: each machine has its own.
        binds: Folders and volumes that all machines share, as `/here:/there:ro`. A reset leaves them as
            they are.
        devices: Of this computer, such as `/dev/kvm`.
        capabilities: Such as `NET_ADMIN`.
        network: `bridge`, `host`, `none`, or a network that the engine has.
        shm_mb: Size of `/dev/shm`; None for the engine's own default.
        memory_mb: Limit of its memory.
        cpus: Limit of its processors.
        ready: Has to be answered with status 200 before a trial; by default every `http` address has to
            answer with a status below 500.
        begin: Sent in order once after each start and reset, as soon as the container answers.
        begin_s: Seconds for which these are retried.
        state: Requests more of the state that a reset has to restore.
    """

    image: str = Field(min_length=1)
    command: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None
    env: dict[str, str] = Field(default_factory=dict)
    urls: dict[str, str] = Field(default_factory=dict)
    host_ports: dict[str, PositiveInt] = Field(default_factory=dict)
    host_ip: str = "127.0.0.1"
    volumes: dict[str, VolumeSpec] = Field(default_factory=dict)
    binds: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    network: Literal["bridge", "host", "none"] | str = "bridge"  # noqa: PYI051  # those that always exist
    shm_mb: PositiveInt | None = None
    memory_mb: PositiveInt | None = None
    cpus: PositiveFloat | None = None
    ready: Probe | None = None
    begin: tuple[Probe, ...] = ()
    begin_s: PositiveFloat = 300.0
    state: Probe | None = None


def container_ports(spec: DockerSpec) -> list[str]:
    """Return the container's ports that must be reachable."""
    probes = (spec.ready, spec.state, *spec.begin)
    texts = [*spec.urls.values()]
    for each in probes:
        texts += [] if each is None else [each.url, each.body or ""]
    found = {port for text in texts for port in _PORT.findall(text)}
    return sorted(found | set(spec.host_ports), key=int)


def volume_name(machine: str, volume: str) -> str:
    """Return the name of a machine's volume."""
    return f"{machine}-{volume}"


def container_body(
    name: str, spec: DockerSpec, labels: Mapping[str, str], image: str
) -> dict[str, JsonValue]:
    """Return the body of the request that creates the container `name`.

    Args:
        name: Of the machine.
        spec: Its specification.
        labels: For the container.
        image: The image to request: its name, or the id that the name had before.
    """
    published = spec.network not in {"host", "none"}
    ports = [f"{port}/tcp" for port in container_ports(spec)] if published else []
    host: dict[str, JsonValue] = {
        "NetworkMode": spec.network,
        "PortBindings": {
            port: [{"HostIp": spec.host_ip, "HostPort": _host_port(spec, port)}] for port in ports
        },
        "Binds": list(spec.binds),
        "Mounts": [
            {"Type": "volume", "Source": volume_name(name, key), "Target": each.path}
            for key, each in spec.volumes.items()
        ],
        "Devices": [
            {"PathOnHost": each, "PathInContainer": each, "CgroupPermissions": "rwm"}
            for each in spec.devices
        ],
        "CapAdd": list(spec.capabilities),
    }
    if spec.shm_mb is not None:
        host["ShmSize"] = spec.shm_mb * _MB
    if spec.memory_mb is not None:
        host["Memory"] = spec.memory_mb * _MB
    if spec.cpus is not None:
        host["NanoCpus"] = int(spec.cpus * 1e9)
    body: dict[str, JsonValue] = {
        "Image": image,
        "Env": [f"{key}={value}" for key, value in spec.env.items()],
        "Labels": dict(labels),
        "ExposedPorts": {port: {} for port in ports},
        "HostConfig": host,
    }
    if spec.command is not None:
        body["Cmd"] = list(spec.command)
    if spec.entrypoint is not None:
        body["Entrypoint"] = list(spec.entrypoint)
    return body


def _host_port(spec: DockerSpec, port: str) -> str:
    given = spec.host_ports.get(port.partition("/")[0])
    # for an empty port, the engine chooses a free one
    return "" if given is None else str(given)
