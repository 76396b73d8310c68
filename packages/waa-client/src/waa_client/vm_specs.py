"""Specifications of WAA's VMs: how its server shows a guest's state, takes a mark, sets the clock.

WAA's server runs a program by `POST /execute`. The programs here print a guest's state; that they
work was seen on Linux, and *not verified on Windows*.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, PositiveInt

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import Record

_SERVER = "http://127.0.0.1:{port:5000}"
_EVALUATOR = "http://127.0.0.1:{port:5050}"
_FIRST_PORTS = (5000, 5050)
# the user's own folders, with sizes: tasks and agents change these; programs and the registry are not read
_STATE = (
    "import os; h = os.path.expanduser('~'); "
    "print(sorted((os.path.join(d, f), os.path.getsize(os.path.join(d, f))) "
    "for p in ('Desktop', 'Documents', 'Downloads', 'Music', 'Pictures', 'Videos') "
    "for d, _, names in os.walk(os.path.join(h, p)) for f in names))"
)
_PLACE = "import os; p = os.path.join(os.path.expanduser('~'), 'proctor-mark'); "
_SOIL = _PLACE + "open(p, 'w').write('{mark}')"
_MARK = _PLACE + "print(open(p).read() if os.path.exists(p) else '')"
_CLOCK = "import time; print(time.time())"
_SET_CLOCK = "Set-Date ([DateTimeOffset]::FromUnixTimeSeconds({now}).LocalDateTime)"
# -nodefaults also removes the devices that a desktop needs
_SCREEN = ("-machine", "q35", "-device", "VGA", "-device", "qemu-xhci", "-device", "usb-tablet")
_KVM = ("-cpu", "host,migratable=on")
_GUEST_MB = 8192
_CPUS = 8


class VmWishes(Record):
    """The options of `waa-client vm prepare` for the VMs.

    Attributes:
        disk: For `qemu`: an installed image of Windows, which is only read.
        qmp: For `attached`: the QMP servers; the guest's ports are 5000 and 5050 of this computer for the
            first, 5001 and 5051 for the second.
        image: For `docker`: WAA's image.
        storage: For `docker`: the volume with the installed disk, copied at each start and reset.
        scored: Whether an evaluator answers on port 5050 of the guest, or of this computer.
    """

    disk: str | None = None
    qmp: tuple[str, ...] = ()
    image: str | None = None
    storage: str | None = None
    accelerator: Literal["kvm", "tcg"] = "kvm"
    memory_mb: PositiveInt = _GUEST_MB
    cpus: PositiveInt = _CPUS
    scored: bool = True


def waa_spec(provider: str, wishes: VmWishes) -> dict[str, JsonValue]:
    """Return the specification of WAA's VMs for a provider.

    Raises:
        InputError: Something is missing, or the provider does not offer VMs of WAA.
    """
    makers = {"qemu": _qemu, "attached": _attached, "docker": _docker}
    if provider not in makers:
        raise InputError(
            f"there is no specification of WAA's VMs for {provider!r}: choose from {', '.join(makers)}, or "
            "write one yourself"
        )
    urls: dict[str, JsonValue] = {"vm": f"{_SERVER}/"}
    if wishes.scored:
        urls["evaluate"] = _EVALUATOR
    return {**makers[provider](wishes), "urls": urls}


def write_spec(path: Path, spec: Mapping[str, JsonValue]) -> None:
    """Write a specification as the JSON file that `--vm-spec` reads."""
    write_atomic(path, json.dumps(spec, indent=2).encode() + b"\n")


def _qemu(wishes: VmWishes) -> dict[str, JsonValue]:
    if wishes.disk is None:
        raise InputError("qemu needs --disk FILE: an installed image of Windows")
    arguments = [*_SCREEN, *(_KVM if wishes.accelerator == "kvm" else ())]
    return {
        "disk": wishes.disk, "accelerator": wishes.accelerator, "memory_mb": wishes.memory_mb,
        "cpus": wishes.cpus, "arguments": list(arguments), **_guest(),
    }  # fmt: skip


def _attached(wishes: VmWishes) -> dict[str, JsonValue]:
    if not wishes.qmp:
        raise InputError("attached needs --qmp HOST:PORT for each VM that runs")
    vms: list[JsonValue] = [
        {"qmp": each, "ports": {str(port): str(port + number) for port in _FIRST_PORTS}}
        for number, each in enumerate(wishes.qmp)
    ]
    return {"vms": vms, **_guest()}


def _docker(wishes: VmWishes) -> dict[str, JsonValue]:
    if wishes.image is None or wishes.storage is None:
        raise InputError("docker needs --image NAME and --storage VOLUME: an installed disk")
    return {
        "image": wishes.image,
        "volumes": {"storage": {"path": "/storage", "seed": wishes.storage}},
        "devices": ["/dev/kvm"],
        "capabilities": ["NET_ADMIN"],
        "env": {"RAM_SIZE": f"{wishes.memory_mb // 1024}G", "CPU_CORES": str(wishes.cpus)},
        "ready": {"url": f"{_SERVER}/probe"},
        "state": _program("-c", _STATE),
    }


def _guest() -> dict[str, JsonValue]:
    return {
        "state": _program("-c", _STATE),
        "soil": _program("-c", _SOIL),
        "mark": _program("-c", _MARK),
        "set_clock": _execute("powershell", "-NoProfile", "-Command", _SET_CLOCK),
        "clock": _program("-c", _CLOCK),
        "boot_s": 1800,
    }


def _program(*words: str) -> dict[str, JsonValue]:
    return {**_execute("python", *words), "field": "output"}


def _execute(*words: str) -> dict[str, JsonValue]:
    return {
        "url": f"{_SERVER}/execute",
        "method": "POST",
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"command": list(words), "shell": False}),
    }
