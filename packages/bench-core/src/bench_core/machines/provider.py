"""A provider with a journal on top of any backend: create-or-adopt, proven resets, a reaper.

Two accounts of running machines are kept: the journal, with a line on the disk before every create and
removal, and the labels on everything that was created. Decisions are made on both, under the
journal's lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from bench_core.errors import InputError
from bench_core.files import FileLock
from bench_core.machines.interface import (
    Backend,
    LostMachineError,
    MachineBusyError,
    MachineError,
    NameTakenError,
    QuarantinedError,
)
from bench_core.machines.journal import Entry, Journal
from bench_core.machines.labels import is_of, is_of_another, machine_labels, machine_name
from bench_core.machines.leases import Leases, Owner
from bench_core.machines.parts import Parts, Waits, as_machine
from bench_core.machines.proof import why_unclean
from bench_core.machines.reaping import FAULTS, reap, survey
from bench_core.machines.records import (
    INITIAL,
    Ending,
    Found,
    Health,
    JournalEvent,
    JournalLine,
    Machine,
    Reaped,
    spec_digest,
)
from bench_core.scheduling import Clock, SystemClock

_TRIES = 4


class JournaledProvider:
    """The seven calls of a `Provider`, on a backend.

    An adopted machine is as its last owner left it: reset it before a trial.

    Args:
        backend: Creates, lists and removes machines.
        folder: The journal and leases; processes that share it see the same machines.
        owner: Holder of the machines started here; its lease must be renewed while machines are used.
        waits: Time limits of each wait.
        clock: Gives the time.
    """

    def __init__(
        self,
        backend: Backend,
        folder: Path,
        owner: Owner,
        *,
        waits: Waits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = backend.name
        self.backend = backend
        self.journal = Journal(folder)
        self.leases = Leases(folder)
        self.owner = owner
        self.waits = waits or Waits()
        self.clock = clock or SystemClock()
        self.parts = Parts(backend, self.journal, self.leases, self.waits, self.clock)

    async def start(self, key: str, spec: Mapping[str, JsonValue]) -> Machine:
        """Return the machine of `key`: the running one if it is ours or free, else a new one.

        Raises:
            InputError: The specification cannot be used.
            MachineBusyError: A live owner holds it.
            QuarantinedError: It started and never became healthy.
            MachineError: It was not started; remains of the attempt are reaped.
        """
        self.backend.check(spec)
        self.owner.renew()
        keys = self.journal.folder / "keys"
        keys.mkdir(exist_ok=True)
        # of two starts of one key at once, the second adopts the machine of the first
        async with FileLock.for_resource(f"{self.name}:{key}", keys):
            adopted = await self._adopt(key, spec_digest(spec))
            return adopted or await self._create(key, spec)

    async def health(self, machine: Machine) -> Health:
        """Look at the machine; faults are reported in the answer, not raised.

        Raises:
            LostMachineError: It is no longer the caller's.
        """
        self._held(machine)
        return await self._look(machine)

    async def snapshot(self, machine: Machine, tag: str) -> None:
        """Save the machine's state as `tag`.

        Raises:
            InputError: The backend saves no states, or `tag` is that of the initial one.
            LostMachineError: It is no longer the caller's.
            MachineError: The state was not saved, or changed while it was.
        """
        self._held(machine)
        if not self.backend.saves or tag == INITIAL:
            raise InputError(
                f"the provider {self.name!r} cannot save the state {tag!r}: "
                f"reset to {INITIAL!r}, which every machine has"
            )
        # a state that changes while it is saved could not be recognized by its digest
        before = await self._look(machine)
        await self.backend.save(machine.name, tag)
        after = await self._look(machine)
        if not after.ok or before.state != after.state:
            raise MachineError(
                f"the state of {machine.name!r} was not saved as {tag!r}: "
                f"{after.reason or 'it changed meanwhile'}; stop what works on it first"
            )
        self._note(machine, "snapshot", tag=tag, digest=after.state)

    async def reset(self, machine: Machine, tag: str = INITIAL) -> Machine:
        """Bring the machine back to `tag`; return it, with new addresses, once it is proven clean.

        Connections opened before hang or end: close the clients that hold any.

        Raises:
            InputError: No state was saved as `tag`.
            QuarantinedError: It is not proven clean; it may not be used, `start` replaces it.
            LostMachineError: It is no longer the caller's.
        """
        saved = self._held(machine).digest_of(tag)
        if saved is None:
            raise InputError(f"{machine.name!r} has no state {tag!r}: `snapshot` saves one")
        before = await self._instance(machine)
        mark = secrets.token_hex(8)
        # a mark that is still there afterwards proves that nothing was reset
        soiled = await self._soil(machine, mark)
        try:
            found = await self.backend.restore(machine.name, tag)
        except FAULTS as error:
            raise self._quarantine(machine, f"the reset failed: {error}") from error
        after = await self._ready(machine)
        problem = why_unclean(
            after, mark=mark if soiled else None, saved=saved,
            instances=(before, await self._instance(machine)) if self.backend.begins_anew else None,
        )  # fmt: skip
        if problem:
            raise self._quarantine(machine, problem)
        again = machine.model_copy(update={"id": found.id, "urls": dict(after.urls)})
        self._held(machine)  # a reaper may have taken it while it was being reset
        if again != machine:
            self._note(again, "created")
        return again

    async def stop(self, machine: Machine, *, even_held: bool = False) -> None:
        """Remove the machine and all its parts; a machine that is already gone is not an error.

        Args:
            machine: The machine to remove.
            even_held: Even if another live owner holds it; that owner gets a `LostMachineError`.

        Raises:
            MachineBusyError: Another live owner has adopted it.
            MachineError: The machine is still there.
        """
        with self.journal.locked():
            entry = self.journal.entries(self.name).get(machine.name)
            written = entry is not None and not entry.ended
            if entry is not None and written:
                if not even_held:
                    self._refuse_others(entry)
                # announced before it is done: if this process dies in between, a reaper removes the rest
                self._append(entry.last, "ending", note="stopped")
        if entry is not None and written:
            await self._remove(entry.last, "stopped")
        elif machine.state == "unknown":  # it was listed by its labels alone
            await self.backend.remove(machine.name)

    async def stop_all(self, keep: Collection[str] = ()) -> None:
        """Stop every machine of this owner, but those of the keys in `keep`.

        Raises:
            MachineError: Some are still there; the others were stopped.
        """
        failed = []
        for machine in await self.list(self.owner.name):
            if machine.key in keep:
                continue
            try:
                await self.stop(machine)
            except MachineError as error:  # the others must still be stopped
                failed.append(f"{machine.name}: {error}")
        if failed:
            raise MachineError("; ".join(failed))

    async def list(self, owner: str | None = None) -> list[Machine]:
        """Return what is there or should be, of all owners or of one, by key and generation."""
        return [each for each in await survey(self.parts) if owner is None or each.owner == owner]

    async def reap(self, now: datetime | None = None) -> Reaped:
        """Remove the machines whose owners are gone and machines that no journal records; leave all others.

        Safe to run at any time, anywhere, several at once.
        """
        return await reap(self.parts, now or self.clock.now())

    # --- starting

    async def _adopt(self, key: str, digest: str) -> Machine | None:
        """Return the machine of `key` that runs, ours from now on; None if none can be used."""
        seen = {each.name: each for each in await self.backend.find()}
        with self.journal.locked():
            entry = self._newest(key)
            if entry is None or entry.ended:
                return None
            self._refuse_others(entry)
            there = seen.get(entry.last.name)
            same = entry.usable and entry.last.spec_sha256 == digest
            if there is None and same and entry.last.event == "intent":
                return None  # asked for and not seen: `_create` asks again by the same name
            fits = there is not None and is_of(there, entry.last) and there.running
            adopted = there is not None and fits and same
            if there is not None and adopted:
                line = self._append(
                    entry.last, "adopted", owner=self.owner.name, id=there.id, urls=there.urls
                )
            else:
                line = self._append(entry.last, "ending", note="cannot be adopted")
        if adopted:
            return await self._checked(as_machine(self.parts, line))
        if there is not None and is_of_another(there, line):
            with self.journal.locked():
                self._append(line, "ended", ending="gone", note="the name is another's")
        else:
            await self._remove(line, "replaced")
        return None

    async def _checked(self, machine: Machine) -> Machine | None:
        health = await self._ready(machine)
        if not health.ok:
            await self.stop(machine)
            return None
        machine = machine.model_copy(update={"urls": dict(health.urls)})
        if self._held(machine).digest_of(INITIAL) is None:
            # Its driver died before `start` returned, so no one has used it.
            self._note(machine, "snapshot", tag=INITIAL, digest=health.state)
        return machine

    async def _create(self, key: str, spec: Mapping[str, JsonValue]) -> Machine:
        for _ in range(_TRIES):
            line = self._announce(key, spec_digest(spec))
            found = await self._make(line, spec)
            if found is not None:
                return await self._finish(line, found)
        raise MachineError(
            f"no free name for the machine of {key!r} after {_TRIES} tries: something else uses "
            f"names like {line.name!r}; remove it or use another key"
        )

    def _announce(self, key: str, digest: str) -> JournalLine:
        """Write down the machine that is about to be created, under the same name if that was lost."""
        with self.journal.locked():
            entry = self._newest(key)
            unclear = entry is not None and entry.last.event == "intent"
            if entry is not None and unclear and entry.last.spec_sha256 == digest:
                return self._append(entry.last, "intent", owner=self.owner.name)
            generation = 1 if entry is None else entry.last.generation + 1
            first = JournalLine(
                at=self.clock.now(),
                event="intent",
                provider=self.name,
                key=key,
                name=machine_name(self.journal.namespace, self.name, key, generation),
                generation=generation,
                owner=self.owner.name,
                nonce=secrets.token_hex(16),
                spec_sha256=digest,
            )
            self.journal.append(first)
            return first

    async def _make(self, line: JournalLine, spec: Mapping[str, JsonValue]) -> Found | None:
        """Create the announced machine; return None if its name belongs to something else."""
        labels = machine_labels(self.journal.namespace, line)
        try:
            return await self.backend.create(line.name, labels, spec)
        except FAULTS as error:
            # The answer may be lost and the machine there, despite the error: podman 4
            # answers 500 in place of Docker's 409. Only the labels show it.
            found = await self._listed(line.name)
            if found is None:
                if isinstance(error, NameTakenError):
                    self._note(
                        as_machine(self.parts, line), "ended", ending="gone", note="name taken"
                    )
                    return None
                raise MachineError(
                    f"the machine of {line.key!r} was not started: {error}"
                ) from error
        if is_of(found, line) and found.running:
            return found
        if is_of(found, line) or not (found.labels or found.running):  # half of it
            with self.journal.locked():
                self._append(line, "ending", note="created in part")
            await self._remove(line, "replaced")
        else:  # something of others, which is left alone
            self._note(
                as_machine(self.parts, line), "ended", ending="gone", note="the name is another's"
            )
        return None

    async def _listed(self, name: str) -> Found | None:
        deadline = self.clock.monotonic() + self.waits.listed_s
        while True:
            with contextlib.suppress(*FAULTS):
                for each in await self.backend.find():
                    if each.name == name:
                        return each
            if self.clock.monotonic() >= deadline:
                return None
            await asyncio.sleep(self.waits.poll_s)

    async def _finish(self, line: JournalLine, found: Found) -> Machine:
        machine = as_machine(
            self.parts, line.model_copy(update={"id": found.id, "urls": found.urls})
        )
        with self.journal.locked():
            entry = self.journal.entries(self.name).get(line.name)
            lost = entry is None or not entry.usable
            if not lost:
                self._append(line, "created", id=found.id, urls=found.urls)
        if lost:  # this process slept until a reaper took it for dead
            with contextlib.suppress(*FAULTS):
                await self.backend.remove(line.name)
            raise LostMachineError(line.name, "it was reaped while it was being created")
        health = await self._ready(machine)
        if not health.ok:
            raise self._quarantine(machine, f"it never became healthy: {health.reason}")
        machine = machine.model_copy(update={"urls": dict(health.urls)})
        self._note(machine, "snapshot", tag=INITIAL, digest=health.state)
        return machine

    # --- looking

    async def _ready(self, machine: Machine) -> Health:
        deadline = self.clock.monotonic() + self.waits.ready_s
        while True:
            health = await self._look(machine)
            if health.ok or self.clock.monotonic() >= deadline:
                return health
            await asyncio.sleep(self.waits.poll_s)

    async def _look(self, machine: Machine) -> Health:
        try:
            health = await self.backend.health(machine.name)
        except FAULTS as error:
            return Health(ok=False, reason=str(error))
        if health.ok and health.nonce != machine.nonce:
            # A driver that died leaves its machine on the port that the next one is given.
            return health.model_copy(update={"ok": False, "reason": "another machine answers"})
        return health

    async def _instance(self, machine: Machine) -> str:
        if self.backend.begins_anew:
            with contextlib.suppress(*FAULTS):
                return await self.backend.instance(machine.name)
        return ""

    async def _soil(self, machine: Machine, mark: str) -> bool:
        try:
            await self.backend.soil(machine.name, mark)
        except FAULTS:
            return False
        return True

    # --- the journal

    def _newest(self, key: str) -> Entry | None:
        entries = [e for e in self.journal.entries(self.name).values() if e.last.key == key]
        return max(entries, key=lambda each: each.last.generation, default=None)

    def _held(self, machine: Machine) -> Entry:
        entry = self.journal.entries(self.name).get(machine.name)
        if entry is None or entry.ended or entry.last.event == "ending":
            raise LostMachineError(machine.name, "it was removed")
        if entry.last.owner != self.owner.name:
            raise LostMachineError(machine.name, f"{entry.last.owner} has adopted it")
        if not entry.usable:
            raise QuarantinedError(machine.name, entry.last.note)
        return entry

    def _refuse_others(self, entry: Entry) -> None:
        owner = entry.last.owner
        now = self.clock.now()
        if owner != self.owner.name and self.leases.lives(owner, now, self.waits.grace_s):
            raise MachineBusyError(entry.last.key, owner)

    def _quarantine(self, machine: Machine, reason: str) -> MachineError:
        with self.journal.locked():
            entry = self.journal.entries(self.name).get(machine.name)
            if entry is None or not entry.usable or entry.last.owner != self.owner.name:
                return LostMachineError(machine.name, f"it was taken meanwhile ({reason})")
            self._append(entry.last, "quarantined", note=reason)
        return QuarantinedError(machine.name, reason)

    def _note(self, machine: Machine, event: JournalEvent, **changed: object) -> None:
        with self.journal.locked():
            entry = self.journal.entries(self.name).get(machine.name)
            if entry is None or not entry.usable or entry.last.owner != self.owner.name:
                raise LostMachineError(machine.name, "it was taken meanwhile")
            self._append(entry.last, event, id=machine.id, urls=machine.urls, **changed)

    def _append(self, before: JournalLine, event: JournalEvent, **changed: object) -> JournalLine:
        return self.journal.follow(before, event, self.clock.now(), **changed)

    async def _remove(self, line: JournalLine, ending: Ending) -> None:
        try:
            there = [each for each in await self.backend.find() if each.name == line.name]
            if not any(is_of_another(each, line) for each in there):
                await self.backend.remove(line.name)
        except FAULTS as error:
            raise MachineError(
                f"{line.name!r} was not removed: {error}; try again, or leave it to the reaper"
            ) from error
        with self.journal.locked():
            self._append(line, "ended", ending=ending)
