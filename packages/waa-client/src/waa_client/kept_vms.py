"""VMs of a provider by number: kept for later runs, saved, reset and measured by name."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pydantic import JsonValue, NonNegativeFloat

from bench_core.errors import InputError
from bench_core.machines import (
    INITIAL,
    JournaledProvider,
    Lease,
    Leases,
    Machine,
    MachineBusyError,
    MachineError,
    Owner,
    Waits,
    list_machines,
    machine_folder,
    open_provider,
    spec_digest,
)
from bench_core.records import Record

_OTHER_RUNS = 100
# a Windows booting in a container takes 2 to 5 minutes, longer while others boot
_READY_S = {"docker": 900.0}
_TASKS = 154


def vm_key(spec: Mapping[str, JsonValue], number: int) -> str:
    """Return the journal's key of the VM with a number, the same in all requests for `spec`."""
    return f"waa-{spec_digest(spec)[:8]}/vm-{number}"


def open_vms(
    provider: str, owner: Owner, folder: Path, settings: Mapping[str, Any] | None = None
) -> JournaledProvider:
    """Return the provider with as much patience as Windows needs."""
    waits = Waits(ready_s=_READY_S[provider]) if provider in _READY_S else None
    return open_provider(provider, owner, folder, waits=waits, **(settings or {}))


async def start_vm(
    provider: JournaledProvider,
    spec: Mapping[str, JsonValue],
    slot: int,
    count: int,
    kept: dict[str, Lease],
) -> Machine:
    """Start or adopt the VM of a slot, or of another number if another run holds that one.

    If it was kept, its lease is added to `kept` by its key.

    Raises:
        MachineError: It was not started, or very many runs hold VMs.
    """
    for other in range(_OTHER_RUNS):
        key = vm_key(spec, slot + other * count)
        lease = take_over(provider.leases, key)
        try:
            machine = await provider.start(key, spec)
        except MachineBusyError:  # another run's
            continue
        if lease is not None:
            kept[key] = lease
        return machine
    raise MachineError(f"{_OTHER_RUNS} runs hold VMs of this kind: see `bench-core machines list`")


async def start_vms(
    provider: str,
    count: int,
    spec: Mapping[str, JsonValue],
    *,
    hours: float,
    folder: Path | None = None,
) -> list[Machine]:
    """Start VMs that are kept for `hours`, even if this program ends; runs of `spec` use them.

    Raises:
        MachineError: One was not started; those that were are stopped.
    """
    place = folder or machine_folder()
    owners = [
        Owner(Leases(place), kept_owner(vm_key(spec, number)), ttl_s=hours * 3600.0, detached=True)
        for number in range(count)
    ]
    opened = [open_vms(provider, owner, place) for owner in owners]
    # the first of a kind boots and is saved; the others start from its state
    starts = [
        await asyncio.gather(
            *(each.start(vm_key(spec, n), spec) for n, each in part), return_exceptions=True
        )
        for part in (list(enumerate(opened))[:1], list(enumerate(opened))[1:])
    ]
    found = [each for part in starts for each in part]
    failed = [each for each in found if isinstance(each, BaseException)]
    if not failed:
        return [each for each in found if not isinstance(each, BaseException)]
    for each, owner, started in zip(opened, owners, found, strict=True):
        if isinstance(started, MachineBusyError):
            continue  # a run has it, and will return it afterwards
        with contextlib.suppress(MachineError):
            await each.stop_all()
        Leases(place).remove(owner.name)
    raise failed[0]


async def snapshot_vm(name: str, tag: str, folder: Path | None = None) -> Machine:
    """Save the state of a kept VM as `tag`, for `run --reset snapshot:TAG`.

    Raises:
        InputError: The VM does not exist, or its provider does not save states.
        MachineBusyError: A program uses it.
        MachineError: It was not saved.
    """
    provider, machine = await _kept(name, folder)
    await provider.snapshot(machine, tag)
    return machine


