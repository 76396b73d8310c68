"""The HTTP API of the server inside a WAA virtual machine: one call per route, and two clients."""

from __future__ import annotations

from waa_client.vm.answers import (
    ActionOutcome,
    CommandOutcome,
    DirectoryEntry,
    ServerInfo,
    SetupOutcome,
    VmPicture,
    WindowView,
)
from waa_client.vm.client import SyncVmClient, VmClient, VmOptions, vm_url
from waa_client.vm.wire import VmAnswer, VmCall

__all__ = [
    "ActionOutcome",
    "CommandOutcome",
    "DirectoryEntry",
    "ServerInfo",
    "SetupOutcome",
    "SyncVmClient",
    "VmAnswer",
    "VmCall",
    "VmClient",
    "VmOptions",
    "VmPicture",
    "WindowView",
    "vm_url",
]
