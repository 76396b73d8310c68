"""The simulated computer: its files, registry, clock and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.simulate.machine.computer import Machine

__all__ = [
    "Machine",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "computer": ("Machine",),
    },
)
