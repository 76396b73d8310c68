"""VMs that a provider starts for a run, brings back to their start before each trial, and removes.

A VM that is not proven clean after its reset is replaced, while the others go on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from bench_core.discovery import find_plugins
from bench_core.errors import InputError
from bench_core.machines import (
    Leases,
    MachineBusyError,
    MachineError,
    Owner,
    machine_folder,
    open_provider,
    spec_digest,
)
from bench_core.scheduling import NoLocks
from waa_client.pool import VmPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.machines import JournaledProvider
    from bench_core.machines import Machine as Provided
    from bench_core.records import Task
    from waa_client.pool import Machine

__all__ = ["ProvidedVms", "provided_vms", "read_vm_spec"]

_log = logging.getLogger(__name__)
_ASKED = re.compile(r"([a-z][a-z0-9_-]*):([1-9][0-9]{0,2})")
_BUILT_IN: Mapping[str, JsonValue] = {"world": "waa"}
_TRIES = 3
_OTHER_RUNS = 100


def provided_vms(vms: Sequence[str]) -> tuple[str, int] | None:
    """Return which provider is to start how many VMs; None for addresses of VMs.

    >>> provided_vms(["process:3"])
    ('process', 3)
    >>> provided_vms(["vm2:5001"])
    """
    found = _ASKED.fullmatch(vms[0]) if len(vms) == 1 else None
    if found is None or found[1] not in {each.name for each in find_plugins("provider")}:
        return None
    return found[1], int(found[2])


def read_vm_spec(path: Path | None, provider: str) -> dict[str, JsonValue]:
    """Return what a provider's VMs are asked to be: a JSON file, or the simulated desktop.

    Raises:
        InputError: It is missing, or no JSON object.
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
        raise InputError(f"{path} is no JSON object")
    return found


class ProvidedVms:
    """A source of VMs for trials: those of a provider, each reset before each trial.

    Args:
        provider: Its name, or its reference `module:name`.
        count: How many VMs.
        spec: What each is asked to be; its address `vm` is WAA's server, `evaluate` the evaluator.
        folder: Where machines are written down; that of this user by default.
        settings: Of the provider.
    """

    def __init__(
        self,
        provider: str,
        count: int,
        spec: Mapping[str, JsonValue],
        *,
        folder: Path | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._name, self._count, self._spec = provider, count, spec
        self._folder = folder or machine_folder()
        self._settings = dict(settings or {})
        # it takes turns among the numbers of VMs; the provider excludes other processes
        self._pool = VmPool([str(slot) for slot in range(count)], NoLocks())
        self._there: dict[int, Provided] = {}
        self._opened: JournaledProvider | None = None

    @asynccontextmanager
    async def lease(self, task: Task) -> AsyncIterator[Machine]:
        """Reserve a VM that was just reset, for the time of the block; wait until one is free.

        Raises what the block raises.

        Raises:
            MachineError: No VM started and was proven clean, after several tries.
            InputError: The provider cannot make what is asked for.
        """
        async with self._pool.lease(task) as machine:
            urls = (await self._clean(int(machine.url))).urls
            if "vm" not in urls:
                raise InputError(f"the VMs of {self._name!r} need an address `vm`: {dict(urls)}")
            # connections of an earlier trial may hang after a reset: each trial makes its own
            machine.url, machine.evaluator = urls["vm"].rstrip("/"), urls.get("evaluate")
            yield machine

    def stop(self) -> None:
        """Remove the VMs; those that cannot be removed are left to `bench-core machines reap`."""
        if self._opened is None:
            return
        try:
            # the caller's thread may have a loop that runs
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, self._opened.stop_all()).result()
        except (MachineError, OSError) as error:  # the run is over and its results are kept
            _log.warning("VMs are left, which `bench-core machines reap` removes: %s", error)
        finally:
            self._opened.owner.close()
            self._opened = None
            self._there.clear()

    async def _clean(self, slot: int) -> Provided:
        """Return the VM of a slot as it was at its start; another one where it cannot be reset."""
        for _ in range(_TRIES - 1):
            with suppress(MachineError):
                return await self._reset(slot)
        return await self._reset(slot)

    async def _reset(self, slot: int) -> Provided:
        # without an entry `start` adopts, or replaces what may not be used any more
        machine = self._there.pop(slot, None) or await self._start(slot)
        self._there[slot] = await self._provider().reset(machine)
        return self._there[slot]

    async def _start(self, slot: int) -> Provided:
        digest = spec_digest(self._spec)[:8]
        for other in range(_OTHER_RUNS):
            number = slot + other * self._count
            try:
                return await self._provider().start(f"waa-{digest}/vm-{number}", self._spec)
            except MachineBusyError:  # another run's
                continue
        raise MachineError(
            f"{_OTHER_RUNS} runs hold VMs of this kind: see `bench-core machines list`"
        )

    def _provider(self) -> JournaledProvider:
        if self._opened is None:
            owner = Owner(Leases(self._folder))
            self._opened = open_provider(self._name, owner, self._folder, **self._settings)
            owner.keep_renewing()
        return self._opened
