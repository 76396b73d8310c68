"""WAA's VM as others see it: its HTTP API, its state as a file, and how a VM that is none says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.vm.client import BodyStore, VmHttp, VmResponse, VmTransportError, vm_address
    from waa_server_ext.vm.exchanges import Body, Exchange
    from waa_server_ext.vm.local_server import LocalServer
    from waa_server_ext.vm.state import VmState

__all__ = [
    "Body",
    "BodyStore",
    "Exchange",
    "LocalServer",
    "VmHttp",
    "VmResponse",
    "VmState",
    "VmTransportError",
    "vm_address",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "client": ("BodyStore", "VmHttp", "VmResponse", "VmTransportError", "vm_address"),
        "exchanges": ("Body", "Exchange"),
        "local_server": ("LocalServer",),
        "state": ("VmState",),
    },
)
