"""Machines that start, reset to a known state, and are never left behind.

A `Provider` starts, resets and removes what trials run on: processes, virtual machines, containers.
`JournaledProvider` is one on top of any `Backend`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.machines.findings import machine_findings
    from bench_core.machines.interface import (
        Backend,
        LostMachineError,
        MachineBusyError,
        MachineError,
        NameTakenError,
        Provider,
        QuarantinedError,
    )
    from bench_core.machines.journal import Journal
    from bench_core.machines.labels import NAMESPACE, NONCE, machine_name
    from bench_core.machines.leases import Leases, Owner
    from bench_core.machines.opening import machine_folder, open_provider
    from bench_core.machines.overview import list_machines, reap_machines, stop_machines
    from bench_core.machines.parts import Waits
    from bench_core.machines.provider import JournaledProvider
    from bench_core.machines.records import (
        INITIAL,
        Finding,
        Found,
        Health,
        JournalLine,
        Lease,
        Machine,
        Reaped,
        spec_digest,
    )

__all__ = [
    "INITIAL",
    "NAMESPACE",
    "NONCE",
    "Backend",
    "Finding",
    "Found",
    "Health",
    "Journal",
    "JournalLine",
    "JournaledProvider",
    "Lease",
    "Leases",
    "LostMachineError",
    "Machine",
    "MachineBusyError",
    "MachineError",
    "NameTakenError",
    "Owner",
    "Provider",
    "QuarantinedError",
    "Reaped",
    "Waits",
    "list_machines",
    "machine_findings",
    "machine_folder",
    "machine_name",
    "open_provider",
    "reap_machines",
    "spec_digest",
    "stop_machines",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "findings": ("machine_findings",),
        "interface": (
            "Backend",
            "LostMachineError",
            "MachineBusyError",
            "MachineError",
            "NameTakenError",
            "Provider",
            "QuarantinedError",
        ),
        "journal": ("Journal",),
        "labels": ("NAMESPACE", "NONCE", "machine_name"),
        "leases": ("Leases", "Owner"),
        "opening": ("machine_folder", "open_provider"),
        "overview": ("list_machines", "reap_machines", "stop_machines"),
        "parts": ("Waits",),
        "provider": ("JournaledProvider",),
        "records": (
            "INITIAL",
            "Finding",
            "Found",
            "Health",
            "JournalLine",
            "Lease",
            "Machine",
            "Reaped",
            "spec_digest",
        ),
    },
)
