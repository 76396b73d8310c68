"""What providers of machines are tested with: one in memory, faults, and sequences drawn by seed."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from bench_core.machines import (
    INITIAL,
    Found,
    Health,
    JournaledProvider,
    Leases,
    Machine,
    MachineError,
    NameTakenError,
    Owner,
    Waits,
    spec_digest,
)
from bench_core.machines.labels import NONCE, machine_name
from bench_core.testing.providers import SetClock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.machines import Backend

__all__ = ["FaultyBackend", "MemoryBackend", "faulty_sequence"]

_T = TypeVar("_T")

QUICK = Waits(ready_s=60.0, grace_s=60.0, listed_s=0.0, poll_s=0.01)
_TTL_S = 100.0
_KEYS = ("slot-1", "slot-2", "slot-3")
_FOREIGN = {"of": "another program"}


@dataclass
class _InMemory:
    found: Found
    spec: dict[str, JsonValue]
    instance: int = 1
    soiled: str | None = None
    state: str = ""
    saved: dict[str, str] = field(default_factory=dict)


class MemoryBackend:
    """Machines that exist in this process alone."""

    name = "memory"
    begins_anew = True
    saves = True

    def __init__(self, folder: Path | None = None, clock: SetClock | None = None) -> None:
        del folder  # what the entry points of backends are given
        self._clock = clock or SetClock()
        self.machines: dict[str, _InMemory] = {}

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Accept any specification."""

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Add a machine."""
        if name in self.machines:
            raise NameTakenError(name)
        found = Found(name=name, id=f"id-{name}", labels=dict(labels), since=self._clock.now())
        self.machines[name] = _InMemory(found, dict(spec), state=spec_digest(spec))
        return found

    async def find(self) -> Sequence[Found]:
        """Return all machines."""
        return [each.found for each in self.machines.values()]

    async def remove(self, name: str) -> None:
        """Remove a machine."""
        self.machines.pop(name, None)

    async def health(self, name: str) -> Health:
        """Describe a machine."""
        machine = self.machines.get(name)
        if machine is None:
            return Health(ok=False, reason="it is gone")
        return Health(
            ok=True,
            nonce=machine.found.labels.get(NONCE, ""),
            state=machine.state,
            soiled=machine.soiled,
        )

    async def instance(self, name: str) -> str:
        """Return how often the machine began anew."""
        return str(self._machine(name).instance)

    async def soil(self, name: str, mark: str) -> None:
        """Set the mark."""
        self._machine(name).soiled = mark

    async def save(self, name: str, tag: str) -> None:
        """Keep the state."""
        machine = self._machine(name)
        machine.saved[tag] = machine.state

    async def restore(self, name: str, tag: str) -> Found:
        """Begin anew in a saved state."""
        machine = self._machine(name)
        if tag != INITIAL and tag not in machine.saved:
            raise MachineError(f"no state {tag!r}")
        machine.state = machine.saved.get(tag, spec_digest(machine.spec))
        machine.instance += 1
        machine.soiled = None
        return machine.found

    def _machine(self, name: str) -> _InMemory:
        if name not in self.machines:
            raise MachineError(f"{name!r} is gone")
        return self.machines[name]


class DriverKilled(BaseException):  # it is a fact about the driver, and nothing catches it
    """The process of the driver died here: nothing of what follows is done."""


class FaultyBackend:
    """A backend on the way to which things go wrong, by chance.

    Args:
        backend: The one that is there.
        chance: Draws.
        rate: How often something goes wrong, from 0 to 1; may be changed.
        create_partly: Does half of a create, as a driver does that is killed in the middle of it.

    Attributes:
        drawn: How often each fault was drawn.
        late: Whether every create goes unanswered and is done by `finish_late`.
    """

    saves: bool
    begins_anew: bool

    def __init__(
        self,
        backend: Backend,
        chance: random.Random,
        rate: float = 0.0,
        create_partly: Callable[[str, Mapping[str, str], Mapping[str, JsonValue]], None]
        | None = None,
    ) -> None:
        self.inner = backend
        self.name, self.begins_anew, self.saves = backend.name, backend.begins_anew, backend.saves
        self.rate = rate
        self._chance = chance
        self._create_partly = create_partly
        self._unlisted: dict[str, int] = {}
        self.drawn: Counter[str] = Counter()
        self.late = False
        self._late: list[tuple[str, dict[str, str], dict[str, JsonValue]]] = []

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Check by the backend that is there."""
        self.inner.check(spec)

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Create, now or much later, or die before, during or after it, or lose request or answer."""
        fault = "late" if self.late else self._draw(
            "killed before", "killed during", "killed after", "refused", "lost", "lag", "late"
        )  # fmt: skip
        if fault == "late":
            self._late.append((name, dict(labels), dict(spec)))
            raise MachineError("no answer in time")
        if fault == "killed during" and self._create_partly is not None:
            self._create_partly(name, labels, spec)
            raise DriverKilled
        if fault == "lag":
            self._unlisted[name] = self._chance.randint(1, 3)
        return await self._faulty(fault, self.inner.create(name, labels, spec))

    async def find(self) -> Sequence[Found]:
        """List, some machines later than they are there."""
        if self._late and self._chance.randrange(20) == 0:
            await self.finish_late()
        await self._faulty(self._draw("killed before"), _nothing())
        found = await self.inner.find()
        late = {name for name, left in self._unlisted.items() if left > 0}
        self._unlisted = {name: left - 1 for name, left in self._unlisted.items() if left > 1}
        return [each for each in found if each.name not in late]

    async def finish_late(self) -> None:
        """Have the creates that went unanswered succeed now, whatever was asked for since."""
        late, self._late = self._late, []
        for each in late:
            # the name is taken, or a reaper removes the machine while it is being made
            with contextlib.suppress(MachineError):
                await self.inner.create(*each)

    async def remove(self, name: str) -> None:
        """Remove, or die before or after it, or lose request or answer."""
        fault = self._draw("killed before", "killed after", "refused", "lost")
        await self._faulty(fault, self.inner.remove(name))

    async def health(self, name: str) -> Health:
        """Look."""
        return await self.inner.health(name)

    async def instance(self, name: str) -> str:
        """Return what runs."""
        return await self.inner.instance(name)

    async def soil(self, name: str, mark: str) -> None:
        """Write the mark, or not."""
        await self._faulty(self._draw("refused", "lost"), self.inner.soil(name, mark))

    async def save(self, name: str, tag: str) -> None:
        """Save, or not."""
        await self._faulty(self._draw("refused", "lost"), self.inner.save(name, tag))

    async def restore(self, name: str, tag: str) -> Found:
        """Restore, or not, or die before or after it."""
        fault = self._draw("killed before", "killed after", "refused", "lost")
        return await self._faulty(fault, self.inner.restore(name, tag))

    def _draw(self, *faults: str) -> str | None:
        if self._chance.random() >= self.rate:
            return None
        fault = self._chance.choice(faults)
        self.drawn[fault] += 1
        return fault

    async def _faulty(self, fault: str | None, call: Coroutine[object, object, _T]) -> _T:
        if fault in {"killed before", "killed during"}:
            call.close()
            raise DriverKilled
        if fault == "refused":
            call.close()
            raise MachineError(f"status {self._chance.choice((409, 500, 503))}")
        answer = await call
        if fault == "killed after":
            raise DriverKilled
        if fault == "lost":
            raise MachineError("the connection was closed before an answer came")
        return answer


async def _nothing() -> None:
    """Do nothing: what a fault alone is drawn for."""


@dataclass
class _Driver:
    """A program that uses machines, as long as it lives."""

    owner: Owner
    provider: JournaledProvider
    until: datetime
    held: dict[str, Machine] = field(default_factory=dict)


class _Sequence:
    """One story of drivers, machines and faults."""

    def __init__(
        self, seed: int, backend: FaultyBackend, spec: Mapping[str, JsonValue], folder: Path,
        clock: SetClock,
    ) -> None:  # fmt: skip
        self.chance = random.Random(seed)  # noqa: S311  # chance, not secrets
        self.backend, self.spec, self.folder, self.clock = backend, spec, folder, clock
        self.drivers = [self._driver() for _ in range(2)]
        self.foreign: set[str] = set()
        self.problems: list[str] = []

    async def play(self, steps: int, rate: float) -> list[str]:
        """Play it, end all drivers, reap, and return what is wrong."""
        acts = (self._start, self._start, self._start, self._use, self._use, self._reap,
                self._kill, self._sleep, self._squat)  # fmt: skip
        for _ in range(steps):
            self.backend.rate = rate
            await self.chance.choice(acts)()
        self.backend.rate = 0.0
        await self._start_unanswered()
        self.clock.advance(_TTL_S + 3 * QUICK.grace_s)
        for _ in range(3):  # what was not listed at first is found later
            await self._reaper().reap()
            await self.backend.finish_late()  # after its removal was written down
            self.clock.advance(2 * QUICK.grace_s)
        there = {each.name: each.labels for each in await self.backend.inner.find()}
        self.problems += [
            f"another program's was removed: {name}"
            for name in sorted(self.foreign)
            if there.get(name) != _FOREIGN
        ]
        for name in self.foreign:
            await self.backend.inner.remove(name)
        left = sorted(each.name for each in await self.backend.inner.find())
        return self.problems + [f"left behind: {name}" for name in left]

    async def _start(self) -> None:
        driver = self._some_driver()
        key = self.chance.choice(_KEYS)
        driver.held.pop(key, None)  # asking again may replace it
        driver.until = self.clock.now() + timedelta(seconds=_TTL_S)  # `start` renews
        try:
            machine = await driver.provider.start(key, self.spec)
        except MachineError:
            return None
        except DriverKilled:
            return self._bury(driver)
        driver.held[key] = machine
        return None

    async def _start_unanswered(self) -> None:
        """Ask for a machine that appears only after its removal was written down: labels alone show it."""
        self.backend.late = True
        with contextlib.suppress(MachineError):
            await self._some_driver().provider.start("unanswered", self.spec)
        self.backend.late = False

    async def _use(self) -> None:
        driver = self._some_driver()
        if not driver.held:
            return
        key = self.chance.choice(sorted(driver.held))
        machine = driver.held.pop(key)
        try:
            if self.chance.randrange(2):
                driver.held[key] = await driver.provider.reset(machine)
            else:
                await driver.provider.stop(machine)
        except MachineError:
            return
        except DriverKilled:
            self._bury(driver)

    async def _reap(self) -> None:
        before = self._of_the_living()
        reapers = [self._reaper().reap() for _ in range(2)]
        ends = await asyncio.gather(*reapers, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, DriverKilled):
                self.problems.append(f"a reaper failed: {end!r}")
        there = {each.name: each.labels.get(NONCE) for each in await self.backend.inner.find()}
        self.problems += [
            f"reaped though its owner lives: {name}"
            for name, nonce in before.items()
            if there.get(name) != nonce
        ]

    async def _kill(self) -> None:
        self._bury(self._some_driver())

    async def _sleep(self) -> None:
        """Let time pass, in which some drivers renew their leases and others do not."""
        for _ in range(self.chance.randint(1, 4)):
            self.clock.advance(_TTL_S / 2)
            for driver in self.drivers:
                if self.chance.randrange(3):
                    driver.owner.renew()
                    driver.until = self.clock.now() + timedelta(seconds=_TTL_S)

    async def _squat(self) -> None:
        """Have another program use a name that ours will need."""
        provider = self._some_driver().provider
        key = self.chance.choice(_KEYS)
        taken = provider.journal.entries(provider.name).values()
        newest = max((e.last.generation for e in taken if e.last.key == key), default=0)
        name = machine_name(provider.journal.namespace, provider.name, key, newest + 1)
        try:
            await self.backend.inner.create(name, _FOREIGN, self.spec)
        except NameTakenError:
            return
        self.foreign.add(name)

    def _of_the_living(self) -> dict[str, str]:
        now = self.clock.now()
        return {
            machine.name: machine.nonce
            for driver in self.drivers
            if now < driver.until
            for machine in driver.held.values()
            if _still_held(driver, machine)
        }

    def _some_driver(self) -> _Driver:
        return self.chance.choice(self.drivers)

    def _bury(self, driver: _Driver) -> None:
        """Replace a driver that died: its lease stays until it has run out."""
        self.drivers[self.drivers.index(driver)] = self._driver()

    def _driver(self) -> _Driver:
        leases = Leases(self.folder)
        owner = Owner(leases, ttl_s=_TTL_S, detached=True, clock=self.clock)
        owner.renew()
        provider = JournaledProvider(
            self.backend, self.folder, owner, waits=QUICK, clock=self.clock
        )
        return _Driver(owner, provider, self.clock.now() + timedelta(seconds=_TTL_S))

    def _reaper(self) -> JournaledProvider:
        return self._driver().provider


def _still_held(driver: _Driver, machine: Machine) -> bool:
    """Whether the journal still says so: who slept past its lease may have lost it before."""
    entry = driver.provider.journal.entries(driver.provider.name).get(machine.name)
    return entry is not None and entry.usable and entry.last.owner == driver.owner.name


async def faulty_sequence(
    seed: int, backend: FaultyBackend, spec: Mapping[str, JsonValue], folder: Path,
    clock: SetClock | None = None, *, steps: int = 20, rate: float = 0.25,
) -> list[str]:  # fmt: skip
    """Play a story of drivers, machines and faults, and return what is wrong at its end.

    Drivers start, reset and stop machines; they are killed before, during and after each call,
    answers get lost, leases run out, two reapers work at once, names are taken by others, lists lag.
    Afterwards no machine may be left, and none of a live owner may have been removed meanwhile.

    Args:
        seed: What is drawn depends on nothing else.
        backend: On which it happens; its rate is set here.
        spec: What is started.
        folder: For the journal and leases.
        clock: The clock of the backend, if it has one.
        steps: How many things happen.
        rate: How often a call goes wrong, from 0 to 1.
    """
    return await _Sequence(seed, backend, spec, folder, clock or SetClock()).play(steps, rate)
