"""The specification of a QEMU virtual machine, and its command line."""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import PositiveInt  # pydantic reads annotations

from bench_core.providers.guest import GuestSpec

_PORT = re.compile(r"\{port:(\d+)\}")


class QemuSpec(GuestSpec):
    """A virtual machine of QEMU and the requests to its guest.

    Attributes:
        disk: The image that all machines of this kind share; it is only read.
        disk_format: Its format.
        memory_mb: Of the guest.
        cpus: Of the guest.
        accelerator: `kvm`, or `tcg` without it, many times slower.
        arguments: More of QEMU's arguments.
        program: QEMU itself.
    """

    disk: str
    disk_format: Literal["qcow2", "raw"] = "qcow2"
    memory_mb: PositiveInt = 1024
    cpus: PositiveInt = 1
    accelerator: Literal["kvm", "tcg"] = "kvm"
    arguments: tuple[str, ...] = ()
    program: str = "qemu-system-x86_64"


def guest_ports(spec: QemuSpec) -> list[str]:
    """Return the guest's ports that must be reachable."""
    probes = (spec.state, spec.soil, spec.mark, spec.set_clock, spec.clock)
    texts = [*spec.urls.values(), *(each.url for each in probes if each is not None)]
    return sorted({port for text in texts for port in _PORT.findall(text)}, key=int)


def machine_uuid(nonce: str) -> str:
    """Return the UUID by which a QEMU process identifies its machine."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, nonce))


def same_machine(spec: QemuSpec) -> str:
    """Return a digest of the machine and its image, which must be equal for a saved state to load."""
    # another QEMU may have another machine by the same name
    files = [Path(each).stat() for each in (spec.disk, shutil.which(spec.program)) if each]
    text = f"{spec.model_dump_json()}\0{[(each.st_size, each.st_mtime_ns) for each in files]}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def qemu_command(
    spec: QemuSpec, nonce: str, ports: Mapping[str, str], memory: Path | None
) -> list[str]:
    """Return the command that starts a machine in the folder of its overlay `disk.qcow2`.

    Args:
        spec: The machine.
        nonce: Whose it is.
        ports: The port of this computer for each of the guest's.
        memory: A saved memory to begin with; it then waits for `cont`. None boots.
    """
    # on loopback alone: servers of the guest answer whoever reaches them
    forwards = "".join(f",hostfwd=tcp:127.0.0.1:{ports[guest]}-:{guest}" for guest in ports)
    command = [
        spec.program, "-nodefaults", "-display", "none", "-uuid", machine_uuid(nonce),
        "-accel", spec.accelerator, "-m", str(spec.memory_mb), "-smp", str(spec.cpus),
        "-qmp", "unix:qmp.sock,server=on,wait=off",
        "-drive", "file=disk.qcow2,format=qcow2,if=virtio,discard=unmap",
        "-netdev", f"user,id=net{forwards}", "-device", "virtio-net-pci,netdev=net,romfile=",
        *spec.arguments,
    ]  # fmt: skip
    if memory is None:
        return command
    if _takes_files(spec.program):
        return [*command, "-S", "-incoming", f"file:{memory}"]
    # a file that is open already is read five times as fast as through a program
    opened = ["/bin/sh", "-c", 'exec 3< "$1"; shift; exec "$@"', "sh", str(memory)]
    return [*opened, *command, "-S", "-incoming", "fd:3"]


@functools.cache
def _takes_files(program: str) -> bool:
    """Whether QEMU begins with a memory by its path: since 8.2, which deprecates open files."""
    shown = subprocess.run([program, "-help"], capture_output=True, text=True, check=False)  # noqa: S603  # the user's own program
    return "-incoming file:" in shown.stdout