async def reset_vm(name: str, tag: str = INITIAL, folder: Path | None = None) -> Machine:
    """Bring a kept VM back to a state, and return it once it is proven clean.

    Raises:
        InputError: The VM or state does not exist.
        MachineBusyError: A program uses it.
        QuarantinedError: It is not proven clean.
    """
    provider, machine = await _kept(name, folder)
    return await provider.reset(machine, tag)


class Measured(Record):
    """The durations of starts and resets of a VM, in seconds.

    Attributes:
        first_start_s: Of the first VM; if a provider saves states and has none yet, this includes booting.
        later_start_s: Of a second one afterwards.
        resets_s: Each reset, until the VM was proven clean.
    """

    provider: str
    first_start_s: NonNegativeFloat
    later_start_s: NonNegativeFloat
    resets_s: tuple[NonNegativeFloat, ...]

    @property
    def text(self) -> str:
        """The numbers in words."""
        median = statistics.median(self.resets_s)
        return (
            f"first start {self.first_start_s:.1f} s, later start {self.later_start_s:.1f} s\n"
            f"{len(self.resets_s)} resets, each proven clean: median {median:.2f} s, "
            f"{min(self.resets_s):.2f} to {max(self.resets_s):.2f} s\n"
            f"one before each of {_TASKS} trials adds {median * _TASKS / 60.0:.1f} minutes"
        )


async def measure_vm(
    provider: str, spec: Mapping[str, JsonValue], times: int, *, folder: Path | None = None
) -> Measured:
    """Start a separate VM, reset it `times` times, stop it, and start another one.

    Raises:
        MachineError: It did not start, or a reset was not proven clean.
    """
    place = folder or machine_folder()
    with Owner(Leases(place)) as owner:
        opened = open_vms(provider, owner, place)
        key = f"{vm_key(spec, 0)}-measured-{owner.name}"
        try:
            began = time.monotonic()
            machine = await opened.start(key, spec)
            first_s = time.monotonic() - began
            resets = []
            for _ in range(times):
                began = time.monotonic()
                machine = await opened.reset(machine)
                resets.append(time.monotonic() - began)
            await opened.stop(machine)
            began = time.monotonic()
            await opened.start(key, spec)
            later_s = time.monotonic() - began
        finally:
            await opened.stop_all()
    return Measured(
        provider=provider, first_start_s=first_s, later_start_s=later_s, resets_s=tuple(resets)
    )


# --- kept VMs that runs use


def kept_owner(key: str) -> str:
    """Return the owner of a kept VM; each has its own, so that a run can take over just one."""
    return f"kept {key}"


def take_over(leases: Leases, key: str) -> Lease | None:
    """Give up the kept VM of `key` for a run that is about to adopt it; None if it is not kept."""
    lease = leases.read(kept_owner(key))
    if lease is not None:
        leases.remove(lease.owner)
    return lease


async def give_back(
    provider: str, key: str, spec: Mapping[str, JsonValue], lease: Lease, folder: Path
) -> None:
    """Keep the VM of `key` again, until its lease ends.

    Raises:
        MachineError: It no longer runs, and another one could not be started.
    """
    left_s = (lease.until - datetime.now(timezone.utc)).total_seconds()
    owner = Owner(Leases(folder), lease.owner, ttl_s=max(1.0, left_s), detached=True)
    await open_vms(provider, owner, folder).start(key, spec)


async def _kept(name: str, folder: Path | None) -> tuple[JournaledProvider, Machine]:
    """Return a VM that is kept, and its provider with its owner.

    Raises:
        InputError: No kept VM has that name or key.
        MachineBusyError: A program uses it.
    """
    place = folder or machine_folder()
    there = await list_machines(place)
    found = [each for each in there if name in {each.name, each.key} and each.state != "ending"]
    if not found:
        known = ", ".join(each.key for each in there) or "none"
        raise InputError(f"no VM is called {name!r}: there are {known}; `waa-client vm start`")
    machine = found[-1]
    if machine.owner != kept_owner(machine.key):
        raise MachineBusyError(machine.key, machine.owner)
    owner = Owner(Leases(place), machine.owner, detached=True)
    return open_vms(machine.provider, owner, place), machine
