"""The machines of all providers in one folder: list them, reap them, stop them by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench_core.discovery import find_plugins
from bench_core.errors import InputError, MissingExtraError
from bench_core.machines.interface import MachineError
from bench_core.machines.leases import Leases, Owner
from bench_core.machines.opening import machine_folder, open_provider
from bench_core.machines.provider import JournaledProvider
from bench_core.machines.records import Machine, Reaped

# an engine that is off, or a package that only its provider needs
_CANNOT_BE_ASKED = (MachineError, MissingExtraError, OSError)


async def list_machines(
    folder: Path | None = None, *, provider: str | None = None, owner: str | None = None
) -> list[Machine]:
    """Return machines that exist or should exist, of every provider, by provider, key and generation.

    Args:
        folder: Folder of the journal; `machine_folder()` by default.
        provider: Only this one; by default all that are installed.
        owner: Only machines that it holds.

    Raises:
        MachineError: A provider that has machines cannot be asked.
    """
    found: list[Machine] = []
    for each in _providers(folder, provider):
        try:
            found += await each.list(owner)
        except _CANNOT_BE_ASKED:  # noqa: PERF203  # one engine that is off hides no other
            if provider is not None or _has_machines(each):
                raise
    return found


async def reap_machines(
    folder: Path | None = None, *, provider: str | None = None
) -> dict[str, Reaped]:
    """Remove machines without a live owner; return the results by provider.

    Args:
        folder: Folder of the journal; `machine_folder()` by default.
        provider: Only this one; by default all that are installed.
    """
    found: dict[str, Reaped] = {}
    for each in _providers(folder, provider):
        try:
            found[each.name] = await each.reap()
        except _CANNOT_BE_ASKED as error:  # noqa: PERF203  # same
            if provider is not None or _has_machines(each):
                found[each.name] = Reaped(failed={"": f"the provider cannot be asked: {error}"})
    return found


async def stop_machines(
    names: Sequence[str], folder: Path | None = None, *, even_held: bool = False
) -> list[Machine]:
    """Stop machines by name or key, and return them.

    Args:
        names: Names or keys, as `list_machines` gives them.
        folder: Folder of the journal; `machine_folder()` by default.
        even_held: Those of live owners, too; a program that works on one loses it. Machines kept for
            later, by no program, are stopped without it.

    Raises:
        InputError: The machine is unknown; none was stopped.
        MachineBusyError: A live owner holds it.
        MachineError: Some machines are still there.
    """
    providers = {each.name: each for each in _providers(folder, None)}
    there = await list_machines(folder)
    chosen: dict[str, Machine] = {}
    for name in names:
        called_so = [each for each in there if name in {each.name, each.key}]
        if not called_so:
            raise InputError(f"no machine is called {name!r}: {_known(there)}")
        chosen |= {each.name: each for each in called_so}
    for each in chosen.values():
        provider = providers[each.provider]
        # machines that no journal records may have no owner
        lease = provider.leases.read(each.owner) if each.owner else None
        kept_for_later = lease is not None and lease.pid is None
        await provider.stop(each, even_held=even_held or kept_for_later)
    return list(chosen.values())


def _known(there: Sequence[Machine]) -> str:
    if not there:
        return "there are none"
    return "there are " + ", ".join(sorted({each.name for each in there}))


def _providers(folder: Path | None, name: str | None) -> list[JournaledProvider]:
    place = folder or machine_folder()
    owner = Owner(Leases(place))  # not renewed: listing machines does not hold any
    names = [name] if name is not None else [each.name for each in find_plugins("provider")]
    return [open_provider(each, owner, place) for each in dict.fromkeys(names)]


def _has_machines(provider: JournaledProvider) -> bool:
    return any(not each.ended for each in provider.journal.entries(provider.name).values())
