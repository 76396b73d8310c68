"""Requirements on every provider of machines, as a test class to subclass."""

# ruff: noqa: S101  # these are tests, and pytest explains asserts

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from pydantic import JsonValue

from bench_core.errors import InputError
from bench_core.machines import (
    INITIAL,
    Backend,
    Found,
    JournaledProvider,
    Leases,
    LostMachineError,
    MachineBusyError,
    MachineError,
    NameTakenError,
    Owner,
    Provider,
    QuarantinedError,
    Waits,
)
from bench_core.machines.labels import NONCE

_TTL_S = 100.0


class SetClock:
    """A clock that tests set: dates pass at once, while waits take real time."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def now(self) -> datetime:
        """Return the time that was set."""
        return self._now

    def monotonic(self) -> float:
        """Return the system's monotonic time."""
        return monotonic()

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._now += timedelta(seconds=seconds)


class Altered:
    """A backend of which some calls are replaced."""

    def __init__(self, backend: Backend, **calls: object) -> None:
        self._backend = backend
        self.__dict__.update(calls)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class ProviderConformance:
    """Machines start once per key, reset to a proven state, and are never left behind.

    Fixtures to give: `backend`, and `spec`, the specification of a quick machine. To change: `other_spec`, another
    machine; `waits`, how long they take.
    """

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        """Return the backend under test, without machines."""
        raise NotImplementedError

    @pytest.fixture
    def spec(self) -> dict[str, JsonValue]:
        """Return the specification of a test machine."""
        raise NotImplementedError

    @pytest.fixture
    def other_spec(self) -> dict[str, JsonValue] | None:
        """Return another machine than that of `spec`; None for none."""
        return None

    @pytest.fixture
    def waits(self) -> Waits:
        """Return how long machines may take; no more than a minute of grace."""
        return Waits(ready_s=60.0, grace_s=60.0, listed_s=1.0, poll_s=0.05)

    @pytest.fixture
    def clock(self) -> SetClock:
        """Return the clock of leases and grace times."""
        return SetClock()

    @pytest.fixture
    def books(
        self, backend: Backend, tmp_path: Path, waits: Waits, clock: SetClock
    ) -> Iterator[_Books]:
        """Return an opener of providers on one journal; all their machines are removed at the end."""
        books = _Books(backend, tmp_path / "books", waits, clock)
        yield books
        asyncio.run(books.remove_all())

    @pytest.fixture
    def provider(self, books: _Books) -> JournaledProvider:
        """Return the provider under test, of a live owner."""
        return books.open()

    def test_follows_the_protocols(self, backend: Backend, provider: JournaledProvider) -> None:
        """Backend and provider have all their calls."""
        assert isinstance(backend, Backend)
        assert isinstance(provider, Provider)

    def test_a_started_machine_is_healthy_and_starts_once(
        self, provider: JournaledProvider, spec: Mapping[str, JsonValue]
    ) -> None:
        """Asking again for the key returns the machine that runs."""

        async def story() -> None:
            first = await provider.start("slot", spec)
            assert (first.key, first.generation, first.owner) == ("slot", 1, provider.owner.name)
            health = await provider.health(first)
            assert (health.ok, health.nonce) == (True, first.nonce)
            again = await provider.start("slot", spec)
            assert (again.id, again.nonce, again.generation) == (first.id, first.nonce, 1)
            (listed,) = await provider.list()
            assert (listed.name, listed.state) == (first.name, "ready")

        _run(story())

    def test_a_stopped_machine_is_gone(
        self, provider: JournaledProvider, spec: Mapping[str, JsonValue]
    ) -> None:
        """Nothing of it is found, stopping again does nothing, and it cannot be used."""

        async def story() -> None:
            machine = await provider.start("slot", spec)
            await provider.stop(machine)
            assert (list(await provider.backend.find()), await provider.list()) == ([], [])
            await provider.stop(machine)
            with pytest.raises(LostMachineError):
                await provider.health(machine)

        _run(story())

    def test_a_live_owners_machine_is_refused_and_a_dead_ones_is_adopted(
        self, books: _Books, spec: Mapping[str, JsonValue], clock: SetClock
    ) -> None:
        """The machine stays the same; who lost it gets an error."""

        async def story() -> None:
            first, second = books.open(), books.open()
            machine = await first.start("slot", spec)
            with pytest.raises(MachineBusyError):
                await second.start("slot", spec)
            clock.advance(2 * _TTL_S)
            adopted = await second.start("slot", spec)
            assert (adopted.nonce, adopted.owner) == (machine.nonce, second.owner.name)
            with pytest.raises(LostMachineError):
                await first.reset(machine)

        _run(story())

    def test_another_specification_gets_another_machine(
        self,
        provider: JournaledProvider,
        spec: Mapping[str, JsonValue],
        other_spec: Mapping[str, JsonValue] | None,
    ) -> None:
        """The old one is removed, and the next generation begins."""
        if other_spec is None:
            pytest.skip("this provider has one specification to test with")

        async def story() -> None:
            await provider.start("slot", spec)
            assert (await provider.start("slot", other_spec)).generation == 2  # the next
            assert len(await provider.backend.find()) == 1

        _run(story())

    def test_a_machine_that_died_is_replaced(
        self, provider: JournaledProvider, spec: Mapping[str, JsonValue]
    ) -> None:
        """Its health says so, and starting its key again gives a new one."""

        async def story() -> None:
            machine = await provider.start("slot", spec)
            await provider.backend.remove(machine.name)
            assert not (await provider.health(machine)).ok
            again = await provider.start("slot", spec)
            assert (again.generation, (await provider.health(again)).ok) == (2, True)

        _run(story())

    def test_a_reset_removes_what_was_written(
        self, provider: JournaledProvider, spec: Mapping[str, JsonValue]
    ) -> None:
        """The mark is gone, and the machine is the same one."""

        async def story() -> None:
            machine = await provider.start("slot", spec)
            await provider.backend.soil(machine.name, "mark")
            assert (await provider.backend.health(machine.name)).soiled == "mark"
            again = await provider.reset(machine)
            health = await provider.health(again)
            assert (health.ok, health.soiled, again.nonce) == (True, None, machine.nonce)

        _run(story())

    def test_a_reset_that_did_nothing_quarantines(
        self, books: _Books, backend: Backend, spec: Mapping[str, JsonValue]
    ) -> None:
        """The machine may not be used any more, and the next start replaces it."""

        async def no_reset(name: str, tag: str) -> Found:
            del tag
            return next(each for each in await backend.find() if each.name == name)

        async def story() -> None:
            provider = books.open(Altered(backend, restore=no_reset))
            machine = await provider.start("slot", spec)
            with pytest.raises(QuarantinedError):
                await provider.reset(machine)
            with pytest.raises(QuarantinedError):
                await provider.health(machine)
            assert [each.state for each in await provider.list()] == ["quarantined"]
            again = await provider.start("slot", spec)
            assert again.generation == machine.generation + 1
            assert [each.name for each in await backend.find()] == [again.name]

        _run(story())

    def test_a_failed_reset_quarantines(
        self, books: _Books, backend: Backend, spec: Mapping[str, JsonValue]
    ) -> None:
        """An error counts as not clean, even if the reset succeeded."""

        async def failing(name: str, tag: str) -> Found:
            raise MachineError(f"no answer for {name} {tag}")

        async def story() -> None:
            provider = books.open(Altered(backend, restore=failing))
            machine = await provider.start("slot", spec)
            with pytest.raises(QuarantinedError, match="no answer"):
                await provider.reset(machine)

        _run(story())

    def test_a_state_that_was_not_saved_is_refused(
        self, provider: JournaledProvider, spec: Mapping[str, JsonValue]
    ) -> None:
        """The machine is left as it is."""

        async def story() -> None:
            machine = await provider.start("slot", spec)
            with pytest.raises(InputError, match="no state"):
                await provider.reset(machine, "never-saved")
            with pytest.raises(InputError):
                await provider.snapshot(machine, INITIAL)
            assert (await provider.health(machine)).ok

        _run(story())

    def test_a_saved_state_comes_back(
        self, provider: JournaledProvider, spec: Mapping[str, JsonValue]
    ) -> None:
        """Changes after the snapshot are gone, and the digest is the saved one."""
        if not provider.backend.saves:
            pytest.skip("this provider saves no states")

        async def story() -> None:
            machine = await provider.start("slot", spec)
            await provider.snapshot(machine, "ready")
            saved = (await provider.health(machine)).state
            health = await provider.health(await provider.reset(machine, "ready"))
            assert (health.state, health.soiled) == (saved, None)

        _run(story())

    def test_a_name_is_given_once(
        self, books: _Books, backend: Backend, spec: Mapping[str, JsonValue]
    ) -> None:
        """A second create of the name fails and changes nothing; the labels of the first are found."""

        async def story() -> None:
            machine = await books.open().start("slot", spec)
            with pytest.raises((NameTakenError, MachineError)):
                await backend.create(machine.name, {NONCE: "another"}, spec)
            (found,) = await backend.find()
            assert (found.name, found.labels[NONCE], found.running) == (
                machine.name, machine.nonce, True,
            )  # fmt: skip

        _run(story())

    def test_a_lost_answer_makes_no_second_machine(
        self, books: _Books, backend: Backend, spec: Mapping[str, JsonValue]
    ) -> None:
        """The machine that was created without an answer is found by its label."""

        async def unanswered(
            name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
        ) -> Found:
            await backend.create(name, labels, spec)
            raise MachineError("the connection was closed before an answer came")

        async def story() -> None:
            provider = books.open(Altered(backend, create=unanswered))
            machine = await provider.start("slot", spec)
            assert [each.name for each in await backend.find()] == [machine.name]
            assert (await provider.health(machine)).ok

        _run(story())

    def test_the_reaper_takes_what_no_one_holds_after_the_grace_time(
        self, books: _Books, spec: Mapping[str, JsonValue], clock: SetClock, waits: Waits
    ) -> None:
        """A live owner's machine stays; one whose owner is gone goes, but not at once."""

        async def story() -> None:
            living, dying, reaper = books.open(), books.open(), books.open()
            kept = await living.start("kept", spec)
            lost = await dying.start("lost", spec)
            dying.leases.remove(dying.owner.name)
            assert (await reaper.reap()).removed == ()
            clock.advance(waits.grace_s + 1)
            living.owner.renew()
            assert (await reaper.reap()).removed == (lost.name,)
            assert [each.name for each in await living.backend.find()] == [kept.name]
            assert (await living.health(kept)).ok

        _run(story())

    def test_the_reaper_takes_what_no_one_wrote_down(
        self, books: _Books, backend: Backend, spec: Mapping[str, JsonValue], clock: SetClock
    ) -> None:
        """Machines with our labels that no journal records go; machines of others stay."""

        async def story() -> None:
            provider = books.open()
            ours = {"proctor.namespace": provider.journal.namespace, NONCE: "n"}
            await backend.create("proctor-ours-g1", ours, spec)
            await backend.create("proctor-theirs-g1", {"proctor.namespace": "other"}, spec)
            clock.advance(10**9)  # those dates are this computer's own
            assert (await provider.reap()).removed == ("proctor-ours-g1",)
            assert [each.name for each in await backend.find()] == ["proctor-theirs-g1"]

        _run(story())


class _Books:
    """A journal with several owners."""

    def __init__(self, backend: Backend, folder: Path, waits: Waits, clock: SetClock) -> None:
        self._backend, self._folder, self._waits, self._clock = backend, folder, waits, clock

    def open(self, backend: Any = None) -> JournaledProvider:
        """Return a provider of a new owner."""
        owner = Owner(Leases(self._folder), ttl_s=_TTL_S, detached=True, clock=self._clock)
        owner.renew()
        return JournaledProvider(
            backend or self._backend, self._folder, owner, waits=self._waits, clock=self._clock
        )

    async def remove_all(self) -> None:
        """Remove every machine of the backend."""
        for found in await self._backend.find():
            await self._backend.remove(found.name)


def _run(story: Coroutine[object, object, None]) -> None:
    asyncio.run(story)
