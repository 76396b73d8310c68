"""Backends for machines: processes of this computer, virtual machines of QEMU, containers.

They are found by name through the entry points `bench_core.providers`; see `bench_core.machines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.providers.attached import AttachedBackend
    from bench_core.providers.docker import DockerBackend
    from bench_core.providers.process import ProcessBackend
    from bench_core.providers.qemu import QemuBackend

__all__ = ["AttachedBackend", "DockerBackend", "ProcessBackend", "QemuBackend"]

__getattr__ = lazy_exports(
    __name__,
    {
        "attached": ("AttachedBackend",),
        "docker": ("DockerBackend",),
        "process": ("ProcessBackend",),
        "qemu": ("QemuBackend",),
    },
)
