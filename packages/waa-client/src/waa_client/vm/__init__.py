"""The HTTP API of the server inside a WAA virtual machine: one call per route, and two clients."""

from __future__ import annotations

from waa_client.vm.answers import (
    ActionOutcome,
    CommandOutcome,
    DirectoryEntry,
    Picture,
    ServerInfo,
    SetupOutcome,
    WindowView,
)
from waa_client.vm.client import SyncVmClient, VmClient, VmOptions, vm_url
from waa_client.vm.wire import Answer, Call

__all__ = [
    "ActionOutcome",
    "Answer",
    "Call",
    "CommandOutcome",
    "DirectoryEntry",
    "Picture",
    "ServerInfo",
    "SetupOutcome",
    "SyncVmClient",
    "VmClient",
    "VmOptions",
    "WindowView",
    "vm_url",
]
