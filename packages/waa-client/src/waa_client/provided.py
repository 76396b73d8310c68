"""VMs that a provider starts for a run, resets to a saved state before each trial, and removes.

A VM that is not proven clean after its reset is replaced, while the others go on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench_core.discovery import find_plugins
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.machines import (
    INITIAL,
    JournaledProvider,
    Lease,
    Leases,
    Machine,
    MachineError,
    Owner,
    QuarantinedError,
    machine_folder,
)
from bench_core.records import Task
from bench_core.runs import KeepEvent
from bench_core.scheduling import NoLocks
from waa_client.capabilities import unscored_here
from waa_client.kept_vms import give_back, open_vms, start_vm, vm_key
from waa_client.pool import LeasedVm, VmPool

__all__ = ["ProvidedVms", "provided_vms", "read_vm_spec"]

_log = logging.getLogger(__name__)
_ASKED = re.compile(r"([a-z][a-z0-9_-]*):([1-9][0-9]{0,2})")
_BUILT_IN: Mapping[str, JsonValue] = {"world": "waa"}
_TRIES = 3


def provided_vms(vms: Sequence[str]) -> tuple[str, int] | None:
    """Return the provider of the VMs and their number; None for addresses of VMs.

    >>> provided_vms(["process:3"])
    ('process', 3)
    >>> provided_vms(["vm2:5001"])
    """
    found = _ASKED.fullmatch(vms[0]) if len(vms) == 1 else None
    if found is None or found[1] not in {each.name for each in find_plugins("provider")}:
        return None
    return found[1], int(found[2])


def read_vm_spec(path: Path | None, provider: str) -> dict[str, JsonValue]:
    """Return the specification of a provider's VMs: a JSON file, or the simulated desktop.

    Raises:
        InputError: It is missing, or is not a JSON object.
    """
    if path is None:
        if provider != "process":
            raise InputError(f"--vm {provider}:N needs --vm-spec FILE: what the VMs are")
        return dict(_BUILT_IN)
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is not a JSON object")
    return found


class ProvidedVms:
    """A source of VMs for trials: those of a provider, each reset before each trial.

    VMs that `waa-client vm start` keeps are used first, and kept again afterwards.

    Args:
        provider: Its name, or its reference `module:name`.
        count: How many VMs.
        spec: The specification of each; its address `vm` is WAA's server, `evaluate` the evaluator.
        tag: The state before each trial; another one than the initial state was saved in kept VMs.
        folder: The folder of the machines' journal; that of this user by default.
        settings: Of the provider.
    """

    def __init__(
        self,
        provider: str,
        count: int,
        spec: Mapping[str, JsonValue],
        *,
        tag: str = INITIAL,
        folder: Path | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._name, self._count, self._spec, self._tag = provider, count, spec, tag
        self._folder = folder or machine_folder()
        self._settings = dict(settings or {})
        # hands out the numbers of VMs; the provider excludes other processes
        self._pool = VmPool([str(slot) for slot in range(count)], NoLocks())
        self._there: dict[int, Machine] = {}
        self._kept: dict[str, Lease] = {}
        self._opened: JournaledProvider | None = None
        self._keep: KeepEvent | None = None

    def keep_events(self, keep: KeepEvent | None) -> None:
        """Pass the events of each VM to `keep` from now on; None stops that."""
        self._keep = keep

    def refuse_unsaved(self) -> None:
        """Refuse a state that no kept VM has.

        Raises:
            InputError: No kept VM has the state.
        """
        if self._tag == INITIAL:
            return
        provider = open_vms(self._name, Owner(Leases(self._folder)), self._folder, self._settings)
        entries = provider.journal.entries(provider.name).values()
        kind = vm_key(self._spec, 0).partition("/")[0]
        of_kind = [each for each in entries if each.usable and each.last.key.startswith(kind)]
        if not any(each.digest_of(self._tag) for each in of_kind):
            raise InputError(
                f"no VM that is kept has the state {self._tag!r}: start some with `waa-client vm start`, and "
                f"save it in each with `waa-client vm snapshot NAME {self._tag}`"
            )

    @asynccontextmanager
    async def lease(self, task: Task) -> AsyncIterator[LeasedVm]:
        """Reserve a VM that was just reset, for the time of the block; wait until one is free.

        Errors of the block pass through.

        Raises:
            MachineError: No VM started and was proven clean, after several tries.
            InputError: The provider cannot make the specified VMs.
        """
        async with self._pool.lease(task) as machine:
            slot = int(machine.url)
            urls = (await self._clean(slot)).urls
            if "vm" not in urls:
                raise InputError(f"the VMs of {self._name!r} need an address `vm`: {dict(urls)}")
            # connections of an earlier trial may hang after a reset: each trial opens its own
            machine.url, machine.evaluator = urls["vm"].rstrip("/"), urls.get("evaluate")
            machine.restored = True
            try:
                yield machine
            except EnvironmentFaultError as fault:
                self._report(slot, "failed", task=task.task_id, reason=str(fault))
                raise
            if machine.fault is not None:
                self._report(slot, "failed", task=task.task_id, reason=str(machine.fault))

    def unscored(self, tasks: Sequence[Task]) -> str | None:
        """Say why some tasks could get no score: the VMs have no evaluator, or the desktop's lacks parts."""
        if self._spec.get("world"):
            return unscored_here(tasks)
        urls = self._spec.get("urls")
        if isinstance(urls, dict) and "evaluate" in urls:
            return None
        return (
            "no trial would have a score, and none can be scored afterwards: name the address of the evaluator as "
            "`evaluate` in `urls` of --vm-spec"
        )

    def stop(self) -> None:
        """Remove the VMs except kept ones; any that cannot be removed are left to the reaper."""
        if self._opened is None:
            return
        try:
            # the caller's thread may have a running loop
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, self._end(self._opened)).result()
        except (MachineError, OSError) as error:  # the run is over and its results are kept
            _log.warning("VMs are left, which `bench-core machines reap` removes: %s", error)
        finally:
            self._opened.owner.close()
            self._opened = None
            self._there.clear()

    async def _end(self, provider: JournaledProvider) -> None:
        try:
            await provider.stop_all(keep=self._kept)
        finally:
            provider.owner.close()
            for key, lease in self._kept.items():
                await give_back(self._name, key, self._spec, lease, self._folder)

    async def _clean(self, slot: int) -> Machine:
        """Return the VM of a slot in its saved state; another one if it cannot be reset."""
        for _ in range(_TRIES - 1):
            with suppress(MachineError):
                return await self._reset(slot)
        return await self._reset(slot)

    async def _reset(self, slot: int) -> Machine:
        # without an entry, `start` adopts a VM, or replaces one that must not be used again
        machine = self._there.pop(slot, None) or await self._start(slot)
        began = time.monotonic()
        try:
            again = await self._provider().reset(machine, self._tag)
        except InputError as error:  # a replacement would have none of the states saved in this VM
            self._report(slot, "not reset", vm=machine.name, reason=str(error))
            raise MachineError(str(error)) from error
        except MachineError as error:
            what = "quarantined" if isinstance(error, QuarantinedError) else "lost"
            self._report(slot, what, vm=machine.name, reason=str(error))
            raise
        self._there[slot] = again
        self._report(slot, "reset", seconds=round(time.monotonic() - began, 3))
        return again

    async def _start(self, slot: int) -> Machine:
        began = time.monotonic()
        try:
            machine = await start_vm(self._provider(), self._spec, slot, self._count, self._kept)
        except MachineError as error:
            self._report(slot, "not started", vm=None, reason=str(error))
            raise
        seconds = round(time.monotonic() - began, 3)
        kept = machine.key in self._kept
        self._report(slot, "started", vm=machine.name, seconds=seconds, kept=kept)
        return machine

    def _report(self, slot: int, what: str, **data: JsonValue) -> None:
        if self._keep is not None:
            there = self._there.get(slot)
            name = {} if "vm" in data or there is None else {"vm": there.name}
            self._keep("vm", {"slot": slot, "what": what, **name, **data})

    def _provider(self) -> JournaledProvider:
        if self._opened is None:
            owner = Owner(Leases(self._folder))
            self._opened = open_vms(self._name, owner, self._folder, self._settings)
            owner.keep_renewing()
        return self._opened
