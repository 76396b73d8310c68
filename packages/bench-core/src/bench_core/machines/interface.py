"""The two interfaces behind machines: one for callers, one for authors of a backend, such as a cloud.

A `Provider` has seven calls. `JournaledProvider` has them on top of any `Backend`, which only creates,
lists and removes: leases, the journal, adoption, quarantine and the reaper are then the same
everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bench_core.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pydantic import JsonValue

    from bench_core.machines.records import Found, Health, Machine, Reaped


class MachineError(EnvironmentFaultError):
    """A machine could not be started, does not answer, or could not be reset."""


class MachineBusyError(MachineError):
    """The machine of `key` is held by the live owner `owner`."""

    def __init__(self, key: str, owner: str) -> None:
        self.key = key
        self.owner = owner
        super().__init__(
            f"the machine of {key!r} is held by {owner}: wait until that ends, or use another key"
        )


class LostMachineError(MachineError):
    """The machine `name` is no longer its caller's: removed, replaced, or adopted by another."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the machine {name!r} is lost: {reason}; start one of that key again")


class QuarantinedError(MachineError):
    """The machine `name` is not proven clean: nothing runs on it, and `start` replaces it."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the machine {name!r} is quarantined: {reason}; `start` replaces it")


class NameTakenError(MachineError):
    """Something called `name` exists already; it may be ours or not."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"something called {name!r} exists already")


@runtime_checkable
class Provider(Protocol):
    """Machines that start, reset to a known state, and are never left behind."""

    name: str

    async def start(self, key: str, spec: Mapping[str, JsonValue]) -> Machine:
        """Return the machine of `key`: the running one if it is ours or free, else a new one.

        Raises:
            InputError: The specification cannot be used.
            MachineBusyError: A live owner holds it.
            QuarantinedError: It started and never became healthy.
            MachineError: It was not started; remains of the attempt are reaped.
        """
        ...

    async def health(self, machine: Machine) -> Health:
        """Look at the machine; faults are reported in the answer, not raised.

        Raises:
            LostMachineError: It is no longer the caller's.
        """
        ...

    async def snapshot(self, machine: Machine, tag: str) -> None:
        """Save the machine's state as `tag`.

        Raises:
            InputError: This provider saves no states, or the tag is not a valid name.
            LostMachineError: It is no longer the caller's.
            MachineError: The state was not saved.
        """
        ...

    async def reset(self, machine: Machine, tag: str = "initial") -> Machine:
        """Bring the machine back to `tag`; return it, with new addresses, once it is proven clean.

        Raises:
            QuarantinedError: It is not proven clean; it may not be used, `start` replaces it.
            LostMachineError: It is no longer the caller's.
        """
        ...

    async def stop(self, machine: Machine) -> None:
        """Remove the machine and all its parts; a machine that is already gone is not an error.

        Raises:
            MachineBusyError: Another live owner has adopted it.
            MachineError: The machine is still there.
        """
        ...

    async def list(self, owner: str | None = None) -> Sequence[Machine]:
        """Return what is there or should be, of all owners or of one, by key and generation."""
        ...

    async def reap(self, now: datetime | None = None) -> Reaped:
        """Remove the machines whose owners are gone and machines that no journal records; leave all others."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Creates, lists and removes machines; keeps no records of its own.

    Attributes:
        name: The provider's name for users.
        begins_anew: Whether a reset ends the old instance (a process, a container) and begins another.
        saves: Whether it saves states other than the initial one.
    """

    name: str
    begins_anew: bool
    saves: bool

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Refuse a specification that cannot be used.

        Raises:
            InputError: The specification cannot be used; the message says why.
        """
        ...

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Create and start a machine that carries `labels` on all its parts; need not be ready.

        Raises:
            NameTakenError: There is one of that name, with or without our labels.
            MachineError: It was not created, or the outcome is unknown.
        """
        ...

    async def find(self) -> Sequence[Found]:
        """Return all machines, including the remains of any."""
        ...

    async def remove(self, name: str) -> None:
        """Remove a machine and all its parts; one that is gone already is fine.

        Raises:
            MachineError: Some part of it is still there.
        """
        ...

    async def health(self, name: str) -> Health:
        """Look at a machine once, in seconds; raises no errors itself."""
        ...

    async def instance(self, name: str) -> str:
        """Return a text that changes whenever the machine begins anew; empty if unknown.

        Asked only where `begins_anew`.

        Raises:
            MachineError: The machine is gone, or does not answer.
        """
        ...

    async def soil(self, name: str, mark: str) -> None:
        """Write `mark` to a place that only a reset clears, to detect a reset without effect.

        Raises:
            MachineError: It could not be written.
        """
        ...

    async def save(self, name: str, tag: str) -> None:
        """Save the state of a machine.

        Raises:
            MachineError: It was not saved.
        """
        ...

    async def restore(self, name: str, tag: str) -> Found:
        """Bring a machine back to a saved state, or to `initial`; need not be ready.

        Raises:
            MachineError: It was not restored, or the outcome is unknown.
        """
        ...
