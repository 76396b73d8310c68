"""Backends for machines: processes of this computer, virtual machines of QEMU, containers.

They are found by name through the entry points `bench_core.providers`; see `bench_core.machines`. The rest is
for whoever writes another one whose machines are asked over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.providers.attached import AttachedBackend, AttachSpec
    from bench_core.providers.docker import DockerBackend
    from bench_core.providers.docker_spec import DockerSpec
    from bench_core.providers.guest import (
        GuestSpec,
        check_clock,
        guest_findings,
        mark_of,
        set_clock,
        soil,
        state_digest,
    )
    from bench_core.providers.probes import Probe, ask
    from bench_core.providers.process import ProcessBackend
    from bench_core.providers.qemu import QemuBackend
    from bench_core.providers.qemu_spec import QemuSpec
    from bench_core.providers.room import EngineRoom, engine_room
    from bench_core.providers.specs import read_spec

__all__ = [
    "AttachSpec",
    "AttachedBackend",
    "DockerBackend",
    "DockerSpec",
    "EngineRoom",
    "GuestSpec",
    "Probe",
    "ProcessBackend",
    "QemuBackend",
    "QemuSpec",
    "ask",
    "check_clock",
    "engine_room",
    "guest_findings",
    "mark_of",
    "read_spec",
    "set_clock",
    "soil",
    "state_digest",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "attached": ("AttachSpec", "AttachedBackend"),
        "docker": ("DockerBackend",),
        "docker_spec": ("DockerSpec",),
        "guest": (
            "GuestSpec",
            "check_clock",
            "guest_findings",
            "mark_of",
            "set_clock",
            "soil",
            "state_digest",
        ),
        "probes": ("Probe", "ask"),
        "process": ("ProcessBackend",),
        "qemu": ("QemuBackend",),
        "qemu_spec": ("QemuSpec",),
        "room": ("EngineRoom", "engine_room"),
        "specs": ("read_spec",),
    },
)
